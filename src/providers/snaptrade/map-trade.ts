/**
 * Maps SnapTrade's activities to trades (docs/providers/snaptrade.md, Mapping). Pure. Signs are kept as
 * received (reading R24b); a null amount becomes zero and is never computed.
 */

import type { Trade, TradeType } from '#contract/resources.ts'
import { parseDecimal, zero } from '#kernel/decimal.ts'
import { isRecord } from '#kernel/json.ts'
import { type Micros, parseDay, parseInstant, toIso, toMillis, type Zone } from '#kernel/time.ts'
import { microsPerDay } from '../day-time.ts'
import { UpstreamError } from '../failure.ts'
import type { AccountRef } from '../port.ts'
import { malformed } from './failures.ts'
import { defaultCurrency, parseCode } from './map-connection.ts'
import { numberText, type Row, readDecimal, readPart, readText } from './numbers.ts'

const tradeTypes: Readonly<Record<string, TradeType>> = {
  BUY: 'buy',
  REI: 'buy',
  SELL: 'sell',
  DIVIDEND: 'dividend',
  SUBSTITUTE_DIVIDEND: 'dividend',
  STOCK_DIVIDEND: 'dividend',
  DISTRIBUTION: 'dividend',
  SPLIT: 'split',
  REVERSE_SPLIT: 'split',
  CONTRIBUTION: 'transfer',
  WITHDRAWAL: 'transfer',
  TRANSFER: 'transfer',
  EXTERNAL_ASSET_TRANSFER_IN: 'transfer',
  EXTERNAL_ASSET_TRANSFER_OUT: 'transfer',
  INTERNAL_CASH_TRANSFER_IN: 'transfer',
  INTERNAL_CASH_TRANSFER_OUT: 'transfer',
  INTERNAL_ASSET_TRANSFER_IN: 'transfer',
  INTERNAL_ASSET_TRANSFER_OUT: 'transfer',
  FEE: 'fee',
  TAX: 'fee',
  INTEREST: 'interest',
  OPTIONEXPIRATION: 'other',
  OPTIONASSIGNMENT: 'other',
  OPTIONEXERCISE: 'other',
  REBATE: 'other',
  RETURN_OF_CAPITAL: 'other',
  SPINOFF: 'other',
  STOCK_MERGER: 'other',
  ADJUSTMENT: 'other',
}

/** Our trade type for a provider's type; null for an unknown one. */
export function toTradeType(type: string): TradeType | null {
  const name = type.trim().toUpperCase()
  if (Object.hasOwn(tradeTypes, name)) return tradeTypes[name] ?? null
  return /_TRANSFER_(?:IN|OUT)$/.test(name) ? 'transfer' : null
}

/** A row's time, and the form in which its date is shown. */
export interface TradeTime {
  readonly time: Micros
  /** `YYYY-MM-DD` where only the day is known, otherwise the date-time as received. */
  readonly shown: string
}

const naive = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?$/

/**
 * Midnight UTC means only a day, which counts at its first instant in the user's zone (reading R16a). A blank
 * instead of `T` and a missing offset (then UTC) are corrected, so that ISO 8601 is shown. Null for anything
 * that is not a date.
 */
export function parseTradeTime(text: string, zone: Zone): TradeTime | null {
  let complete = text
  let at = parseInstant(text)
  if (at === null) {
    if (parseDay(text) !== null) return { time: zone.startOfDay(text), shown: text }
    complete = naive.test(text) ? `${text}Z` : ''
    at = parseInstant(complete)
    if (at === null) return null
  }
  if (at % microsPerDay !== 0) return { time: at, shown: complete.replace(' ', 'T') }
  const utc = /(?:[Zz]|[+-]00:?00)$/.test(complete)
  const day = utc ? complete.slice(0, 10) : toIso(toMillis(at)).slice(0, 10)
  return { time: zone.startOfDay(day), shown: day }
}

/** `parseTradeTime` for one zone. */
export type ParseTime = (text: string) => TradeTime | null

/** The row itself; throws `malformed` for anything but an object. */
export function readActivity(row: unknown): Row {
  if (!isRecord(row)) throw malformed('an activity is not an object')
  return row
}

/** The trade date, or the settlement date when it is the only one; without either the row is unreadable. */
export function readTradeTime(row: Row, parseTime: ParseTime): TradeTime {
  const text = readText(row, 'trade_date') ?? readText(row, 'settlement_date')
  const at = text === null ? null : parseTime(text)
  if (at === null) throw malformed('an activity has no readable date')
  return at
}

