/**
 * What a client may say about itself, by registration or in a document at its own URL. Pure: everything that we have no
 * use for is left out (RFC 7591 §2), so that nothing of it can ask for scopes, keys or addresses behind our back.
 */

type Metadata = Readonly<Record<string, unknown>>

/** `client_secret` and its expiry stay, so that the engine can refuse them in a document. */
const kept = [
  'client_id',
  'client_name',
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'redirect_uris',
  'grant_types',
  'response_types',
  'application_type',
  'token_endpoint_auth_method',
  'client_secret',
  'client_secret_expires_at',
] as const

const maxRedirects = 20
const maxTextLength = 2048
const maxNameLength = 200

/** The part of `metadata` that counts. A client's first list of scopes is left out: it may ask for more later. */
export function pickMetadata(metadata: Metadata): Metadata {
  return Object.fromEntries(
    kept.flatMap((name) => (Object.hasOwn(metadata, name) ? [[name, metadata[name]]] : [])),
  )
}

/** Why a client with these metadata is not let in beyond the engine's own rules; null when it is. */
export function findMetadataProblem(metadata: Metadata): string | null {
  const { redirect_uris: redirects, client_name: name } = metadata
  if (typeof name === 'string' && name.length > maxNameLength)
    return `client_name must not be longer than ${maxNameLength} characters`
  const texts = Object.values(metadata).flat()
  if (texts.some((text) => typeof text === 'string' && text.length > maxTextLength))
    return `no value may be longer than ${maxTextLength} characters`
  // Anything else but a list of texts is the engine's to refuse.
  if (!Array.isArray(redirects)) return null
  if (redirects.length > maxRedirects)
    return `redirect_uris must not have more than ${maxRedirects}`
  return redirects.some((uri) => typeof uri === 'string' && isPlainHttp(uri))
    ? 'redirect_uris may use http on loopback addresses only'
    : null
}

/** OAuth 2.1 §2.3.1: a code must not travel in the clear, save inside one machine. */
function isPlainHttp(uri: string): boolean {
  const url = URL.parse(uri)
  if (url === null || url.protocol !== 'http:') return false
  return !['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
}
