/**
 * A person's consent at Akahu: whose token it is, whether a login still lives, and how it ends. No consent
 * that lives on ever passes for ended, and no fault of our own for the person's.
 */
import assert from 'node:assert/strict'
import { consentGone, UpstreamError, type UpstreamFailure } from '../failure.ts'
import type { CallContext, ConnectionRef, Credentials, Login } from '../port.ts'
import { fetchAccounts, fetchUserId, loginOf, type WireAccount } from './accounts.ts'
import type { AkahuClient } from './client.ts'
import { isInactive } from './map.ts'

/** What may stand in a header; anything else is no token, and would never reach Akahu. */
const tokenPattern = /^[\x21-\x7e]{1,512}$/

/** The user token, which every login of Akahu has. */
export function tokenOf(login: Login): string {
  assert(login.secret !== null, 'an Akahu login has a user token')
  return login.secret
}

/** Who a user token belongs to. Throws `consent_lost` or `rejected` for one that does not work. */
export async function identify(client: AkahuClient, credentials: Credentials, call: CallContext) {
  assert(credentials.provider === 'akahu', 'the credentials are for Akahu')
  const { userToken } = credentials
  if (!tokenPattern.test(userToken)) {
    const detail = 'the user token has characters that no token has'
    throw new UpstreamError('akahu', { kind: 'rejected', status: 401, detail })
  }
  try {
    return { upstreamUserId: await fetchUserId(client, userToken, call), secret: userToken }
  } catch (error) {
    if (isLost(error) || isRejected(error, 403)) await checkApp(client, call)
    throw error
  }
}

/**
 * A token can be refused because our own app is: asking as the app makes that an alert for the operator (reading R20a).
 * The refusal of the token stands all the same, as that of every user endpoint does (page "Errors").
 */
async function checkApp(client: AkahuClient, call: CallContext): Promise<void> {
  const request = { method: 'GET', route: '/connections', target: '/connections' } as const
  try {
    await client.asApp(request, call)
  } catch (error) {
    if (failureOf(error) === null) throw error
  }
}

/** Ends the whole token. One that is refused or unknown has ended before. */
export async function revokeToken(
  client: AkahuClient,
  login: Login,
  call: CallContext,
): Promise<void> {
  const request = { method: 'DELETE', route: '/token', target: '/token' } as const
  try {
    await client.asUser(tokenOf(login), request, call)
  } catch (error) {
    if (isLost(error)) return
    if (isRejected(error, 404) && (await fetchUnlessLost(client, login, call)) === null) return
    throw error
  }
}

/** Ends one login at one institution; the other connections of the token live on. */
export async function revokeLogin(
  client: AkahuClient,
  login: Login,
  connection: ConnectionRef,
  call: CallContext,
): Promise<void> {
  const target = `/authorisations/${encodeURIComponent(connection.upstreamId)}`
  try {
    const request = { method: 'DELETE', route: '/authorisations/{id}', target } as const
    await client.asUser(tokenOf(login), request, call)
  } catch (error) {
    if (isLost(error)) return
    if (!isRejected(error, 404)) throw error
    // "Not found" is believed only when its accounts are gone, too.
    const accounts = await fetchUnlessLost(client, login, call)
    if (accounts !== null && accountsOf(connection, accounts).length > 0) throw error
  }
}

/**
 * Resolves when an empty answer can be believed.
 * @throws UpstreamError `consent_lost` when the login is gone from the token or INACTIVE (reading R20b).
 */
export async function confirmEmpty(
  client: AkahuClient,
  login: Login,
  connection: ConnectionRef,
  call: CallContext,
): Promise<void> {
  const own = accountsOf(connection, await fetchAccounts(client, tokenOf(login), call))
  if (own.length > 0 && !isInactive(own)) return
  const becomes = own.length === 0 ? 'revoked' : 'invalidated'
  throw new UpstreamError('akahu', { kind: 'consent_lost', becomes, detail: consentGone })
}

function accountsOf(connection: ConnectionRef, accounts: readonly WireAccount[]) {
  return accounts.filter((account) => loginOf(account) === connection.upstreamId)
}

/** The accounts of the token, or null when the token is no longer good. */
async function fetchUnlessLost(client: AkahuClient, login: Login, call: CallContext) {
  try {
    return await fetchAccounts(client, tokenOf(login), call)
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
