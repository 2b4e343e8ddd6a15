/**
 * The adapter of Akahu (banks in New Zealand). A connection is one authorisation: one login at one institution. All
 * connections of a person share one user token, which is the login's secret.
 */
import type { Balance } from '#contract/resources.ts'
import type {
  AccountRef,
  BalanceQuery,
  BalanceReading,
  BankingAdapter,
  CallContext,
  Login,
} from '../port.ts'
import { fetchAccounts } from './accounts.ts'
import { type AkahuOptions, makeClient } from './client.ts'
import {
  confirmEmpty,
  identify,
  listAlive,
  revokeLogin,
  revokeToken,
  sightLogins,
  tokenOf,
} from './consent.ts'
import { listen, unlisten } from './listen.ts'
import { type Note, toBalance, toConnections } from './map.ts'
import { makeTransactionReader } from './reader.ts'
import { makeSigningKeys } from './signing-keys.ts'
import { makeAkahuWebhooks } from './webhook.ts'

/** Makes the adapter; it owns a connection pool until `close`. */
export function makeAkahu(options: AkahuOptions): BankingAdapter {
  const client = makeClient(options)
  const note: Note = (what) => options.report.oddity({ provider: 'akahu', what })

  async function discover(login: Login, call: CallContext) {
    return toConnections(await fetchAccounts(client, tokenOf(login), call), note)
  }

  /** One list covers every account of the token. A moved account is found by its former id. */
  async function balances(query: BalanceQuery, call: CallContext): Promise<BalanceReading> {
    const wanted = new Map<string, AccountRef>(
      query.accounts.map(({ account }) => [account.upstreamId, account]),
    )
    const found: Balance[] = []
    const accounts = await fetchAccounts(client, tokenOf(query.login), call)
    for (const account of accounts) {
      const id = wanted.has(account._id) ? account._id : (account._migrated ?? '')
      const ref = wanted.get(id)
      if (ref === undefined) continue
      wanted.delete(id)
      found.push(toBalance(account, ref, note))
    }
    return { balances: found, consents: sightLogins(query, accounts) }
  }

  return {
    provider: 'akahu',
    category: 'banking',
    freshness: 'reported',
    access: {
      hasOwnCredentials: true,
      mode: 'full app',
      off: [],
      nextStep:
        'Run `tributary connections link U --provider akahu --user-token -` with the user token of a person who has authorised this app.',
    },
    identify: (credentials, call) => identify(client, credentials, call),
    discover,
    async revoke(login, connection, { last }, call) {
      if (!last) return revokeLogin(client, login, connection, call)
      await unlisten(client, login, { call, onRefused: () => note('webhooks could not be ended') })
      return revokeToken(client, login, call)
    },
    confirmEmpty: (login, connection, call) => confirmEmpty(client, login, connection, call),
    listAlive: (login, call) => listAlive(client, login, call),
    balances,
    transactions: makeTransactionReader(client, note),
    probe: (call) => client.probe(call),
    webhooks: {
      ...makeAkahuWebhooks({ keys: makeSigningKeys({ client, clock: options.clock }), odd: note }),
      listen: (login, call) => listen(client, login, call),
    },
    close: () => client.close(),
  }
}
