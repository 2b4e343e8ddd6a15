/**
 * Maps Akahu's shapes to the contract's: accounts, connections, balances and transactions. Pure: no I/O, no
 * clock. Amounts stay text throughout; of an account number only the last four digits leave this file.
 */
import type { AccountType, Balance, Transaction } from '#contract/resources.ts'
import {
  type Decimal,
  fractionDigits,
  isNegative,
  parseDecimal,
  roundHalfEven,
  roundSignificant,
} from '#kernel/decimal.ts'
import { upstreamId } from '#kernel/ids.ts'
import { NumberText, readField } from '#kernel/json.ts'
import { currencyDigits, hasMinorUnit, parseCurrency } from '#kernel/money.ts'
import { type Micros, parseInstant, toIso, toMillis } from '#kernel/time.ts'
import { hideNumbers } from '../account-number.ts'
import type { AccountRef, DiscoveredAccount, DiscoveredConnection } from '../port.ts'
import { type RowSettling, untoldDates } from '../row-details.ts'
import { loginOf, type WireAccount } from './accounts.ts'
import { fromNzfcc, fromType, isKnownCode } from './categories.ts'
import { isDayStamp, type RowDate } from './dates.ts'
import { malformed } from './failures.ts'

/** Reports a value that is not in the known lists, without its row. */
export type Note = (what: string) => void

/**
 * A parsed transaction: `amount` is text or a NumberText, all other fields are validated when they are used.
 */
export type WireRow = Readonly<Record<string, unknown>>

const accountTypes: ReadonlyMap<string, AccountType> = new Map([
  ['CHECKING', 'transaction'],
  ['FOREIGN', 'transaction'],
  ['WALLET', 'transaction'],
  ['SAVINGS', 'savings'],
  ['CREDITCARD', 'credit-card'],
  ['LOAN', 'loan'],
  ['KIWISAVER', 'investment'],
  ['INVESTMENT', 'investment'],
  ['TERMDEPOSIT', 'term-deposit'],
  ['TAX', 'other'],
  ['REWARDS', 'other'],
])

/** Reading R24: digits beyond this in a balance are binary float noise. */
const maxBalanceDigits = 6
/** This many significant digits survive in a float; noise comes behind them. */
const exactFloatDigits = 15

/** Groups the accounts of a token into connections: one per login at one institution. */
export function toConnections(
  accounts: readonly WireAccount[],
  note: Note,
): readonly DiscoveredConnection[] {
  const groups = new Map<string, WireAccount[]>()
  for (const account of accounts) {
    const login = loginOf(account)
    if (login === null) throw malformed('an account names no authorisation')
    const group = groups.get(login)
    if (group === undefined) groups.set(login, [account])
    else group.push(account)
  }
  return [...groups].map(([login, group]) => toConnection(login, group, note))
}

function toConnection(
  login: string,
  accounts: readonly WireAccount[],
  note: Note,
): DiscoveredConnection {
  const institution = accounts[0]?.connection
  if (institution === undefined) throw new Error('a group of accounts is empty')
  return {
    upstreamId: upstreamId(login),
    institutionId: institution._id,
    institutionName: hideNumbers(institution.name, []),
    institutionLogo: institution.logo ?? null,
    status: isInactive(accounts) ? 'invalidated' : 'active',
    lastRefreshedAt: newestRefresh(accounts),
    accounts: accounts.map((account) => toAccount(account, note)),
  }
}

/** True when any account of the login is INACTIVE: the login must then be reconnected as a whole. */
export function isInactive(accounts: readonly WireAccount[]): boolean {
  return accounts.some((account) => account.status === 'INACTIVE')
}

/** The newest refresh time that Akahu gives; null when it gives none. */
export function newestRefresh(accounts: readonly WireAccount[]): string | null {
  let newest: Micros | null = null
  for (const { refreshed } of accounts) {
    for (const stamp of [refreshed?.balance, refreshed?.transactions, refreshed?.meta]) {
      const at = typeof stamp === 'string' ? parseInstant(stamp) : null
      if (at !== null && (newest === null || at > newest)) newest = at
    }
  }
  return newest === null ? null : toIso(toMillis(newest))
}

function toAccount(account: WireAccount, note: Note): DiscoveredAccount {
  const type = accountTypes.get(account.type)
  if (type === undefined) note('unknown account type')
  if (account.status !== 'ACTIVE' && account.status !== 'INACTIVE') note('unknown account status')
  const former = account._migrated ?? null
  const number = account.formatted_account ?? null
  const mask = maskNumber(number)
  return {
    upstreamId: upstreamId(account._id),
    previousUpstreamId: former === null ? null : upstreamId(former),
    name: hideNumbers(account.name, [{ number, mask }]),
    type: type ?? 'other',
    accountNumber: mask,
    currency: toCurrency(account, note),
  }
}

