/**
 * Akahu, New Zealand's banks, as an adapter of the house. A connection is one authorisation (one login at one
 * institution); all connections of a person share one user token, which is the login's secret.
 */
import assert from 'node:assert/strict'
import type { Balance } from '#contract/resources.ts'
import { consentGone, UpstreamError } from '../failure.ts'
import type {
  BalanceQuery,
  BankingAdapter,
  CallContext,
  ConnectionRef,
  Credentials,
  Login,
} from '../port.ts'
import { fetchAccounts, fetchUserId, loginOf } from './accounts.ts'
import { type AkahuOptions, makeClient } from './client.ts'
import { isInactive, type Note, toBalance, toConnections } from './map.ts'
import { makeTransactionReader } from './pages.ts'

export type { AkahuOptions } from './client.ts'

/** What may stand in a header; anything else is no token, and would never reach Akahu. */
const tokenPattern = /^[\x21-\x7e]{1,512}$/

/** The adapter; it owns a connection pool until it is closed. */
export function makeAkahu(options: AkahuOptions): BankingAdapter {
  const client = makeClient(options)
  const note: Note = (what) => options.report.oddity({ provider: 'akahu', what })

  async function identify(credentials: Credentials, call: CallContext) {
    assert(credentials.provider === 'akahu', 'the credentials are for Akahu')
    const { userToken } = credentials
    if (!tokenPattern.test(userToken)) {
      const detail = 'the user token has characters that no token has'
      throw new UpstreamError('akahu', { kind: 'rejected', status: 401, detail })
    }
    try {
      return { upstreamUserId: await fetchUserId(client, userToken, call), secret: userToken }
    } catch (error) {
      if (isRefusal(error)) await checkApp(call)
      throw error
    }
  }

  /** A token can be refused because our own app is: that is the operator's to mend (reading R20a). */
  async function checkApp(call: CallContext): Promise<void> {
    const request = { method: 'GET', route: '/connections', target: '/connections' } as const
    try {
      await client.asApp(request, call)
    } catch (error) {
      const isOurs = error instanceof UpstreamError && error.failure.kind === 'misconfigured'
      // Any other trouble with the question says nothing about the token: its own refusal stands.
      if (isOurs || call.signal.aborted) throw error
    }
  }

  async function discover(login: Login, call: CallContext) {
    return toConnections(await fetchAccounts(client, tokenOf(login), call), note)
  }

  /** `last` ends the whole token, which needs no authorisation to be left; either may have ended before. */
  async function revoke(
    login: Login,
    connection: ConnectionRef,
    { last }: { readonly last: boolean },
    call: CallContext,
  ): Promise<void> {
    const token = tokenOf(login)
    const id = encodeURIComponent(connection.upstreamId)
    const request = last
      ? ({ method: 'DELETE', route: '/token', target: '/token' } as const)
      : ({
          method: 'DELETE',
          route: '/authorisations/{id}',
          target: `/authorisations/${id}`,
        } as const)
    try {
      await client.asUser(token, request, call)
    } catch (error) {
      if (error instanceof UpstreamError && error.failure.kind === 'consent_lost') return
      if (!isNotFound(error)) throw error
      // "Not found" is believed only when the accounts are gone, too: a consent that lives on must not pass for ended.
      if (await isAlive(login, connection, call)) throw error
    }
  }

  async function isAlive(login: Login, connection: ConnectionRef, call: CallContext) {
    try {
      const accounts = await fetchAccounts(client, tokenOf(login), call)
      return accounts.some((account) => loginOf(account) === connection.upstreamId)
    } catch (error) {
      if (error instanceof UpstreamError && error.failure.kind === 'consent_lost') return false
      throw error
    }
  }

  async function confirmEmpty(login: Login, connection: ConnectionRef, call: CallContext) {
    const accounts = await fetchAccounts(client, tokenOf(login), call)
    const own = accounts.filter((account) => loginOf(account) === connection.upstreamId)
    if (own.length > 0 && !isInactive(own)) return
    const becomes = own.length === 0 ? 'revoked' : 'invalidated'
    throw new UpstreamError('akahu', { kind: 'consent_lost', becomes, detail: consentGone })
  }

  /** One list serves every account of the token. An account that was moved is found by its former id. */
  async function balances(query: BalanceQuery, call: CallContext): Promise<readonly Balance[]> {
    const wanted = new Map<string, BalanceQuery['accounts'][number]['account']>(
      query.accounts.map(({ account }) => [account.upstreamId, account]),
    )
    const found: Balance[] = []
    for (const account of await fetchAccounts(client, tokenOf(query.login), call)) {
      const id = wanted.has(account._id) ? account._id : (account._migrated ?? '')
      const ref = wanted.get(id)
      if (ref === undefined) continue
      wanted.delete(id)
      found.push(toBalance(account, ref, note))
    }
    return found
  }

  return {
    provider: 'akahu',
    category: 'banking',
    identify,
    discover,
    revoke,
    confirmEmpty,
    balances,
    transactions: makeTransactionReader(client, note),
    close: () => client.close(),
  }
}

function tokenOf(login: Login): string {
  assert(login.secret !== null, 'an Akahu login has a user token')
  return login.secret
}

/** 401 or 403: either of the two credentials may be meant. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return false
  const { failure } = error
  return failure.kind === 'consent_lost' || (failure.kind === 'rejected' && failure.status === 403)
}

function isNotFound(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return false
  return error.failure.kind === 'rejected' && error.failure.status === 404
}
