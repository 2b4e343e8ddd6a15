/**
 * Requests put into the form that the engine understands, before it sees them: known scopes or the default, the resource
 * without its trailing slash, parameters of OpenID Connect left out. Pure text in, text out.
 */
import { isScope } from '../scopes.ts'

/** OAuth 2.1 §3.3: a request without scope gets this one. */
const defaultScope = 'mcp:read'

/** A plain OAuth server ignores what it does not know (RFC 6749 §3.1); the engine would refuse these. */
const ofOpenId = ['acr_values', 'claims', 'claims_locales', 'id_token_hint', 'max_age', 'nonce']

/** The query of an authorization request, put right for `resource`. */
export function settleAuthorization(query: string, resource: string): URLSearchParams {
  const params = new URLSearchParams(query)
  for (const name of ofOpenId) params.delete(name)
  settleResource(params, resource)
  // Given twice it is the engine's to refuse.
  const given = params.getAll('scope')
  if (given.length <= 1) params.set('scope', settleScope(given[0] ?? ''))
  return params
}

/** The form of a token request, put right for `resource`. */
export function settleTokenRequest(form: string, resource: string): URLSearchParams {
  const params = new URLSearchParams(form)
  settleResource(params, resource)
  return params
}

/** True when a token request names another resource than ours: it must not cost the client its code or token. */
export function asksForOther(params: URLSearchParams, resource: string): boolean {
  return params.getAll('resource').some((value) => value !== '' && value !== resource)
}

function settleResource(params: URLSearchParams, resource: string): void {
  const values = params.getAll('resource')
  if (!values.includes(`${resource}/`)) return
  params.delete('resource')
  for (const value of values) params.append('resource', value.replace(/^(.+)\/$/, '$1'))
}

/** Unknown scopes are left out, and the answer says what was granted (RFC 6749 §3.3). */
function settleScope(text: string): string {
  const asked = new Set(text.split(' '))
  const known = [...asked].filter(isScope)
  if (known.length === 0) known.push(defaultScope)
  return asked.has('offline_access') ? [...known, 'offline_access'].join(' ') : known.join(' ')
}