/** `xxxx` and the last four digits of the number; null without a number or with fewer digits. */
export function maskNumber(number: string | null): string | null {
  const digits = number?.replace(/[^0-9]/g, '') ?? ''
  return digits.length < 4 ? null : `xxxx${digits.slice(-4)}`
}

/** Null when absent. A code outside ISO 4217 (points of a loyalty scheme) becomes `XXX`: no currency. */
function toCurrency(account: WireAccount, note: Note): string | null {
  const sent = account.balance?.currency ?? null
  if (sent === null) return null
  const currency = parseCurrency(sent)
  if (currency === null) note('unknown currency')
  return currency ?? 'XXX'
}

/**
 * The balances of one account. All are null when the account has none, when a number cannot be read, or when
 * its login is INACTIVE: Akahu then keeps serving the last known numbers with 200, which are not current
 * (R20b).
 */
export function toBalance(account: WireAccount, ref: AccountRef, note: Note): Balance {
  const unknown = {
    accountId: ref.id,
    currentBalance: null,
    availableBalance: null,
    currency: null,
  }
  const { balance } = account
  if (!balance || account.status === 'INACTIVE') return unknown
  const currency = toCurrency(account, note) ?? ref.currency
  const currentBalance = readBalance(balance.current, currency)
  const isAbsent = balance.available === undefined || balance.available === null
  const availableBalance = isAbsent ? null : readBalance(balance.available, currency)
  if (currentBalance === null || (availableBalance === null && !isAbsent)) {
    // One unreadable number must not affect the balances of the request's other accounts.
    note('unreadable balance')
    return unknown
  }
  return { accountId: ref.id, currentBalance, availableBalance, currency }
}

function readBalance(value: unknown, currency: string): Decimal | null {
  const amount = readNumber(value)
  if (amount === null || fractionDigits(amount) <= maxBalanceDigits) return amount
  if (!hasMinorUnit(currency)) return roundSignificant(amount, exactFloatDigits)
  return roundHalfEven(amount, currencyDigits(currency))
}

/** Accepts text and number tokens, since both keep all digits. */
function readNumber(value: unknown): Decimal | null {
  if (value instanceof NumberText) return parseDecimal(value.source)
  return typeof value === 'string' ? parseDecimal(value) : null
}

/**
 * Maps a row of the window.
 * @throws UpstreamError `malformed` when id, date, amount or description cannot be read (reading R23).
 */
export function toTransaction(
  row: WireRow,
  account: AccountRef,
  readDate: (date: unknown) => RowDate | null,
  note: Note,
): Transaction {
  const { _id: id } = row
  if (typeof id !== 'string' || id === '') throw malformed('a transaction has no id')
  return toRow(row, { account, id, status: 'posted', readDate, note })
}

/** A pending or posted row. @throws UpstreamError `malformed` (reading R23). */
export function toRow(
  row: WireRow,
  shown: Pick<Transaction, 'id' | 'status'> & {
    readonly account: AccountRef
    readonly readDate: (date: unknown) => RowDate | null
    readonly note: Note
  },
): Transaction {
  const { account, id, status, readDate, note } = shown
  const { date, description } = row
  const found = readDate(date)
  const amount = readNumber(row.amount)
  if (typeof date !== 'string' || found === null) throw malformed('a transaction has no date')
  if (amount === null) throw malformed('the amount of a transaction is not a number')
  if (typeof description !== 'string') throw malformed('a transaction has no description')
  return {
    id,
    accountId: account.id,
    accountName: account.name,
    status,
    date: found.day,
    datetime: date,
    description,
    amount,
    direction: isNegative(amount) ? 'debit' : 'credit',
    category: toCategory(row, amount, note),
    merchantName: readText(row.merchant, 'name'),
    merchantCategoryCode: null,
  }
}

/** Akahu's `date` is that of the posting (reading R39); a stamp that means a day is no time. */
export function toSettling(row: WireRow, readDate: (date: unknown) => RowDate | null): RowSettling {
  const { date } = row
  const shown = readDate(date)
  if (typeof date !== 'string' || shown === null) throw malformed('a transaction has no date')
  const dates = {
    ...untoldDates,
    postDate: shown.day,
    postDatetime: isDayStamp(date) ? null : date,
  }
  return { dates, isForeign: isForeign(row) }
}

/** True when it was converted from another currency. */
export function isForeign(row: WireRow): boolean {
  const conversion = readField(row.meta, 'conversion')
  return conversion !== undefined && conversion !== null
}

function toCategory(row: WireRow, amount: Decimal, note: Note): Transaction['category'] {
  const { category } = row
  if (category === undefined || category === null) return fromType(row.type, amount)
  const code = readText(category, '_id')
  if (!isKnownCode(code)) note('unknown category')
  const group = readText(readField(readField(category, 'groups'), 'personal_finance'), 'name')
  return fromNzfcc({ code, group })
}

/** A text that is present and not empty, otherwise null. */
function readText(value: unknown, key: string): string | null {
  const found = readField(value, key)
  return typeof found === 'string' && found !== '' ? found : null
}
