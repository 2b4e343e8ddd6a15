/**
 * The shapes of what the SnapTrade emulator knows: a person, their connections, accounts, positions and
 * activities, plus the switches that make them misbehave. Everything is mutable: tests
 * and the sandbox commands change it while it runs. Decimals are text; `wire.ts` turns them into
 * what SnapTrade sends.
 */

import type { RowFaults } from '../row-faults.ts'

export interface Security {
  readonly id: string
  readonly kind: 'stock' | 'etf' | 'adr' | 'cef' | 'mutualfund' | 'crypto' | 'other'
  readonly symbol: string
  readonly rawSymbol: string
  readonly name: string | null
  readonly currency: string
  /** Key of `exchanges`, or null where there is none. */
  readonly exchange: string | null
  /** A plain price in whole cents, the middle of the made-up prices. */
  readonly priceCents: number
}

export interface OptionContract {
  readonly id: string
  /** OCC text with its blanks, e.g. `SPY   220819P00200000`. */
  readonly ticker: string
  readonly optionType: 'CALL' | 'PUT'
  readonly strike: string
  readonly expiration: string
  readonly underlying: Security
  readonly description: string | null
}

/**
 * Fields that override those of the answer, to send what the file does not allow; `undefined`
 * removes one.
 */
export type Overrides = Record<string, unknown>

export interface Activity {
  id: string
  type: string
  security: Security | null
  option: OptionContract | null
  /** The quote security of trades that are not priced in money. */
  quote: Security | null
  /** Decimal text; null is left out of the answer, as the file knows no null here. */
  price: string | null
  units: string | null
  fee: string | null
  /** Null is sent as null. */
  amount: string | null
  fxRate: string | null
  currency: string | null
  optionAction: string | null
  description: string
  /** ISO 8601 date-time; midnight UTC when the broker sends only the day. */
  tradeDate: string | null
  settlementDate: string | null
  overrides?: Overrides
}

export type Instrument =
  | { readonly kind: 'security'; readonly security: Security }
  | {
      readonly kind: 'option'
      readonly contract: OptionContract
      readonly multiplier: string
    }
  | {
      readonly kind: 'future'
      readonly id: string
      readonly symbol: string
      readonly root: string
      readonly code: string
      readonly expiration: string | null
      readonly multiplier: string | null
      readonly currency: string | null
      readonly exchange: string | null
    }
  | { readonly kind: 'cfd'; readonly id: string; readonly underlying: Security }

export interface Position {
  instrument: Instrument
  units: string | null
  price: string | null
  costBasis: string | null
  currency: string | null
  cashEquivalent?: boolean
  overrides?: Overrides
}

export interface SnapTradeAccount {
  id: string
  name: string | null
  number: string
  institutionAccountId: string | null
  rawType: string | null
  category: 'INVESTMENT' | 'DEPOSIT' | 'LOC' | null
  status: 'open' | 'closed' | 'archived' | 'unavailable' | null
  isPaper: boolean
  total: { amount: string; currency: string } | null
  balances: { currency: string; cash: string | null; buyingPower: string | null }[]
  createdDate: string
  /** `YYYY-MM-DD HH:MM:SS.ffffff+00:00`, with a blank as the real one has it. */
  holdingsSyncedAt: string | null
  transactionsSyncedTo: string | null
  holdingsSynced: boolean
  transactionsSynced: boolean
  /** The brokerage does not show this account's holdings. */
  holdingsUnavailable: boolean
  positions: Position[]
  activities: Activity[]
  /** 425/3012 or 501 instead of positions, activities and balances. */
  refuses: 'populating' | 'unsupported' | null
  overrides?: Overrides
}

export interface SnapTradeConnection {
  id: string
  /** Slug of the brokerage. */
  brokerage: string
  name: string
  type: 'read' | 'trade'
  createdDate: string
  disabled: boolean
  disabledDate: string | null
  dataFreshness: 'realtime' | 'delayed'
  /** Milliseconds of the last manual refresh. */
  refreshedAt: number | null
  accounts: SnapTradeAccount[]
}

export interface SnapTradePerson extends RowFaults {
  userId: string
  userSecret: string
  /** Somebody with a personal key: no user of the commercial key, and reached by this key alone. */
  personalKey?: { readonly clientId: string; readonly consumerKey: string }
  connections: SnapTradeConnection[]
}
