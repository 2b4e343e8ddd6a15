/**
 * The resources of the contract in the shape of SimpleFIN, version 1 and 2 in one. Every field is there that
 * a client's own code demands (docs/recipes). Amounts keep their digits, with at least two decimals.
 */
import { categoryLabels } from '#contract/categories.ts'
import type { Account, Balance, Connection, Holding, Transaction } from '#contract/resources.ts'
import { type Decimal, fractionDigits, roundHalfEven, subtract } from '#kernel/decimal.ts'
import { currencyDigits, hasMinorUnit } from '#kernel/money.ts'
import { cleanText } from './problems.ts'

export interface Organization {
  readonly connection: Connection
  /** A second login at the same institution has a number. */
  readonly name: string
  readonly domain: string
}

/** Organizations in the order of the connections given. */
export function toOrganizations(
  connections: readonly Connection[],
): ReadonlyMap<string, Organization> {
  const oldestFirst = connections.toSorted(
    (one, other) => one.createdAt.localeCompare(other.createdAt) || one.id.localeCompare(other.id),
  )
  const counts = new Map<string, number>()
  const named = oldestFirst.map((connection): readonly [string, Organization] => {
    const name = cleanText(connection.institutionName)
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return [
      connection.id,
      { connection, name: count === 1 ? name : `${name} (${count})`, domain: toDomain(connection) },
    ]
  })
  return new Map(named)
}

/**
 * No web address of an institution is known, and clients tell institutions apart by their domain (RFC 2606).
 */
const toDomain = ({ provider, institutionId }: Connection) =>
  `${provider}-${institutionId.toLowerCase().replace(/[^a-z0-9-]+/g, '-')}.invalid`

export const toOrg = ({ connection, name, domain }: Organization, root: string) => ({
  domain,
  name,
  'sfin-url': root,
  id: connection.institutionId,
})

export const toSimplefinConnection = ({ connection, name }: Organization, root: string) => ({
  conn_id: connection.id,
  name,
  org_id: connection.institutionId,
  sfin_url: root,
})

/** Words by which a client guesses the type of an account from its name, and the word added without one. */
const typeWords: Readonly<Record<string, readonly [RegExp, string]>> = {
  'credit-card': [/credit|card|visa|amex/i, 'Credit Card'],
  loan: [/loan|mortgage/i, 'Loan'],
  savings: [/saving|saver/i, 'Savings'],
}

/** The names of all accounts of an answer: two that are equal have the last digits of their numbers too. */
export function nameAccounts(accounts: readonly Account[]): ReadonlyMap<string, string> {
  const plain = accounts.map(({ name, type }) => {
    const [words, added] = typeWords[type] ?? [/^/, '']
    const clean = cleanText(name)
    return words.test(clean) ? clean : `${clean} ${added}`
  })
  return new Map(
    accounts.map(({ id, accountNumber }, index) => {
      const name = plain[index] ?? ''
      const isShared = plain.filter((other) => other === name).length > 1
      return [id, isShared && accountNumber !== null ? `${name} ${accountNumber.slice(-4)}` : name]
    }),
  )
}

export function toSimplefinAccount(
  {
    account,
    name,
    balance,
    balanceAt,
  }: {
    readonly account: Account
    readonly name: string
    readonly balance: Pick<Balance, 'currentBalance' | 'availableBalance'> & {
      readonly currentBalance: Decimal
    }
    /** Epoch seconds. */
    readonly balanceAt: number
  },
  org: Organization,
  root: string,
) {
  return {
    org: toOrg(org, root),
    conn_id: org.connection.id,
    id: account.id,
    name,
    currency: account.currency,
    balance: toBalance(balance.currentBalance, account.currency),
    'available-balance': toBalance(
      balance.availableBalance ?? balance.currentBalance,
      account.currency,
    ),
    'balance-date': balanceAt,
  }
}

/** @param posted Epoch seconds: the midday of the row's day. */
export function toTransaction(row: Transaction, posted: number) {
  const extra = {
    ...(row.category === null
      ? {}
      : { category: categoryLabels.get(row.category) ?? row.category, category_key: row.category }),
    ...(row.datetime === null ? {} : { datetime: row.datetime }),
  }
  const { merchantCategoryCode } = row
  return {
    id: row.id,
    posted,
    transacted_at: posted,
    amount: toAmount(row.amount),
    description: cleanText(row.description),
    // A blank payee is what people see as an empty row.
    payee: cleanText(row.merchantName ?? row.description),
    memo: '',
    pending: false,
    ...(/^\d{4}$/.test(merchantCategoryCode ?? '') ? { mcc: merchantCategoryCode } : {}),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

export function toHolding(holding: Holding, value: Decimal, created: number) {
  const { averagePrice, quantity, unrealizedPnl } = holding
  return {
    id: holding.id,
    created,
    currency: holding.currency,
    // A total for some clients and a price for others: neither reads null.
    cost_basis: null,
    // One contract may stand for many units, which the profit knows.
    total_cost: unrealizedPnl === null ? null : toAmount(subtract(value, unrealizedPnl)),
    description: cleanText(holding.name ?? holding.symbol),
    market_value: toAmount(value),
    purchase_price: averagePrice === null ? null : toAmount(averagePrice),
    shares: quantity,
    symbol: holding.symbol,
  }
}

/**
 * A balance that is the value of units can have more decimals than its currency; the client that leaves the
 * point out would read a million times as much. Coins have no such number and keep their digits.
 */
function toBalance(amount: Decimal, currency: string): string {
  const places = decimalPlaces(currency)
  return places !== null && fractionDigits(amount) > places
    ? roundHalfEven(amount, places)
    : toAmount(amount)
}

/** The digits of ISO 4217, and two at least; null: it is no such currency. */
const decimalPlaces = (currency: string): number | null =>
  hasMinorUnit(currency) ? Math.max(2, currencyDigits(currency)) : null

/** At least two decimals: one client reads an amount by leaving its point out. */
export function toAmount(amount: Decimal): string {
  const digits = fractionDigits(amount)
  if (digits >= 2) return amount
  return digits === 0 ? `${amount}.00` : `${amount}0`
}
