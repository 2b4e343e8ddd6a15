/**
 * Rows as events show them (contract, Events; readings R24b, R34): snake_case, amounts of transactions as
 * integers of the minor unit. The canonical content of a row, whose fingerprint tells that it changed, is the
 * values of its event object in their fixed order, without the id, the account's name and the local day of a
 * transaction: a provider that moves a row to another id changes nothing, and neither a renamed account nor
 * another zone of the user, in which the same times are other days, makes rows count as updated. It is made
 * for every row of a run, the event object only for the few new or updated ones: so it is an array of values,
 * which costs a quarter of the object, and its amount is text.
 */
import type { TradeEvent, TransactionEvent } from '#contract/events.ts'
import type { ConnectionCategory, Trade, Transaction } from '#contract/resources.ts'
import { roundToCurrency, toMinorUnits } from '#kernel/money.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { TransactionDetails } from '#providers/port.ts'
import type { PendingDetails } from '#providers/row-details.ts'
import type { MonthNumber } from '#store/ports/ledgers.ts'
import { monthOf } from './months.ts'

/**
 * The versions of the lists of fields below: another version makes no row count as updated. From 0 to 255.
 */
export const contentVersions = { transactions: 2, trades: 1 } as const

/** The version for the rows of a connection of this category. */
export function contentVersionOf(category: ConnectionCategory): number {
  switch (category) {
    case 'banking':
      return contentVersions.transactions
    case 'brokerage':
      return contentVersions.trades
    default:
      return unreachable(category)
  }
}

export interface EventObject {
  /** As JSON; call it only for rows that are sent, because most rows of a run are known. */
  toText(): string
  /** The canonical content. */
  readonly content: string
  /** The month of the row's local day. */
  readonly month: MonthNumber
  /** Digits finer than the minor unit were rounded (half to even). */
  readonly isRounded: boolean
}

/** A posted transaction. Every digit of its amount is kept, beyond 2^53 too. */
export function toTransactionObject(row: Transaction, details: TransactionDetails): EventObject {
  const amount = roundToCurrency(row.amount, details.currency.toUpperCase())
  return {
    toText: () => writeTransaction(row, details),
    content: JSON.stringify([
      'transaction',
      amount.value,
      details.currency.toLowerCase(),
      'posted',
      row.description,
      row.direction,
      details.class,
      row.accountId,
      details.transactionDate,
      details.postDate,
      row.merchantName,
      row.category,
      row.merchantCategoryCode,
      details.isReferenceUnstable === true ? null : details.reference,
      details.extendedDescription,
    ]),
    month: monthOf(row.date),
    isRounded: amount.isRounded,
  }
}

/** A pending one as JSON (reading R39). */
export function writePending(id: string, row: Transaction, details: PendingDetails): string {
  const moments = { transactionDate: row.datetime ?? row.date, postDate: null }
  return writeTransaction({ ...row, id }, { ...details, ...moments })
}

/** The amount is written apart: `JSON.stringify` would take twice as long for its many digits. */
function writeTransaction(
  row: Transaction,
  details: PendingDetails & {
    readonly transactionDate: string
    readonly postDate: string | null
  },
): string {
  const currency = details.currency
  const amount = toMinorUnits(row.amount, currency.toUpperCase())
  const rest = {
    currency: currency.toLowerCase(),
    status: row.status,
    description: row.description,
    direction: row.direction,
    class: details.class,
    account_id: row.accountId,
    account_name: row.accountName,
    account: row.accountName,
    local_date: row.date,
    transaction_date: details.transactionDate,
    post_date: details.postDate,
    merchant_name: row.merchantName,
    category: row.category,
    merchant_category_code: row.merchantCategoryCode,
    reference: details.reference,
    extended_description: details.extendedDescription,
  } satisfies Omit<TransactionEvent, 'id' | 'object' | 'amount' | 'status' | 'post_date'> &
    Record<'status' | 'post_date', string | null>
  const head = `{"id":${JSON.stringify(row.id)},"object":"transaction"`
  return `${head},"amount":${amount},${JSON.stringify(rest).slice(1)}`
}

/** A trade with its number among identical fills in its id (reading R24a). */
export function toTradeObject(trade: Trade): EventObject {
  return {
    toText: () => JSON.stringify(toTradeEvent(trade)),
    content: JSON.stringify([
      'trade',
      trade.accountId,
      trade.symbol,
      trade.name,
      trade.type,
      trade.quantity,
      trade.price,
      trade.currency,
      trade.totalAmount,
      trade.fees,
      trade.tradeDate,
      trade.settlementDate,
      trade.description,
    ]),
    month: monthOf(trade.tradeDate),
    isRounded: false,
  }
}

function toTradeEvent(trade: Trade) {
  return {
    id: trade.id,
    object: 'trade',
    account_id: trade.accountId,
    account_name: trade.accountName,
    symbol: trade.symbol,
    name: trade.name,
    type: trade.type,
    quantity: trade.quantity,
    price: trade.price,
    currency: trade.currency,
    total_amount: trade.totalAmount,
    fees: trade.fees,
    trade_date: trade.tradeDate,
    settlement_date: trade.settlementDate,
    description: trade.description,
  } satisfies TradeEvent
}
