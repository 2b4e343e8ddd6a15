/**
 * Reads the Authorization header (reading R5; RFC 9110 §11.6.2, RFC 6750 §2.1): exactly one bearer token. It refuses
 * other schemes, empty tokens and two tokens; it never looks anything up.
 */

export type BearerReading =
  | { readonly kind: 'missing' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'token'; readonly token: string }

const pattern = /^bearer +([A-Za-z0-9._~+/=-]{1,2048}) *$/i

/** The token of an Authorization header; `undefined` is a request without one. */
export function readBearer(header: string | undefined): BearerReading {
  if (header === undefined) return { kind: 'missing' }
  const token = pattern.exec(header)?.[1]
  return token === undefined ? { kind: 'malformed' } : { kind: 'token', token }
}

/**
 * The part of a header that the pre-auth bucket is named after: the first 16 characters of the supplied token
 * (specification, Limits), whatever its form.
 */
export function tokenPrefix(header: string | undefined): string {
  // The usual spelling, without the cost of a pattern.
  if (header?.startsWith('Bearer ') && header[7] !== ' ') return header.slice(7, 23)
  return (header ?? '').replace(/^bearer +/i, '').slice(0, 16)
}