/** Maps one row completely; its `id` is the bare key, which the resource numbers (reading R24a). */
export function toTrade(
  row: Row,
  context: {
    readonly account: AccountRef
    readonly parseTime: ParseTime
    readonly onOddity: (what: string) => void
  },
): Trade {
  const { account, parseTime, onOddity } = context
  const providerType = readText(row, 'type') ?? ''
  if (toTradeType(providerType) === null) onOddity('activity type')
  const settlement = readText(row, 'settlement_date')
  const settled = settlement === null ? null : parseTime(settlement)
  if (settlement !== null && settled === null) {
    throw malformed('an activity has an unreadable settlement date')
  }
  const symbol = readPart(row, 'symbol')
  const option = readPart(row, 'option_symbol')
  const underlying = option === null ? null : readPart(option, 'underlying_symbol')
  return {
    id: toTradeKey(row, parseTime),
    accountId: account.id,
    accountName: account.name,
    symbol: toSymbol(row),
    name:
      (symbol === null ? null : readText(symbol, 'description')) ??
      (underlying === null ? null : readText(underlying, 'description')),
    type: toTradeType(providerType) ?? 'other',
    quantity: readDecimal(row, 'units') ?? zero,
    price: readDecimal(row, 'price') ?? zero,
    currency: readCurrency(row, account),
    totalAmount: readDecimal(row, 'amount') ?? zero,
    fees: readDecimal(row, 'fee'),
    tradeDate: readTradeTime(row, parseTime).shown,
    settlementDate: settled?.shown ?? null,
    description: toDescription(row),
  }
}

/**
 * The id of the contract: trade date, symbol, upper-case type, total amount, quantity, settlement date, fees
 * and description, joined by hyphens. It is also used for rows outside the window, so an unreadable part is
 * included as received, and the row is refused only when it is mapped (reading R23).
 */
export function toTradeKey(row: Row, parseTime: ParseTime): string {
  const settlement = row.settlement_date
  return [
    asSent(() => readTradeTime(row, parseTime).shown, row.trade_date ?? settlement),
    asSent(() => toSymbol(row), row.symbol),
    asSent(() => toTradeType(readText(row, 'type') ?? '') ?? 'other', row.type).toUpperCase(),
    numberOr(row, 'amount', zero),
    numberOr(row, 'units', zero),
    typeof settlement === 'string' ? (parseTime(settlement)?.shown ?? settlement) : '',
    numberOr(row, 'fee', ''),
    asSent(() => toDescription(row) ?? '', row.description),
  ].join('-')
}

function asSent(read: () => string, sent: unknown): string {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return typeof sent === 'string' ? sent : (JSON.stringify(sent) ?? '')
  }
}

function numberOr(row: Row, key: 'amount' | 'units' | 'fee', absent: string): string {
  const text = numberText(row, key)
  return text === null ? absent : (parseDecimal(text) ?? text)
}

/**
 * The option comes first, in case `symbol` contains the underlying; for cash movements it is the currency.
 */
function toSymbol(row: Row): string {
  for (const [part, key] of symbolPlaces) {
    const place = readPart(row, part)
    const text = place === null ? null : readText(place, key)
    if (text !== null) return text
  }
  return 'UNKNOWN'
}

const symbolPlaces = [
  ['option_symbol', 'ticker'],
  ['symbol', 'symbol'],
  ['currency_universal_symbol', 'symbol'],
  ['currency', 'code'],
] as const

function readCurrency(row: Row, account: AccountRef): string {
  const currency = readPart(row, 'currency')
  const quote = readPart(row, 'currency_universal_symbol')
  const given = [
    currency === null ? null : readText(currency, 'code'),
    quote === null ? null : readText(quote, 'symbol'),
    quote === null ? null : readText(quote, 'raw_symbol'),
  ].filter((text) => text !== null)
  // An amount in an unreadable currency must not be shown as one in the account's currency.
  const texts = given.length > 0 ? given : [account.currency || defaultCurrency]
  const code = texts.map(parseCode).find((known) => known !== null)
  if (code === undefined) throw malformed('an activity has an unreadable currency')
  return code
}

function toDescription(row: Row): string | null {
  const text = readText(row, 'description')
  return text === null || text.trim() === '' ? null : text
}
