/**
 * Signs SnapTrade requests (docs/providers/snaptrade.md, Signature): an HMAC over compact JSON of body, path
 * and query. The query is built once here and must be sent exactly as signed.
 */
import { createHmac } from 'node:crypto'

export interface SignedOptions {
  /** The JSON body, or undefined; an empty object counts as no body. */
  readonly content?: unknown
  /** The path exactly as requested, including the prefix of the base URL. */
  readonly path: string
  /** The raw query without "?", exactly as sent. */
  readonly query: string
}

/**
 * Makes the signer for one consumer key.
 * @throws URIError when the key contains half a surrogate pair.
 */
export function makeSigner(consumerKey: string): (options: SignedOptions) => string {
  // As in the vendor's SDK; it changes nothing in a key of ordinary characters.
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

/** JSON without blanks, with sorted keys at every level. */
function toCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    return Object.fromEntries(
      Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)),
    )
  })
}

/** A query string in a canonical form, so that no URL parser rewrites it on the way. */
export function toQuery(parameters: readonly (readonly [string, string])[]): string {
  return parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
}

/** Encodes everything except the unreserved characters of RFC 3986 §2.3. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** An identifier as one path segment, which it cannot leave whatever characters it has. */
export function toSegment(id: string): string {
  return encode(id)
}
