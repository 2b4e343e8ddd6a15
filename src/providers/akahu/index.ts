/**
 * Akahu, New Zealand's banks, as an adapter of the house. A connection is one authorisation (one login at one
 * institution); all connections of a person share one user token, which is the login's secret.
 */
import type { Balance } from '#contract/resources.ts'
import type { AccountRef, BalanceQuery, BankingAdapter, CallContext, Login } from '../port.ts'
import { fetchAccounts } from './accounts.ts'
import { type AkahuOptions, makeClient } from './client.ts'
import { confirmEmpty, identify, revokeLogin, revokeToken, tokenOf } from './consent.ts'
import { type Note, toBalance, toConnections } from './map.ts'
import { makeTransactionReader } from './pages.ts'

/** The adapter; it owns a connection pool until it is closed. */
export function makeAkahu(options: AkahuOptions): BankingAdapter {
  const client = makeClient(options)
  const note: Note = (what) => options.report.oddity({ provider: 'akahu', what })

  async function discover(login: Login, call: CallContext) {
    return toConnections(await fetchAccounts(client, tokenOf(login), call), note)
  }

  /** One list serves every account of the token. An account that was moved is found by its former id. */
  async function balances(query: BalanceQuery, call: CallContext): Promise<readonly Balance[]> {
    const wanted = new Map<string, AccountRef>(
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
    identify: (credentials, call) => identify(client, credentials, call),
    discover,
    revoke: (login, connection, { last }, call) =>
      last ? revokeToken(client, login, call) : revokeLogin(client, login, connection, call),
    confirmEmpty: (login, connection, call) => confirmEmpty(client, login, connection, call),
    balances,
    transactions: makeTransactionReader(client, note),
    probe: (call) => client.probe(call),
    close: () => client.close(),
  }
}
