/**
 * Maps SnapTrade's positions to holdings (docs/providers/snaptrade.md, Mapping). Pure and exact: products
 * keep every digit and nothing is divided. A position without units is unreadable, never left out (readings
 * R23, R24b).
 */

import type { Holding } from '#contract/resources.ts'
import { type Decimal, multiply, parseDecimal, subtract } from '#kernel/decimal.ts'
import { isRecord } from '#kernel/json.ts'
import type { AccountRef } from '../port.ts'
import { malformed } from './failures.ts'
import { defaultCurrency, parseCode } from './map-connection.ts'
import { type Row, readDecimal, readPart, readText } from './numbers.ts'

const one = parseDecimal('1')

/** The kinds whose price is per unit held. */
const plainKinds: ReadonlySet<string> = new Set([
  'stock',
  'etf',
  'adr',
  'cef',
  'mutualfund',
  'crypto',
  'other',
])

/** All holdings of one account in the provider's order; unknown kinds are passed to `onOddity`. */
export function toHoldings(
  rows: readonly unknown[],
  account: AccountRef,
  onOddity: (what: string) => void,
): Holding[] {
  const seen = new Map<string, number>()
  return rows.map((row) => {
    const holding = toHolding(row, account, onOddity)
    // Positions have no id of their own, so long and short ones, or lots of one instrument, are numbered.
    const count = (seen.get(holding.id) ?? 0) + 1
    seen.set(holding.id, count)
    return count === 1 ? holding : { ...holding, id: `${holding.id}:${count}` }
  })
}

function toHolding(row: unknown, account: AccountRef, onOddity: (what: string) => void): Holding {
  if (!isRecord(row)) throw malformed('a position is not an object')
  const instrument = readPart(row, 'instrument')
  if (instrument === null) throw malformed('a position has no instrument')
  const instrumentId = readText(instrument, 'id')
  const symbol = readText(instrument, 'symbol')
  if (instrumentId === null || symbol === null) {
    throw malformed('an instrument has no id or no symbol')
  }
  const underlying =
    readPart(instrument, 'underlying') ?? readPart(instrument, 'underlying_instrument')
  const quantity = readDecimal(row, 'units')
  if (quantity === null) throw malformed('a position has no units')
  const price = readDecimal(row, 'price')
  const cost = readDecimal(row, 'cost_basis')
  const factor = readFactor(instrument, onOddity)
  return {
    id: `${account.upstreamId}:${instrumentId}`,
    accountId: account.id,
    accountName: account.name,
    symbol,
    name: readText(instrument, 'description'),
    exchange: firstText('exchange', [instrument, underlying]),
    currency: readCurrency([row, instrument, underlying], account),
    quantity,
    averagePrice: cost,
    currentPrice: price,
    marketValue: product(quantity, price, factor),
    unrealizedPnl:
      price === null || cost === null ? null : product(quantity, subtract(price, cost), factor),
  }
}

/** Units times price times the contract's size; null when any of them is unknown. */
function product(units: Decimal, price: Decimal | null, factor: Decimal | null): Decimal | null {
  if (price === null || factor === null) return null
  return multiply(factor === one ? units : multiply(units, factor), price)
}

/** How many priced units one held unit represents; null when unknown. */
function readFactor(instrument: Row, onOddity: (what: string) => void): Decimal | null {
  const kind = readText(instrument, 'kind') ?? ''
  if (kind === 'option' || kind === 'future') return readDecimal(instrument, 'multiplier')
  if (kind === 'cfd') return null
  if (!plainKinds.has(kind)) onOddity('instrument kind')
  return one
}

function firstText(key: string, places: readonly (Row | null)[]): string | null {
  for (const place of places) {
    const text = place === null ? null : readText(place, key)
    if (text !== null) return text
  }
  return null
}

function readCurrency(places: readonly (Row | null)[], account: AccountRef): string {
  const text = firstText('currency', places)
  // A price in an unreadable currency must not be shown as one in the account's currency.
  const code = parseCode(text ?? (account.currency || defaultCurrency))
  if (code === null) throw malformed('a position has an unreadable currency')
  return code
}
