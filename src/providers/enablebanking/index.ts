/**
 * The adapter of Enable Banking (banks of the EU and the EEA). A connection is one consent at one bank, and
 * one login holds it: its secret has the session. What is read of an account serves everything for six hours
 * (reading R36).
 */
import type { Balance } from '#contract/resources.ts'
import { type Millis, toIso } from '#kernel/time.ts'
import type { InstallationAccess } from '../credentials.ts'
import { UpstreamError } from '../failure.ts'
import type { BalanceQuery, BalanceReading, BankingAdapter, CallContext } from '../port.ts'
import { keptAccountOf, readBalances, readingLifeMs } from './account-readings.ts'
import { findCallsLeft } from './ask-bank.ts'
import { type EnableBankingOptions, makeClient } from './client.ts'
import { endLogin, leavesConsent, type Reach, readOpenSession, revoke } from './consent.ts'
import { discover, listAlive } from './discover.ts'
import { identify } from './identify.ts'
import { makeBanks } from './institutions.ts'
import { makeLinking } from './linking.ts'
import { toBalance } from './map.ts'
import { ownKey } from './own-key.ts'
import { makeTransactionReader, readPendingRows } from './reader.ts'
import { readSecret } from './secret.ts'

/** Makes the adapter; it owns a connection pool until `close`. */
export function makeEnableBanking(options: EnableBankingOptions): BankingAdapter {
  const client = makeClient(options)
  const { readings, clock, countries, accountThrottle: throttle, report } = options
  const reach: Reach = {
    client,
    banks: makeBanks({ client, clock, countries }),
    readings,
    clock,
    throttle,
    note: (what) => report.oddity({ provider: 'enablebanking', what }),
  }
  return {
    provider: 'enablebanking',
    category: 'banking',
    freshness: 'reads',
    access: describeAccess(client.application !== null),
    describeLogin: (login, email) => ({
      obstacle:
        client.application !== null || readSecret(login)?.application
          ? null
          : 'It was linked with the application of this installation, and none is set: set ENABLEBANKING_APPLICATION_ID and ENABLEBANKING_PRIVATE_KEY',
      renewal: `${email} renews the connection on its page, and the bank asks for the consent again`,
      whenRefused:
        'Look in the control panel of enablebanking.com whether the application is active and its accounts are linked',
    }),
    identify: (credentials, call, known = []) => identify(reach, credentials, known, call),
    discover: (login, call) => discover(reach, login, call),
    revoke: (login, _connection, asked, call) => revoke(reach, login, asked, call),
    leavesConsent,
    endLogin: (login, call) => endLogin(reach, login, call),
    confirmEmpty: async (login, _connection, call) =>
      void (await readOpenSession(reach, login, call)),
    callsLeft: (login) => findCallsLeft(reach, login),
    listAlive: (login, call) => listAlive(reach, login, call),
    balances: (query, call) => readAll(reach, query, call),
    transactions: makeTransactionReader(reach),
    pending: (query, call) => readPendingRows(reach, query, call),
    linking: makeLinking(reach),
    probe: (call) => client.probe(call),
    close: () => client.close(),
  }
}

/**
 * An account that cannot be read is left out, so that the others have their balances. Where none can be read,
 * the failure is that of the whole reading, unless the bank refuses each of them.
 */
async function readAll(
  reach: Reach,
  { login, accounts }: BalanceQuery,
  call: CallContext,
): Promise<BalanceReading> {
  const read = await Promise.all(
    accounts.map(async (one) => readOne(reach, { login, ...one }, call)),
  )
  const found = read.filter((one) => 'balance' in one)
  const failed = read.find((one) => 'error' in one && !isRefused(one.error))
  if (found.length === 0 && failed !== undefined && 'error' in failed) throw failed.error
  const oldest = found.reduce((least, { readAt }) => Math.min(least, readAt), reach.clock.now())
  const connections = new Set(accounts.map(({ connection }) => connection.id))
  return {
    balances: found.map(({ balance }) => balance),
    consents: [...connections].map((connectionId) => ({
      connectionId,
      status: 'active',
      lastRefreshedAt: found.length === 0 ? null : toIso(oldest),
    })),
    age: { asOf: oldest, goodUntil: oldest + readingLifeMs },
  }
}

/** @throws UpstreamError where it is about more than this account: the consent, or the application. */
async function readOne(
  reach: Reach,
  { login, account, connection }: Pick<BalanceQuery, 'login'> & BalanceQuery['accounts'][number],
  call: CallContext,
): Promise<
  { readonly balance: Balance; readonly readAt: Millis } | { readonly error: UpstreamError }
> {
  try {
    const kept = keptAccountOf(login, account.upstreamId)
    const { status } = connection
    const { value, readAt } = await readBalances({ reach, login, account: kept, call, status })
    return { balance: toBalance(value, account, reach.note), readAt }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    const { kind } = error.failure
    if (kind === 'consent_lost' || kind === 'misconfigured') throw error
    return { error }
  }
}

const isRefused = ({ failure: { kind } }: UpstreamError): boolean =>
  kind === 'rejected' || kind === 'account_gone'

function describeAccess(hasApplication: boolean): InstallationAccess {
  const off = ['webhooks']
  if (hasApplication) {
    return {
      hasOwnCredentials: true,
      mode: 'application of this installation',
      off,
      ownKey,
      nextStep:
        'Open the page Connections and choose Enable Banking: the bank’s own page asks for the consent. A session that was authorised elsewhere is linked with `tributary connections link U --provider enablebanking --session -`.',
    }
  }
  return {
    hasOwnCredentials: false,
    mode: 'applications of people',
    off,
    ownKey,
    nextStep:
      'Make an application in the control panel of enablebanking.com, then open the page Connections and choose Enable Banking.',
  }
}
