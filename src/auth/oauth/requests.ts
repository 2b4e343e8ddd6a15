/**
 * Normalises requests before the engine sees them: known scopes or the default, the resource without its
 * trailing slash, OpenID Connect parameters removed. Pure: text in, text out.
 */
import { isScope } from '../scopes.ts'

/** Used for a request without scope (RFC 6749 §3.3). */
const defaultScope = 'mcp:read'

/** A plain OAuth server ignores unknown parameters (RFC 6749 §3.1); the engine would refuse these. */
const ofOpenId = ['acr_values', 'claims', 'claims_locales', 'id_token_hint', 'max_age', 'nonce']

/**
 * Maximum length of each part of a request; a longer one is refused. Real clients need at most a third of it.
 */
const maxQueryLength = 8192
const maxLength = 512
const maxLengths: ReadonlyMap<string, number> = new Map([
  ['client_id', 2048],
  ['redirect_uri', 2048],
  ['resource', 2048],
  ['state', 2048],
])

/** Which part of an authorization request is too long to be stored while it waits; null when none is. */
export function findExcess(query: string): string | null {
  if (query.length > maxQueryLength) return `the query is longer than ${maxQueryLength} characters`
  for (const [name, value] of new URLSearchParams(query)) {
    if (name.length > maxLength) return `a name is longer than ${maxLength} characters`
    const most = maxLengths.get(name) ?? maxLength
    if (value.length > most) return `${name} is longer than ${most} characters`
  }
  return null
}

/** The query of an authorization request, normalised for `resource`. */
export function settleAuthorization(query: string, resource: string): URLSearchParams {
  const params = new URLSearchParams(query)
  for (const name of ofOpenId) params.delete(name)
  settleResource(params, resource)
  // The engine refuses a scope that is given twice.
  const given = params.getAll('scope')
  if (given.length <= 1) params.set('scope', settleScope(given[0] ?? ''))
  return params
}

/** The form of a token request, normalised for `resource`. */
export function settleTokenRequest(form: string, resource: string): URLSearchParams {
  const params = new URLSearchParams(form)
  settleResource(params, resource)
  return params
}

/** True for a token request for another resource than ours: refused before it uses up a code or token. */
export function asksForOther(params: URLSearchParams, resource: string): boolean {
  return params.getAll('resource').some((value) => value !== '' && value !== resource)
}

function settleResource(params: URLSearchParams, resource: string): void {
  const values = params.getAll('resource')
  if (!values.includes(`${resource}/`)) return
  params.delete('resource')
  for (const value of values) params.append('resource', value.replace(/^(.+)\/$/, '$1'))
}

/** Drops unknown scopes; the answer names the granted ones (RFC 6749 §3.3). */
function settleScope(text: string): string {
  const asked = new Set(text.split(' '))
  const known = [...asked].filter(isScope)
  if (known.length === 0) known.push(defaultScope)
  return asked.has('offline_access') ? [...known, 'offline_access'].join(' ') : known.join(' ')
}
