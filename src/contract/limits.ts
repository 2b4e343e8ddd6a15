/** Numbers and dates of the contract that several rooms apply (contract, Limits). */

/** The largest request body of every door, except for webhooks of providers. */
export const maxBodyBytes = 16 * 1024

/** `Retry-After` of an unavailable provider that names no time (reading R20), and of too long waits. */
export const retryLaterSeconds = 30

/** Calls without accountId keep working until then (contract, Common response headers). */
export const sunset = 'Wed, 01 Sep 2027 00:00:00 GMT'
