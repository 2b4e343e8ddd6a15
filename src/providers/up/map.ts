/**
 * Maps Up's shapes to the contract's: accounts, the connection, balances and transactions. Pure: no I/O, no
 * clock. Amounts stay exact throughout.
 */

import type { AccountType, Balance, Transaction } from '#contract/resources.ts'
import { add, type Decimal, isNegative, subtract, zero } from '#kernel/decimal.ts'
import { upstreamId } from '#kernel/ids.ts'
import { readField } from '#kernel/json.ts'
import { type Micros, parseInstant, type Zone } from '#kernel/time.ts'
import { hideNumbers } from '../account-number.ts'
import type { AccountRef, DiscoveredAccount, DiscoveredConnection } from '../port.ts'
import { type RowSettling, untoldDates } from '../row-details.ts'
import { toShownText } from '../shown-text.ts'
import { toCategoryKey } from './categories.ts'
import { malformed } from './failures.ts'
import { isStorableId, readRelated, type WireRow } from './lists.ts'
import { type Money, readMoney } from './money.ts'

/** Reports a value that is not in the known lists, without its row. */
export type Note = (what: string) => void

const accountTypes: ReadonlyMap<unknown, AccountType> = new Map([
  ['TRANSACTIONAL', 'transaction'],
  ['SAVER', 'savings'],
  ['HOME_LOAN', 'loan'],
])

/** Up is one institution, and a customer is one connection to it. */
export function toConnection(
  customerId: string,
  accounts: readonly WireRow[],
  note: Note,
): DiscoveredConnection {
  return {
    upstreamId: upstreamId(customerId),
    institutionId: 'up',
    institutionName: 'Up',
    institutionLogo: null,
    status: 'active',
    // Up answers from its own books; our last good read counts (`freshness`).
    lastRefreshedAt: null,
    accounts: accounts.map((account) => toAccount(account, note)),
  }
}

function toAccount(account: WireRow, note: Note): DiscoveredAccount {
  const { attributes } = account
  const name = readField(attributes, 'displayName')
  if (typeof name !== 'string') throw malformed('an account has no name')
  const type = accountTypes.get(readField(attributes, 'accountType'))
  if (type === undefined) note('unknown account type')
  const money = readMoney(readField(attributes, 'balance'))
  if (money === null) note('unreadable balance')
  return {
    upstreamId: upstreamId(accountIdOf(account)),
    previousUpstreamId: null,
    name: hideNumbers(toShownText(name), []),
    type: type ?? 'other',
    accountNumber: null,
    currency: money?.currency ?? null,
  }
}

/** @throws UpstreamError `malformed` */
export function accountIdOf({ id }: WireRow): string {
  if (!isStorableId(id)) throw malformed('an account has no usable id')
  return id
}

/** What is held on each account, by its id: negative where money will go out. */
export type Holds = ReadonlyMap<string, Money>

/**
 * Sums the rows that have not settled. A row that two pages have counts once.
 * @throws UpstreamError `malformed` for a row that cannot be read, and for two currencies on one account.
 */
export function sumHolds(rows: readonly WireRow[]): Holds {
  const holds = new Map<string, Money>()
  const counted = new Set<string>()
  for (const row of rows) {
    const id = idOf(row)
    if (statusOf(row) !== 'HELD' || counted.has(id)) continue
    counted.add(id)
    const account = accountOf(row)
    const { amount, currency } = readAmount(row, 'amount')
    const sum = holds.get(account) ?? { amount: zero, currency }
    if (sum.currency !== currency) throw malformed('the holds of an account have two currencies')
    holds.set(account, { amount: add(sum.amount, amount), currency })
  }
  return holds
}

/**
 * Up sends the available balance, from which holds are already taken: without them it is the current one.
 * `holds` null: they are not known, and neither is the current balance. One unreadable number must not affect
 * the balances of the request's other accounts.
 */
export function toBalance(
  account: WireRow,
  ref: AccountRef,
  { holds, note }: { readonly holds: Holds | null; readonly note: Note },
): Balance {
  const money = readMoney(readField(account.attributes, 'balance'))
  if (money === null) {
    note('unreadable balance')
    return { accountId: ref.id, currentBalance: null, availableBalance: null, currency: null }
  }
  const { amount, currency } = money
  const currentBalance = holds === null ? null : withoutHolds(money, holds.get(ref.upstreamId))
  return { accountId: ref.id, currentBalance, availableBalance: amount, currency }
}

/** Null when balance and holds are of different currencies. */
function withoutHolds(balance: Money, held: Money | undefined): Decimal | null {
  if (held === undefined) return balance.amount
  return held.currency === balance.currency ? subtract(balance.amount, held.amount) : null
}

/** The account of a row. @throws UpstreamError `malformed` */
export function accountOf(row: WireRow): string {
  const id = readRelated(row, 'account')
  if (id === null) throw malformed('a transaction names no account')
  return id
}

/** @throws UpstreamError `malformed` */
export function idOf(row: WireRow): string {
  const { id } = row
  if (typeof id !== 'string' || id === '') throw malformed('a transaction has no id')
  return id
}

/** `HELD`, `SETTLED`, or a new word. @throws UpstreamError `malformed` without one (reading R23). */
export function statusOf(row: WireRow): string {
  const status = readField(row.attributes, 'status')
  if (typeof status !== 'string' || status === '') throw malformed('a transaction has no status')
  return status
}

