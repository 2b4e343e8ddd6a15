/**
 * The adapter of Up (a bank in Australia), by people's own tokens. A customer is one connection: one login at
 * the one institution there is. Nothing at the bank is ever changed.
 */
import type { Balance } from '#contract/resources.ts'
import { parseExactJson } from '#kernel/json.ts'
import { UpstreamError } from '../failure.ts'
import type {
  AccountRef,
  BalanceQuery,
  BalanceReading,
  BankingAdapter,
  CallContext,
  Login,
} from '../port.ts'
import { makeClient, type UpOptions } from './client.ts'
import { confirmEmpty, identify, tokenOf } from './consent.ts'
import { readWholeList } from './lists.ts'
import { accountIdOf, type Holds, type Note, sumHolds, toBalance, toConnection } from './map.ts'
import { ownKey } from './own-key.ts'
import { makeTransactionReader } from './reader.ts'

/** Accounts are read to the end: half a list would look like closed accounts. */
const accountList = { path: '/accounts', filters: {}, maxPages: 50 }
/** A person has few holds at a time. */
const heldList = { path: '/transactions', filters: { 'filter[status]': 'HELD' }, maxPages: 10 }

/** Makes the adapter; it owns a connection pool until `close`. */
export function makeUp(options: UpOptions): BankingAdapter {
  const client = makeClient(options)
  const note: Note = (what) => options.report.oddity({ provider: 'up', what })

  const readAll = (login: Login, list: typeof accountList | typeof heldList, call: CallContext) =>
    readWholeList(client, { token: tokenOf(login), call, parse: parseExactJson }, list)

  /** Null when they cannot be read: the available balances are known without them. */
  async function readHolds(login: Login, call: CallContext): Promise<Holds | null> {
    try {
      return sumHolds(await readAll(login, heldList, call))
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.failure.kind === 'consent_lost') throw error
      note('holds could not be read')
      return null
    }
  }

  async function balances(query: BalanceQuery, call: CallContext): Promise<BalanceReading> {
    const accounts = await readAll(query.login, accountList, call)
    const wanted = new Map<string, AccountRef>(
      query.accounts.map(({ account }) => [account.upstreamId, account]),
    )
    const found = accounts.flatMap((account) => {
      const ref = wanted.get(accountIdOf(account))
      return ref === undefined ? [] : [{ account, ref }]
    })
    const holds = found.length === 0 ? null : await readHolds(query.login, call)
    const shown = found.map(({ account, ref }): Balance => toBalance(account, ref, { holds, note }))
    return { balances: shown, consents: describeConsents(query) }
  }

  return {
    provider: 'up',
    category: 'banking',
    freshness: 'reads',
    access: {
      hasOwnCredentials: false,
      mode: 'tokens of people',
      off: ['webhooks'],
      ownKey,
      nextStep:
        'Create a personal access token in the Up app (Data sharing), then run `tributary connections link U --provider up --token -`.',
    },
    describeLogin: (_login, email) => ({
      obstacle: null,
      renewal: `Make a new token in the Up app (Data sharing, Personal Access Token) and link it: \`tributary connections link ${email} --provider up --token -\``,
      whenRefused: 'Look in the Up app, Data sharing, whether the token is still there',
    }),
    identify: (credentials, call) => identify(client, credentials, call),
    async discover(login, call) {
      return [toConnection(login.upstreamUserId, await readAll(login, accountList, call), note)]
    },
    // No call ends a token, and other tools of its owner may use it: it is only forgotten here.
    async revoke() {},
    confirmEmpty: (login, _connection, call) => confirmEmpty(client, login, call),
    callsLeft: (login) => client.callsLeft(tokenOf(login)),
    balances,
    transactions: makeTransactionReader(client, note),
    pending: 'among',
    probe: (call) => client.probe(call),
    close: () => client.close(),
  }
}

/** The list of accounts was answered, so the token works. */
function describeConsents({ accounts }: BalanceQuery): BalanceReading['consents'] {
  const ids = new Set(accounts.map(({ connection }) => connection.id))
  return [...ids].map((connectionId) => ({
    connectionId,
    status: 'active',
    lastRefreshedAt: null,
  }))
}
