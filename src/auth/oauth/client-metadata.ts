/**
 * Which metadata a client may give, by registration or in a document at its own URL. Pure: fields that we do
 * not use are dropped (RFC 7591 §2), so that they cannot request scopes, keys or addresses unnoticed.
 */
import { findRedirectProblem } from './schemes.ts'

type Metadata = Readonly<Record<string, unknown>>

/** `client_secret` and its expiry are kept, so that the engine can refuse them in a document. */
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

/** The fields of `metadata` that are used, without scopes: the client may request more later. */
export function pickMetadata(metadata: Metadata): Metadata {
  return Object.fromEntries(
    kept.flatMap((name) => (Object.hasOwn(metadata, name) ? [[name, metadata[name]]] : [])),
  )
}

/** Why a client with these metadata is refused by rules beyond the engine's own; null when it is accepted. */
export function findMetadataProblem(metadata: Metadata): string | null {
  const { redirect_uris: redirects, client_name: name } = metadata
  if (typeof name === 'string' && name.length > maxNameLength)
    return `client_name must not be longer than ${maxNameLength} characters`
  const texts = Object.values(metadata).flat()
  if (texts.some((text) => typeof text === 'string' && text.length > maxTextLength))
    return `no value may be longer than ${maxTextLength} characters`
  // The engine refuses anything that is not a list of strings.
  if (!Array.isArray(redirects)) return null
  if (redirects.length > maxRedirects)
    return `redirect_uris must not have more than ${maxRedirects}`
  for (const uri of redirects) {
    const problem = typeof uri === 'string' ? findRedirectProblem(uri) : null
    if (problem !== null) return problem
  }
  return null
}
