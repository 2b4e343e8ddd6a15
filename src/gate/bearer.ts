/**
 * Reads the Authorization header (reading R5; RFC 9110 §11.6.2, RFC 6750 §2.1): exactly one bearer token. It
 * refuses other schemes, empty tokens and two tokens; it does no lookup.
 */

export type BearerReading =
  | { readonly kind: 'missing' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'token'; readonly token: string }

const pattern = /^bearer +([A-Za-z0-9._~+/=-]{1,2048}) *$/i

/** The token of an Authorization header; `undefined` means a request without one. */
export function readBearer(header: string | undefined): BearerReading {
  if (header === undefined) return { kind: 'missing' }
  const token = pattern.exec(header)?.[1]
  return token === undefined ? { kind: 'malformed' } : { kind: 'token', token }
}

/**
 * The part of a header that names the pre-auth bucket: the first 16 characters of the supplied token
 * (contract, Limits), whatever its form.
 */
export function tokenPrefix(header: string | undefined): string {
  // Fast path for the usual spelling, without a regular expression.
  if (header?.startsWith('Bearer ') && header[7] !== ' ') return header.slice(7, 23)
  return (header ?? '').replace(/^bearer +/i, '').slice(0, 16)
}
