/**
 * Verifies the events that a webhook endpoint receives: Standard Webhooks, HMAC-SHA256 over id, time and body, by
 * WebCrypto. It needs the body as it came, because a body that was parsed and written again has other bytes.
 */
import { quoteAmounts } from './events.js'
import { TributaryError } from './http.js'

/** @import { WebhookEvent } from './types.js' */

/** The request is not from the server that has the secret, or it is too old. */
export class WebhookError extends TributaryError {
  /** @type {'headers_missing' | 'too_old' | 'too_new' | 'no_match' | 'unreadable'} */
  reason

  /**
   * @param {WebhookError['reason']} reason
   * @param {string} message
   */
  constructor(reason, message) {
    super(message)
    this.reason = reason
  }
}
Object.defineProperty(WebhookError.prototype, 'name', { value: 'WebhookError' })

/** @typedef {Headers | Readonly<Record<string, string | readonly string[] | undefined>>} GivenHeaders */

/**
 * The event, once its signature is right. Answer 401 to whatever throws, and handle each `webhook-id` once.
 * Amounts of transactions are text: whole numbers of the smallest unit, with every digit.
 * @param {string | Uint8Array} rawBody The bytes of the request, or their text.
 * @param {GivenHeaders} headers
 * @param {string | readonly string[]} secrets `whsec_…`; several while a secret is rotated.
 * @param {{ toleranceSeconds?: number, now?: number }} [options] `now`: milliseconds since the epoch.
 * @returns {Promise<WebhookEvent>}
 * @throws {WebhookError} With the reason. TypeError for a body that was parsed already.
 */
export async function verify(rawBody, headers, secrets, options = {}) {
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array)) {
    throw new TypeError(
      'pass the raw body, as text or bytes: a body that was parsed cannot be verified',
    )
  }
  const { toleranceSeconds = 300, now = Date.now() } = options
  const id = readHeader(headers, 'webhook-id')
  const time = readHeader(headers, 'webhook-timestamp')
  const signatures = readHeader(headers, 'webhook-signature')
  if (!/^\d{1,12}$/.test(time)) {
    throw new WebhookError('headers_missing', 'webhook-timestamp is not a whole number of seconds')
  }
  const ageSeconds = now / 1000 - Number(time)
  if (!Number.isFinite(ageSeconds) || !(toleranceSeconds >= 0))
    throw new TypeError('now and toleranceSeconds are numbers')
  if (ageSeconds > toleranceSeconds) {
    throw new WebhookError('too_old', `the event was sent more than ${toleranceSeconds} s ago`)
  }
  if (ageSeconds < -toleranceSeconds) {
    throw new WebhookError(
      'too_new',
      `the event is more than ${toleranceSeconds} s ahead of this clock`,
    )
  }
  const body = typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : rawBody
  const head = new TextEncoder().encode(`${id}.${time}.`)
  const signed = new Uint8Array(head.length + body.length)
  signed.set(head)
  signed.set(body, head.length)
  const given = signatures.split(' ').flatMap((text) => {
    const bytes = text.startsWith('v1,') ? fromBase64(text.slice(3)) : null
    return bytes === null ? [] : [bytes]
  })
  for (const secret of typeof secrets === 'string' ? [secrets] : secrets) {
    const key = await importKey(secret)
    // Once for each secret, however many signatures the header has.
    const wanted = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed))
    if (given.some((signature) => isEqual(signature, wanted))) return parseEvent(body)
  }
  throw new WebhookError(
    'no_match',
    'no signature matches: the secret is another one, or the body was changed',
  )
}

/**
 * @param {GivenHeaders} headers
 * @param {string} wanted
 */
function readHeader(headers, wanted) {
  const found =
    headers instanceof Headers
      ? headers.get(wanted)
      : Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1]
  const text = typeof found === 'string' ? found : (found?.[0] ?? '')
  if (text === '') throw new WebhookError('headers_missing', `the header ${wanted} is missing`)
  return text
}

/**
 * In constant time.
 * @param {Uint8Array} given
 * @param {Uint8Array} wanted
 */
function isEqual(given, wanted) {
  if (given.length !== wanted.length) return false
  let difference = 0
  for (let index = 0; index < wanted.length; index += 1) {
    difference |= /** @type {number} */ (given[index]) ^ /** @type {number} */ (wanted[index])
  }
  return difference === 0
}

/** @param {string} secret */
async function importKey(secret) {
  const bytes = fromBase64(secret.replace(/^whsec_/, ''))
  if (bytes === null || bytes.length === 0) {
    throw new TypeError(
      'a secret is `whsec_` and base64, as it was shown when the endpoint was made',
    )
  }
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

/**
 * Null: it is not base64.
 * @param {string} text
 */
function fromBase64(text) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}

/** @param {Uint8Array} body */
function parseEvent(body) {
  const text = new TextDecoder().decode(body)
  try {
    return /** @type {WebhookEvent} */ (JSON.parse(quoteAmounts(text)))
  } catch (cause) {
    throw new WebhookError('unreadable', `the body is signed and is no JSON: ${cause}`)
  }
}
