/**
 * Maps Up's shapes to the contract's: accounts, the connection, balances and transactions. Pure: no I/O, no clock.
 * Amounts stay exact throughout.
 */
import type { AccountType, Balance, Transaction } from '#contract/resources.ts'
import { add, type Decimal, isNegative, subtract, zero } from '#kernel/decimal.ts'
import { upstreamId } from '#kernel/ids.ts'
import { type Micros, parseInstant, type Zone } from '#kernel/time.ts'
import { hideNumbers } from '../account-number.ts'
import type { AccountRef, DiscoveredAccount, DiscoveredConnection } from '../port.ts'
import { toCategoryKey } from './categories.ts'
import { malformed } from './failures.ts'
import { readField, readRelated, type WireRow } from './lists.ts'
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
    name: hideNumbers(name, []),
    type: type ?? 'other',
    accountNumber: null,
    currency: money?.currency ?? null,
  }
}

export function accountIdOf(account: WireRow): string {
  const { id } = account
  if (typeof id !== 'string' || id === '') throw malformed('an account has no id')
  return id
}

/** What is held on each account, by its id: negative where money will go out. */
export type Holds = ReadonlyMap<string, Decimal>

/** Sums the rows that have not settled. @throws UpstreamError `malformed` for a row that cannot be read. */
export function sumHolds(rows: readonly WireRow[]): Holds {
  const holds = new Map<string, Decimal>()
  for (const row of rows) {
    if (readField(row.attributes, 'status') !== 'HELD') continue
    const account = accountOf(row)
    const { amount } = readAmount(row, 'amount')
    holds.set(account, add(holds.get(account) ?? zero, amount))
  }
  return holds
}

/**
 * Up sends the available balance, from which holds are already taken: without them it is the current one. `holds`
 * null: they are not known, and neither is the current balance. One unreadable number must not affect the balances of
 * the request's other accounts.
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
  const currentBalance = holds === null ? null : subtract(amount, holds.get(ref.upstreamId) ?? zero)
  return { accountId: ref.id, currentBalance, availableBalance: amount, currency }
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
  const { amount } = readAmount(row, 'amount')
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
    merchantName: isPurchase && !isTransfer && short !== '' ? short : null,
  }
}

/**
 * The cashback of a row as a row of its own, so that the sum of an account's rows meets its balance.
 * @throws UpstreamError `malformed`
 */
export function toCashback(row: WireRow, shown: Shown): Transaction {
  const { amount } = readAmount(row, 'cashback', 'amount')
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
    status: 'posted',
    date: zone.dayOf(time),
    datetime: text,
    merchantCategoryCode: null,
  } as const
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
