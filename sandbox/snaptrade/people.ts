/**
 * The people of the SnapTrade sandbox. A person is data plus the switches of `state.ts`: to add
 * one, add a function here and a line to `makePeople`.
 */
import { addDays } from '#kernel/time.ts'
import { makePositions } from './positions.ts'
import { allSpecials, cryptoSpecials, makeActivities, type RowsPlan } from './rows.ts'
import { makeUuid, securities } from './securities.ts'
import type { People, SnapTradeAccount, SnapTradeConnection, SnapTradePerson } from './state.ts'

/** The people who exist from the start; the secrets open nothing but the sandbox. */
export const demoPeople = {
  healthy: { userId: 'sandbox-healthy', userSecret: '5f1c0a52-0000-4000-8000-00000000ea17' },
  history: { userId: 'sandbox-history', userSecret: '5f1c0a52-0000-4000-8000-000000001570' },
} as const

export interface World {
  readonly seed: string
  readonly nowMs: number
}

export function makePeople(world: World): People {
  return { healthy: makeHealthy(world), history: makeHistory(world) }
}

/** One account with sound defaults; every field can be laid over. */
export function makeAccount(
  key: string,
  world: World,
  fields: Partial<SnapTradeAccount> & { number: string },
): SnapTradeAccount {
  const synced = new Date(world.nowMs - 3_600_000).toISOString()
  return {
    id: makeUuid(`account:${world.seed}:${key}`),
    name: null,
    institutionAccountId: null,
    rawType: 'Margin',
    category: 'INVESTMENT',
    status: 'open',
    isPaper: false,
    total: { amount: '15363.23', currency: 'USD' },
    balances: [{ currency: 'USD', cash: '300.71', buyingPower: '410.71' }],
    createdDate: '2024-07-23T22:50:22.761390Z',
    holdingsSyncedAt: `${synced.slice(0, 10)} ${synced.slice(11, 19)}.561408+00:00`,
    transactionsSyncedTo: addDays(synced.slice(0, 10), -1),
    holdingsSynced: true,
    transactionsSynced: true,
    holdingsUnavailable: false,
    positions: [],
    activities: [],
    refuses: null,
    ...fields,
  }
}

export function makeConnection(
  key: string,
  world: World,
  fields: Partial<SnapTradeConnection> & { brokerage: string },
): SnapTradeConnection {
  return {
    id: makeUuid(`connection:${world.seed}:${key}`),
    name: 'Connection-1',
    type: 'read',
    createdDate: '2024-08-20T21:56:19.123935Z',
    disabled: false,
    disabledDate: null,
    dataFreshness: 'delayed',
    refreshedAt: null,
    accounts: [],
    ...fields,
  }
}

function planRows(world: World, account: string, fields: Partial<RowsPlan>): RowsPlan {
  return {
    seed: world.seed,
    nowMs: world.nowMs,
    account,
    days: 548,
    perWeekday: { min: 0, max: 2 },
    securities: [securities.aapl, securities.msft, securities.spy, securities.baba],
    currency: 'USD',
    precision: 'moment',
    specials: [],
    ...fields,
  }
}

function makeHealthy(world: World): SnapTradePerson {
  const broker = makeConnection('healthy-ibkr', world, { brokerage: 'INTERACTIVE-BROKERS-FLEX' })
  broker.accounts = [
    makeAccount('healthy-margin', world, {
      name: 'Individual Margin',
      number: 'U6542138443',
      institutionAccountId: '54953432',
      positions: makePositions(),
      activities: makeActivities(planRows(world, 'healthy-margin', { specials: allSpecials })),
    }),
    makeAccount('healthy-super', world, {
      number: '****7781',
      rawType: null,
      category: null,
      status: null,
      total: { amount: '98120.4', currency: 'AUD' },
      activities: makeActivities(
        planRows(world, 'healthy-super', {
          precision: 'day',
          currency: 'AUD',
          perWeekday: { min: 0, max: 1 },
          securities: [securities.bhp, securities.cba, securities.vas, securities.vgs],
        }),
      ),
      positions: makePositions().slice(0, 3),
    }),
    makeAccount('healthy-savings', world, {
      name: 'Cash Savings',
      number: 'SV-0042-19',
      category: 'DEPOSIT',
      rawType: 'High Yield Savings',
      total: { amount: '2500', currency: 'USD' },
      activities: makeActivities(
        planRows(world, 'healthy-savings', {
          precision: 'day',
          perWeekday: { min: 0, max: 0 },
          specials: allSpecials.slice(7, 9),
        }),
      ),
    }),
    makeAccount('healthy-closed', world, { number: '000111222', status: 'closed' }),
    makeAccount('healthy-paper', world, { number: 'DU998877', isPaper: true }),
  ]
  return { ...demoPeople.healthy, connections: [broker, makeCryptoConnection(world)] }
}

function makeCryptoConnection(world: World): SnapTradeConnection {
  const connection = makeConnection('healthy-coinbase', world, {
    brokerage: 'COINBASE',
    name: 'Connection-2',
    dataFreshness: 'realtime',
    // Times may carry an offset other than UTC.
    createdDate: '2025-01-21T15:11:19.217000-05:00',
  })
  connection.accounts = [
    makeAccount('healthy-coins', world, {
      name: 'Coinbase Wallet',
      number: '9f',
      rawType: 'wallet',
      total: null,
      balances: [{ currency: 'AUD', cash: '12.34', buyingPower: null }],
      activities: makeActivities(
        planRows(world, 'healthy-coins', {
          currency: 'AUD',
          perWeekday: { min: 0, max: 1 },
          securities: [securities.btc, securities.eth],
          specials: cryptoSpecials,
        }),
      ),
      positions: [
        {
          instrument: { kind: 'security', security: securities.btc },
          units: '0.123456789012345678',
          price: '91234.56',
          costBasis: '43210.987654321',
          currency: 'USD',
        },
      ],
    }),
  ]
  return connection
}

/** More rows than one request may collect. */
const historyRows = 5_400

function makeHistory(world: World): SnapTradePerson {
  const connection = makeConnection('history-stake', world, { brokerage: 'STAKEAUS' })
  const activities = makeActivities(
    planRows(world, 'history-main', { days: 728, perWeekday: { min: 11, max: 12 } }),
  )
  connection.accounts = [
    makeAccount('history-main', world, {
      name: 'Stake Wall St',
      number: 'STK00990123',
      positions: makePositions().slice(0, 2),
      activities: activities.slice(0, historyRows),
    }),
  ]
  return { ...demoPeople.history, connections: [connection] }
}