/** @throws UpstreamError `malformed` */
export function timeOf(row: WireRow): { readonly text: string; readonly time: Micros } {
  const text = readField(row.attributes, 'createdAt')
  const time = typeof text === 'string' ? parseInstant(text) : null
  if (typeof text !== 'string' || time === null) throw malformed('a transaction has no date')
  return { text, time }
}

/**
 * An amount of a row, or of a part of it.
 * @throws UpstreamError `malformed` when it cannot be read, or its text and its integer disagree.
 */
export function readAmount(row: WireRow, ...path: readonly string[]): Money {
  const money = readMoney(path.reduce(readField, row.attributes))
  if (money === null) throw malformed('the amount of a transaction is not exact')
  return money
}

/**
 * The same for an amount that is shown on an account: REST rows have no currency of their own, so an amount
 * of another one would be read as the account's (Up's file: `amount` is in Australian dollars).
 */
function readShownAmount(row: WireRow, account: AccountRef, ...path: readonly string[]): Decimal {
  const { amount, currency } = readAmount(row, ...path)
  if (currency !== account.currency) {
    throw malformed('an amount of a transaction is not in the currency of its account')
  }
  return amount
}

/** True when a part of the payment was returned at once, which Up tells in an attribute and not in a row. */
export function hasCashback(row: WireRow): boolean {
  const cashback = readField(row.attributes, 'cashback')
  return cashback !== null && cashback !== undefined
}

/** The id of the row that a cashback becomes. */
export const toCashbackId = (id: string): string => `${id}:cashback`

interface Shown {
  readonly account: AccountRef
  readonly zone: Zone
}

/** Maps a row. @throws UpstreamError `malformed` when a field cannot be read (reading R23). */
export function toTransaction(row: WireRow, { account, zone }: Shown, note: Note): Transaction {
  const amount = readShownAmount(row, account, 'amount')
  const short = readField(row.attributes, 'description')
  if (typeof short !== 'string') throw malformed('a transaction has no description')
  const raw = readText(row, 'rawText')
  const isTransfer = readRelated(row, 'transferAccount') !== null
  const isPurchase = raw !== null || isPresent(row, 'cardPurchaseMethod')
  return {
    ...frame(row, { account, zone }),
    id: idOf(row),
    description: raw ?? short,
    amount,
    direction: isNegative(amount) ? 'debit' : 'credit',
    category: isTransfer ? toTransfer(amount) : toCategory(row, note),
    merchantName: isPurchase && !isTransfer && short.trim() !== '' ? short : null,
  }
}

/**
 * The cashback of a row as a row of its own, so that the sum of an account's rows meets its balance.
 * @throws UpstreamError `malformed`
 */
export function toCashback(row: WireRow, shown: Shown): Transaction {
  const amount = readShownAmount(row, shown.account, 'cashback', 'amount')
  const description = readField(readField(row.attributes, 'cashback'), 'description')
  if (typeof description !== 'string') throw malformed('a cashback has no description')
  return {
    ...frame(row, shown),
    id: toCashbackId(idOf(row)),
    description,
    amount,
    direction: isNegative(amount) ? 'debit' : 'credit',
    category: null,
    merchantName: null,
  }
}

/** What a row and its cashback have in common. */
function frame(row: WireRow, { account, zone }: Shown) {
  const { text, time } = timeOf(row)
  return {
    accountId: account.id,
    accountName: account.name,
    status: statusOf(row) === 'HELD' ? 'pending' : 'posted',
    date: zone.dayOf(time),
    datetime: text,
    merchantCategoryCode: null,
  } as const
}

/**
 * When a row settled, and what it replaced: a hold settles under its own id, and `holdInfo` says for good
 * that there was one (reading R39). Of a cashback nothing was ever held.
 */
export function toSettling(row: WireRow, zone: Zone, isCashback: boolean): RowSettling {
  const text = readField(row.attributes, 'settledAt')
  const time = typeof text === 'string' ? parseInstant(text) : null
  const isSettled = statusOf(row) === 'SETTLED'
  if (isSettled && time === null) throw malformed('a settled transaction has no time of settlement')
  const dates =
    typeof text === 'string' && time !== null
      ? { ...untoldDates, postDate: zone.dayOf(time), postDatetime: text }
      : untoldDates
  const wasHeld = isSettled && !isCashback && isPresent(row, 'holdInfo')
  return { dates, replaces: wasHeld ? idOf(row) : null }
}

function toTransfer(amount: Decimal): Transaction['category'] {
  return isNegative(amount) ? 'TRANSFER_OUT' : 'TRANSFER_IN'
}

function toCategory(row: WireRow, note: Note): Transaction['category'] {
  const id = readRelated(row, 'category')
  if (id === null) return null
  const { key, isKnown } = toCategoryKey(id)
  if (!isKnown) note('unknown category')
  return key
}

function isPresent(row: WireRow, key: string): boolean {
  const value = readField(row.attributes, key)
  return value !== null && value !== undefined
}

/** A text of a row; null when absent or blank. @throws UpstreamError `malformed` for any other type. */
export function readText(row: WireRow, key: string): string | null {
  const value = readField(row.attributes, key)
  if (value === null || value === undefined) return null
  if (typeof value !== 'string') throw malformed(`the ${key} of a transaction is not a text`)
  return value.trim() === '' ? null : value
}
