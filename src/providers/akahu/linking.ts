/**
 * Consent in a browser with a full app: the authorisation page of Akahu, and the exchange of what it brings
 * back for the person's token (docs/providers/akahu.md, Linking). A personal app has none of this, and
 * nothing here is called for it.
 */
import { z } from 'zod'
import { UpstreamError } from '../failure.ts'
import type {
  Linking,
  LinkingFailure,
  LinkingRequest,
  LinkingReturn,
  ReturnRequest,
} from '../linking.ts'
import type { CallContext, Login } from '../port.ts'
import { fetchAccounts, fetchUser, loginOf, readBody } from './accounts.ts'
import type { AkahuClient } from './client.ts'
import { malformed } from './failures.ts'
import { institutionPattern, listInstitutions } from './institutions.ts'
import { tokensOf, toSecret, type UserTokens, userTokenPattern } from './tokens.ts'

export interface AkahuLinkingOptions {
  readonly client: AkahuClient
  /** The full app's token, which is its client id. */
  readonly appToken: string
  /** The authorisation page, without a query. */
  readonly oauthUrl: string
}

/** Makes the linking of a full app. */
export function makeLinking(options: AkahuLinkingOptions): Linking {
  return {
    stateIn: 'parameter',
    sharesConsent: true,
    institutions: (call) => listInstitutions(options.client, call),
    // A revoked token is replaced by the one that the return brings.
    accepts: (login) =>
      login.secret === null || options.client.isPersonal(tokensOf(login)) !== true,
    begin: async (request, call) => ({ address: await makeAddress(options, request, call) }),
    finish: (request, call) => finish(options.client, request, call),
  }
}

async function makeAddress(
  { client, appToken, oauthUrl }: AkahuLinkingOptions,
  request: LinkingRequest,
  call: CallContext,
): Promise<string> {
  const { institutionId } = request
  if (institutionId !== null && !institutionPattern.test(institutionId)) {
    throw new UpstreamError('akahu', {
      kind: 'rejected',
      status: 404,
      detail: 'no such institution',
    })
  }
  const known = await askKnown(client, request, call)
  const address = new URL(oauthUrl)
  const institution = institutionId ?? known.institutionId
  const parameters = {
    response_type: 'code',
    client_id: appToken,
    redirect_uri: request.returnUrl,
    scope: 'ENDURING_CONSENT',
    state: request.state,
    // With another address a person would make a second Akahu account, which cannot have the same logins.
    email: known.email ?? request.user.email,
    ...(institution === null ? {} : { connection: institution }),
  }
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  return address.href
}

interface Known {
  readonly email: string | null
  /** The institution of the connection that is renewed. */
  readonly institutionId: string | null
}

/**
 * What Akahu tells about a person who has linked before: the page is better with it, and works without it. A
 * token that is refused is the very reason for many a renewal.
 */
async function askKnown(
  client: AkahuClient,
  { login, renews, institutionId }: LinkingRequest,
  call: CallContext,
): Promise<Known> {
  const none: Known = { email: null, institutionId: null }
  if (login === null || login.secret === null) return none
  try {
    const tokens = tokensOf(login)
    const { email = null } = await fetchUser(client, tokens, call)
    if (renews === null || institutionId !== null) return { email, institutionId: null }
    const accounts = await fetchAccounts(client, tokens, call)
    const own = accounts.find((account) => loginOf(account) === renews.upstreamId)
    return { email, institutionId: own?.connection._id ?? null }
  } catch (error) {
    if (error instanceof UpstreamError) return none
    throw error
  }
}

