/**
 * A person's consent at Akahu: the owner of a token, whether a login's consent is still active, and how it is
 * revoked. An active consent must never be reported as ended, and an error of our app never as a lost
 * consent.
 */
import assert from 'node:assert/strict'
import { type UpstreamId, upstreamId } from '#kernel/ids.ts'
import type { Credentials, Identity, RevokeOptions } from '../credentials.ts'
import { consentGone, UpstreamError, type UpstreamFailure } from '../failure.ts'
import type { BalanceQuery, CallContext, ConnectionRef, ConsentState, Login } from '../port.ts'
import { fetchAccounts, fetchUser, loginOf, type WireAccount } from './accounts.ts'
import type { AkahuClient } from './client.ts'
import { unlisten } from './listen.ts'
import { isInactive, newestRefresh } from './map.ts'
import { chooseTokens, tokensOf, toSecret, whereTokensAre } from './tokens.ts'

const shareAccounts =
  'Share accounts with the app at my.akahu.nz, Developers, Accounts; then link again.'

/**
 * The owner of the tokens. Throws `consent_lost` or `rejected` for tokens that do not work, and `rejected`
 * without a call for those that cannot be such tokens.
 */
export async function identify(
  client: AkahuClient,
  credentials: Credentials,
  call: CallContext,
): Promise<Identity> {
  assert(credentials.provider === 'akahu', 'the credentials are for Akahu')
  const tokens = chooseTokens(credentials, client)
  const isPersonal = client.isPersonal(tokens) === true
  try {
    const { _id: upstreamUserId } = await fetchUser(client, tokens, call)
    const identity = { upstreamUserId, secret: toSecret(tokens), isPersonal }
    return isPersonal ? { ...identity, ifNothing: shareAccounts } : identity
  } catch (error) {
    const failure = failureOf(error)
    if (failure === null || !(isLost(error) || isRejected(error, 403))) throw error
    if (isPersonal) throw refusedPair(failure, error)
    await checkApp(client, call)
    throw error
  }
}

/** Without a secret nothing shows which of the two tokens is refused. */
function refusedPair(failure: UpstreamFailure, cause: unknown): UpstreamError {
  const status = failure.kind === 'rejected' ? failure.status : 401
  const detail = `Akahu refuses this app token with this user token (${failure.detail}): copy both again, ${whereTokensAre}; a regenerated token ends the one before, and an IP allow-list there must contain this server’s address`
  return new UpstreamError('akahu', { kind: 'rejected', status, isPersonal: true, detail }, cause)
}

/**
 * Akahu also refuses a token when it refuses our own app. A request as the app detects that and alerts the
 * operator (reading R20a). The token still counts as refused, as at every user endpoint
 * (docs/providers/akahu.md, Errors and limits).
 */
async function checkApp(client: AkahuClient, call: CallContext): Promise<void> {
  const request = { method: 'GET', route: '/connections', target: '/connections' } as const
  try {
    await client.asApp(request, call)
  } catch (error) {
    if (failureOf(error) === null) throw error
  }
}

/**
 * Forgets a personal app without a call, unless the end at Akahu was asked for, since other programs may use
 * the same app. Otherwise ends one login, or with the last one the webhooks and the token.
 */
export async function revoke(
  client: AkahuClient,
  login: Login,
  connection: ConnectionRef,
  { last, isAsked, call, onRefused }: RevokeCall,
): Promise<void> {
  if (login.secret === null) return
  const isPersonal = isOfPersonalApp(client, login)
  if (isPersonal && !isAsked) return
  if (!last) return revokeLogin(client, login, connection, call)
  if (!isPersonal) await unlisten(client, login, { call, onRefused })
  return revokeToken(client, login, call)
}

/**
 * Ends the webhooks and the token of a login of the full app, and with them every login at an institution.
 */
export async function endLogin(client: AkahuClient, login: Login, ending: EndCall): Promise<void> {
  if (login.secret === null || isOfPersonalApp(client, login)) return
  await unlisten(client, login, ending)
  await revokeToken(client, login, ending.call)
}

interface EndCall {
  readonly call: CallContext
  /** Called when Akahu refuses to end the webhooks. */
  readonly onRefused: () => void
}

type RevokeCall = RevokeOptions & EndCall

