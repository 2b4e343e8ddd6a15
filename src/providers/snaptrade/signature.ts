/**
 * How SnapTrade requests are signed (provider page §1): an HMAC over compact JSON of body, path
 * and query. The query is built once here and must be sent as the very text that was signed.
 */
import { createHmac } from 'node:crypto'

export interface SignedParts {
  /** The JSON body, or undefined; an empty object counts as none. */
  readonly content?: unknown
  /** The path exactly as requested, with whatever prefix the base URL has. */
  readonly path: string
  /** The raw query without "?", exactly as sent. */
  readonly query: string
}

/**
 * Makes the signer of one consumer key.
 * @throws URIError when the key holds half a surrogate pair.
 */
export function makeSigner(consumerKey: string): (parts: SignedParts) => string {
  // As the vendor's SDK does; the same bytes as the plain key for keys of ordinary characters.
  const key = encodeURI(consumerKey)
  return ({ content, path, query }) => {
    const message = toCanonicalJson({ content: isEmpty(content) ? null : content, path, query })
    return createHmac('sha256', key).update(message).digest('base64')
  }
}

function isEmpty(content: unknown): boolean {
  if (content === undefined || content === null) return true
  return typeof content === 'object' && Object.keys(content).length === 0
}

/** JSON without blanks, the keys sorted at every level. */
function toCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    return Object.fromEntries(
      Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)),
    )
  })
}

/** A query string that no URL parser on the way has a reason to write differently. */
export function toQuery(parameters: readonly (readonly [string, string])[]): string {
  return parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
}

/** Everything but the unreserved characters of RFC 3986 §2.3. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/**
 * One segment of a path: an identifier cannot leave its place, whatever the provider made it of.
 */
export function toSegment(id: string): string {
  return encode(id)
}
