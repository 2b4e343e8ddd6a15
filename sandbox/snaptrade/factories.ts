/**
 * Factories for the data of the SnapTrade sandbox: connections and accounts with generated values
 * for fields not given. It does not decide who exists.
 */
import { addDays } from '#kernel/time.ts'
import { defer } from '../defer.ts'
import type { RowsPlan } from './rows.ts'
import { makeUuid, securities } from './securities.ts'
import type { SnapTradeAccount, SnapTradeConnection, SnapTradePerson } from './shapes.ts'

export interface World {
  readonly seed: string
  readonly nowMs: number
}

/** One account with valid defaults; every field can be overridden. */
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

/** One connection with valid defaults. */
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

/** Eighteen months of a small investor's rows; every part can be overridden. */
export function planRows(world: World, account: string, fields: Partial<RowsPlan>): RowsPlan {
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

/** A person whose connections are generated at their first use. */
export function makePerson(
  who: { readonly userId: string; readonly userSecret: string },
  makeConnections: () => SnapTradeConnection[],
): SnapTradePerson {
  const person: SnapTradePerson = { ...who, connections: [] }
  defer(person, 'connections', makeConnections)
  return person
}