async function finish(
  client: AkahuClient,
  { query, returnUrl, login, renews, keep }: ReturnRequest,
  call: CallContext,
): Promise<LinkingReturn> {
  const error = query.get('error')
  if (error !== null) {
    const reason = pageErrors.get(error)
    return reason === undefined ? fail('unavailable', 'unknown_error') : fail(reason, error)
  }
  const [code = '', ...others] = query.getAll('code')
  if (others.length > 0 || !/^[\x21-\x7e]{1,2048}$/.test(code))
    return fail('unavailable', 'no_code')
  const answer = await exchange(client, { code, redirectUri: returnUrl }, call)
  if (typeof answer !== 'string') return answer
  const tokens = { userToken: answer, appToken: null }
  const secret = toSecret(tokens)
  await keep?.(secret)
  const upstreamUserId = await askOwner(client, tokens, call)
  if (isOther(upstreamUserId, login) && renews !== null)
    return fail('different_account', 'other_user')
  return { kind: 'agreed', identity: { upstreamUserId, secret, isPersonal: false } }
}

/** Asked twice where Akahu fails: the code is used up. */
async function askOwner(
  client: AkahuClient,
  tokens: UserTokens,
  call: CallContext,
): Promise<string> {
  try {
    return (await fetchUser(client, tokens, call))._id
  } catch (error) {
    const kind = error instanceof UpstreamError ? error.failure.kind : null
    // It says nothing about a consent that is stored.
    if (kind === 'consent_lost') throw malformed('a token that was just given is refused', error)
    if (kind !== 'unavailable') throw error
    return (await fetchUser(client, tokens, call))._id
  }
}

/** Tokens of two Akahu users are never mixed: each is a login of its own. */
function isOther(upstreamUserId: string, login: Login | null): boolean {
  return login !== null && login.upstreamUserId !== upstreamUserId
}

/** The errors that Akahu's page brings back (docs/providers/akahu.md, Linking). */
const pageErrors: ReadonlyMap<string, LinkingFailure> = new Map([
  ['access_denied', 'cancelled'],
  ['invalid_grant', 'expired'],
  ['invalid_request', 'misconfigured'],
  ['invalid_scope', 'misconfigured'],
  ['unauthorized_client', 'misconfigured'],
  ['unsupported_response_type', 'misconfigured'],
  ['server_error', 'unavailable'],
  ['temporarily_unavailable', 'unavailable'],
])

/** The errors of the exchange that concern our app; any other 400 refuses the code. */
const appErrors: readonly string[] = [
  'invalid_client',
  'invalid_request',
  'invalid_scope',
  'unauthorized_client',
  'unsupported_grant_type',
]

const TokenBody = z.object({
  success: z.literal(true),
  access_token: z.string().regex(userTokenPattern),
  token_type: z.string().regex(/^bearer$/i),
})

/** The user token, or why there is none. */
async function exchange(
  client: AkahuClient,
  asked: Parameters<AkahuClient['exchangeCode']>[0],
  call: CallContext,
): Promise<string | LinkingReturn> {
  const { body, failure } = await client.exchangeCode(asked, call)
  if (failure === null) return readBody(TokenBody, body).access_token
  if (failure.kind === 'misconfigured') return fail('misconfigured', `status_${failure.status}`)
  if (failure.kind !== 'rejected') throw new UpstreamError('akahu', failure)
  if (failure.status !== 400)
    throw malformed(`the exchange of a code was answered ${failure.status}`)
  const error = readError(body)
  if (!appErrors.includes(error)) return fail('expired', 'code_refused')
  client.alert(`/token: ${error}: ${failure.detail} (AKAHU_APP_TOKEN with AKAHU_APP_SECRET)`)
  return fail('misconfigured', error)
}

function readError(body: Uint8Array): string {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (typeof parsed !== 'object' || parsed === null || !('error' in parsed)) return 'refused'
    return typeof parsed.error === 'string' ? parsed.error : 'refused'
  } catch {
    // A refusal without a readable reason is one of the code.
    return 'refused'
  }
}

/** `code` is shown in logs, so it is never text that came from outside, only one of the codes above. */
function fail(reason: LinkingFailure, code: string): LinkingReturn {
  return { kind: 'failed', reason, code }
}
