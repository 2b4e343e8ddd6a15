/**
 * The adapter of SimpleFIN: any server of that protocol, by an access URL of the person's own. One reading of
 * all accounts serves balances, rows, discovery and syncs for an hour (reading R36). Nothing at the server is
 * ever changed.
 */
import type { Balance } from '#contract/resources.ts'
import { toIso } from '#kernel/time.ts'
import { oldestOf } from '../data-age.ts'
import { UpstreamError } from '../failure.ts'
import type {
  BalanceQuery,
  BalanceReading,
  BankingAdapter,
  CallContext,
  ConsentState,
} from '../port.ts'
import { readAccessUrl } from './access-url.ts'
import type { AccountSet } from './account-set.ts'
import { makeClient, type SimplefinOptions } from './client.ts'
import {
  confirmEmpty,
  findAccount,
  identify,
  type Reach,
  readingLifeMs,
  readNewest,
} from './consent.ts'
import { balanceTime, statusOf, toBalance, toConnections } from './map.ts'
import { ownKey } from './own-key.ts'
import { makeTransactionReader, readPendingRows } from './reader.ts'
import { secretOf } from './secret.ts'

/** Makes the adapter; it owns connection pools until `close`. */
export function makeSimplefin(options: SimplefinOptions): BankingAdapter {
  const client = makeClient(options)
  const { readings, clock, allowPrivate, report, isOurs = () => false } = options
  const reach: Reach = { client, readings, clock, allowPrivate, report, isOurs }

  async function balances(query: BalanceQuery, call: CallContext): Promise<BalanceReading> {
    const { set, readAt } = await readNewest(reach, query.login, call)
    const found = query.accounts.flatMap(({ account, connection }) => {
      const wire = tryFind(() => findAccount(set, connection, account))
      return wire === null ? [] : [{ account, wire }]
    })
    const times = found.map(({ wire }) => balanceTime(wire, readAt))
    return {
      balances: found.map(({ account, wire }): Balance => toBalance(wire, account)),
      consents: describeConsents(query, set, readAt),
      age: { asOf: oldestOf(times), goodUntil: readAt + readingLifeMs },
    }
  }

  return {
    provider: 'simplefin',
    category: 'banking',
    freshness: 'reported',
    access: {
      hasOwnCredentials: false,
      mode: 'access URLs of people',
      off: ['webhooks'],
      ownKey,
      nextStep:
        'Create a setup token on the page of your SimpleFIN server, then run `tributary connections link U --provider simplefin --setup-token -`.',
    },
    describeLogin: (_login, email) => ({
      obstacle: null,
      renewal: `Look on the page of the SimpleFIN server first: a subscription that has ended is renewed there, and a bank that asks for a sign-in is signed in to there. Where the access was disabled, make a new setup token and link it: \`tributary connections link ${email} --provider simplefin --setup-token -\``,
      whenRefused: 'Look on the page of the SimpleFIN server whether the app is still there',
    }),
    identify: (credentials, call, known = [], sent = undefined) =>
      identify(reach, credentials, { known, sent }, call),
    async discover(login, call) {
      const { set, readAt } = await readNewest(reach, login, call)
      return toConnections(set, readAt)
    },
    // The protocol has no call that ends an access: its person disables it on the server's page.
    async revoke() {},
    confirmEmpty: (login, connection, call, asked) =>
      confirmEmpty(reach, { login, connection }, call, asked),
    callsLeft: (login) => client.callsLeft(readAccessUrl(secretOf(login).accessUrl, allowPrivate)),
    async listAlive(login, call) {
      const { set } = await readNewest(reach, login, call)
      return toConnections(set, clock.now())
        .filter(({ status }) => status === 'active')
        .map(({ upstreamId }) => upstreamId)
    },
    balances,
    transactions: makeTransactionReader(reach),
    pending: (query, call) => readPendingRows(reach, query, call),
    probe: (call) => client.probe(call),
    close: () => client.close(),
  }
}

/** An account that cannot be read has no balance; the others of the request have theirs. */
function tryFind<Found>(find: () => Found): Found | null {
  try {
    return find()
  } catch (error) {
    if (error instanceof UpstreamError) return null
    throw error
  }
}

function describeConsents(
  { accounts }: BalanceQuery,
  set: AccountSet,
  readAt: number,
): readonly ConsentState[] {
  const connections = new Map(accounts.map(({ connection }) => [connection.id, connection]))
  const listed = new Set(set.connections.map(({ conn_id }) => conn_id))
  return [...connections.values()].flatMap(({ id, upstreamId }) => {
    if (!listed.has(upstreamId)) return []
    const own = set.accountsByConnection.get(upstreamId) ?? []
    const times = own.flatMap((account) => balanceTime(account, readAt) ?? [])
    return [
      {
        connectionId: id,
        status: statusOf(set.connectionObstacles.get(upstreamId)),
        lastRefreshedAt: times.length === 0 ? null : toIso(Math.max(...times)),
      },
    ]
  })
}
