/**
 * From Akahu's shapes to the contract's: accounts, connections, balances and transactions. Pure: no I/O, no clock.
 * Amounts are text from wire to wire; a full account number goes in and only its last four digits come out.
 */
import type { AccountType, Balance, Transaction } from '#contract/resources.ts'
import {
  type Decimal,
  fractionDigits,
  isNegative,
  parseDecimal,
  roundHalfEven,
} from '#kernel/decimal.ts'
import { upstreamId } from '#kernel/ids.ts'
import { NumberText } from '#kernel/json.ts'
import { currencyDigits, parseCurrency } from '#kernel/money.ts'
import { type Micros, parseInstant, toIso } from '#kernel/time.ts'
import { hideNumber } from '../account-number.ts'
import type { AccountRef, DiscoveredAccount, DiscoveredConnection } from '../port.ts'
import { loginOf, type WireAccount } from './accounts.ts'
import { fromNzfcc, fromType, isKnownCode } from './categories.ts'
import type { RowDate } from './dates.ts'
import { malformed } from './refusals.ts'

/** Counts a value that the known lists do not have; the row itself is never passed on. */
export type Note = (what: string) => void

/** A transaction as parsed: its `amount` is text or a NumberText, whatever else stays unchecked until it is used. */
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

/** Reading R24: more fraction digits than this in a balance are the noise of binary floats. */
const maxBalanceDigits = 6

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
    institutionName: institution.name,
    institutionLogo: institution.logo ?? null,
    status: isInactive(accounts) ? 'invalidated' : 'active',
    lastRefreshedAt: newestRefresh(accounts),
    accounts: accounts.map((account) => toAccount(account, note)),
  }
}

/** A login is one: a single account that needs its user asks for reconnection of all. */
export function isInactive(accounts: readonly WireAccount[]): boolean {
  return accounts.some((account) => account.status === 'INACTIVE')
}

function newestRefresh(accounts: readonly WireAccount[]): string | null {
  let newest: Micros | null = null
  for (const { refreshed } of accounts) {
    for (const stamp of [refreshed?.balance, refreshed?.transactions, refreshed?.meta]) {
      const at = typeof stamp === 'string' ? parseInstant(stamp) : null
      if (at !== null && (newest === null || at > newest)) newest = at
    }
  }
  return newest === null ? null : toIso(Math.floor(newest / 1000))
}

function toAccount(account: WireAccount, note: Note): DiscoveredAccount {
  const type = accountTypes.get(account.type)
  if (type === undefined) note('unknown account type')
  if (account.status !== 'ACTIVE' && account.status !== 'INACTIVE') note('unknown account status')
  const former = account._migrated ?? null
  return {
    upstreamId: upstreamId(account._id),
    previousUpstreamId: former === null ? null : upstreamId(former),
    name: hideNumber(
      account.name,
      account.formatted_account ?? '',
      maskNumber(account.formatted_account ?? null),
    ),
    type: type ?? 'other',
    accountNumber: maskNumber(account.formatted_account ?? null),
    currency: toCurrency(account, note),
  }
}

/** `xxxx` and the last four digits of all digits taken together; null without a number or with fewer digits. */
export function maskNumber(number: string | null): string | null {
  const digits = number?.replace(/[^0-9]/g, '') ?? ''
  return digits.length < 4 ? null : `xxxx${digits.slice(-4)}`
}

/** Reading R24b: none is NZD. What is no ISO code (points of a loyalty scheme) is `XXX`, "no currency" of ISO 4217. */
function toCurrency(account: WireAccount, note: Note): string {
  const sent = account.balance?.currency ?? null
  if (sent === null) return 'NZD'
  const currency = parseCurrency(sent)
  if (currency === null) note('unknown currency')
  return currency ?? 'XXX'
}

/**
 * The balances of one account, all null when Akahu cannot tell: the account has none, its digits cannot be read, or its
 * login is INACTIVE (Akahu goes on serving the last known figures with 200, which are no balance of today; R20b).
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
  const currency = toCurrency(account, note)
  const currentBalance = readBalance(balance.current, currency)
  const isAbsent = balance.available === undefined || balance.available === null
  const availableBalance = isAbsent ? null : readBalance(balance.available, currency)
  if (currentBalance === null || (availableBalance === null && !isAbsent)) {
    // One unreadable figure must not cost the other accounts of the request their balances.
    note('unreadable balance')
    return unknown
  }
  return { accountId: ref.id, currentBalance, availableBalance, currency }
}

function readBalance(value: unknown, currency: string): Decimal | null {
  const amount = readNumber(value)
  if (amount === null || fractionDigits(amount) <= maxBalanceDigits) return amount
  return roundHalfEven(amount, currencyDigits(currency))
}

/** Text is taken as well as a number token: it has all its digits either way. */
function readNumber(value: unknown): Decimal | null {
  if (value instanceof NumberText) return parseDecimal(value.source)
  return typeof value === 'string' ? parseDecimal(value) : null
}

/**
 * A row of the window in the contract's shape.
 * @throws UpstreamError `malformed` when id, date, amount or description cannot be read (reading R23).
 */
export function toTransaction(
  row: WireRow,
  account: AccountRef,
  readDate: (date: unknown) => RowDate | null,
  note: Note,
): Transaction {
  const { _id: id, date, description } = row
  const shown = readDate(date)
  const amount = readNumber(row.amount)
  if (typeof id !== 'string' || id === '') throw malformed('a transaction has no id')
  if (typeof date !== 'string' || shown === null) throw malformed('a transaction has no date')
  if (amount === null) throw malformed('the amount of a transaction is no number')
  if (typeof description !== 'string') throw malformed('a transaction has no description')
  return {
    id,
    accountId: account.id,
    accountName: account.name,
    status: 'posted',
    date: shown.day,
    datetime: date,
    description,
    amount,
    direction: isNegative(amount) ? 'debit' : 'credit',
    category: toCategory(row, amount, note),
    merchantName: readText(row.merchant, 'name'),
    merchantCategoryCode: null,
  }
}

function toCategory(row: WireRow, amount: Decimal, note: Note): Transaction['category'] {
  const { category } = row
  if (category === undefined || category === null) return fromType(row.type, amount)
  const code = readText(category, '_id')
  if (!isKnownCode(code)) note('unknown category')
  const group = readText(readField(readField(category, 'groups'), 'personal_finance'), 'name')
  return fromNzfcc({ code, group })
}

function readField(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

/** A text that is there and not empty, else null. */
function readText(value: unknown, key: string): string | null {
  const found = readField(value, key)
  return typeof found === 'string' && found !== '' ? found : null
}