/** Throws `rejected` without the variables of the full app that it was linked with: it waits for them. */
function isOfPersonalApp(client: AkahuClient, login: Login): boolean {
  const isPersonal = client.isPersonal(tokensOf(login))
  if (isPersonal !== null) return isPersonal
  const detail = 'AKAHU_APP_TOKEN and AKAHU_APP_SECRET are not set, so the consent cannot be ended'
  throw new UpstreamError('akahu', { kind: 'rejected', status: 401, detail })
}

/** Revokes the whole token. A token that is refused or unknown was revoked before. */
async function revokeToken(client: AkahuClient, login: Login, call: CallContext): Promise<void> {
  const request = { method: 'DELETE', route: '/token', target: '/token' } as const
  try {
    await client.asUser(tokensOf(login), request, call)
  } catch (error) {
    if (isLost(error)) return
    if (isRejected(error, 404) && (await fetchUnlessLost(client, login, call)) === null) return
    throw error
  }
}

/** Revokes one login at one institution; the token's other connections stay active. */
async function revokeLogin(
  client: AkahuClient,
  login: Login,
  connection: ConnectionRef,
  call: CallContext,
): Promise<void> {
  const target = `/authorisations/${encodeURIComponent(connection.upstreamId)}`
  try {
    const request = { method: 'DELETE', route: '/authorisations/{id}', target } as const
    await client.asUser(tokensOf(login), request, call)
  } catch (error) {
    if (isLost(error)) return
    if (!isRejected(error, 404)) throw error
    // "Not found" is trusted only when the login's accounts are gone too.
    const accounts = await fetchUnlessLost(client, login, call)
    if (accounts !== null && accountsOf(connection, accounts).length > 0) throw error
  }
}

/**
 * Resolves when an empty answer can be trusted.
 * @throws UpstreamError `consent_lost` when the login is gone from the token or INACTIVE (reading R20b).
 */
export async function confirmEmpty(
  client: AkahuClient,
  login: Login,
  connection: ConnectionRef,
  call: CallContext,
): Promise<void> {
  const own = accountsOf(connection, await fetchAccounts(client, tokensOf(login), call))
  if (own.length > 0 && !isInactive(own)) return
  const becomes = own.length === 0 ? 'revoked' : 'invalidated'
  throw new UpstreamError('akahu', { kind: 'consent_lost', becomes, detail: consentGone })
}

/** The active logins: Akahu serves old rows of an INACTIVE one, so rows do not prove it active (R20b). */
export async function listAlive(
  client: AkahuClient,
  login: Login,
  call: CallContext,
): Promise<readonly UpstreamId[]> {
  const accounts = await fetchAccounts(client, tokensOf(login), call)
  const logins = Map.groupBy(accounts, loginOf)
  return [...logins].flatMap(([id, own]) =>
    id === null || isInactive(own) ? [] : [upstreamId(id)],
  )
}

/** What the list of accounts, which balances come from, shows about the logins behind them. */
export function sightLogins(
  { accounts: asked }: BalanceQuery,
  accounts: readonly WireAccount[],
): readonly ConsentState[] {
  const ids = new Set(accounts.flatMap(({ _id, _migrated }) => [_id, _migrated]))
  const connections = Map.groupBy(asked, ({ connection }) => connection.id)
  return [...connections].flatMap(([connectionId, members]): ConsentState[] => {
    const own = members[0] === undefined ? [] : accountsOf(members[0].connection, accounts)
    if (own.length > 0) {
      const status = isInactive(own) ? 'invalidated' : 'active'
      return [{ connectionId, status, lastRefreshedAt: newestRefresh(own) }]
    }
    // Its accounts may have moved to another login; the next refresh handles that.
    const hasMoved = members.some(({ account }) => ids.has(account.upstreamId))
    return hasMoved ? [] : [{ connectionId, status: 'revoked', lastRefreshedAt: null }]
  })
}

function accountsOf(connection: ConnectionRef, accounts: readonly WireAccount[]) {
  return accounts.filter((account) => loginOf(account) === connection.upstreamId)
}

/** The accounts of the token, or null when the token is no longer valid. */
async function fetchUnlessLost(client: AkahuClient, login: Login, call: CallContext) {
  try {
    return await fetchAccounts(client, tokensOf(login), call)
  } catch (error) {
    if (isLost(error)) return null
    throw error
  }
}

function failureOf(error: unknown): UpstreamFailure | null {
  return error instanceof UpstreamError ? error.failure : null
}

function isLost(error: unknown): boolean {
  return failureOf(error)?.kind === 'consent_lost'
}

function isRejected(error: unknown, status: number): boolean {
  const failure = failureOf(error)
  return failure?.kind === 'rejected' && failure.status === status
}
