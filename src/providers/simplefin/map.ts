/** Maps connections, accounts and balances to the contract's. Pure: no I/O, no clock. */
import type { AccountType, Balance } from '#contract/resources.ts'
import { type Decimal, parseDecimal } from '#kernel/decimal.ts'
import { upstreamId } from '#kernel/ids.ts'
import { parseCurrency } from '#kernel/money.ts'
import { type Millis, toIso } from '#kernel/time.ts'
import { hideNumbers } from '../account-number.ts'
import type { AccountRef, DiscoveredAccount, DiscoveredConnection } from '../port.ts'
import { cutText, longestName, toShownText } from '../shown-text.ts'
import type { AccountSet, Obstacle, WireAccount, WireConnection } from './account-set.ts'

/** Nothing is sent but a name: the first that fits (docs/providers/simplefin.md, Accounts). */
const typesByName: readonly (readonly [RegExp, AccountType])[] = [
  [/credit|visa|mastercard|amex|card/i, 'credit-card'],
  [/saving|money market/i, 'savings'],
  [/\bcd\b|certificate|term/i, 'term-deposit'],
  [/mortgage|loan|heloc|line of credit/i, 'loan'],
  [/\bira\b|401\(?k\)?|brokerage|invest|roth|\bhsa\b|\b529\b/i, 'investment'],
  [/checking|chequing|current/i, 'transaction'],
]

export function typeOf({ name, holdings }: WireAccount): AccountType {
  if ((holdings ?? []).length > 0) return 'investment'
  return typesByName.find(([pattern]) => pattern.test(name))?.[1] ?? 'other'
}

/** A currency may be an address that describes miles or points: it is never asked. */
export const currencyOf = ({ currency }: WireAccount): string => parseCurrency(currency) ?? 'XXX'

/** @param now a later time is that of a wrong clock. */
export function balanceTime({ 'balance-date': at }: WireAccount, now: Millis): Millis | null {
  return at === undefined || at === null || at <= 0 ? null : Math.min(at * 1000, now)
}

export function toConnections(set: AccountSet, now: Millis): readonly DiscoveredConnection[] {
  return set.connections.map((connection) => toConnection(set, connection, now))
}

function toConnection(
  set: AccountSet,
  { conn_id, org_id, name }: WireConnection,
  now: Millis,
): DiscoveredConnection {
  const own = set.accountsByConnection.get(conn_id) ?? []
  const obstacle = set.connectionObstacles.get(conn_id)
  const times = own.flatMap((account) => balanceTime(account, now) ?? [])
  return {
    upstreamId: upstreamId(conn_id),
    institutionId: org_id,
    institutionName: toName(name),
    institutionLogo: null,
    status: statusOf(obstacle),
    lastRefreshedAt: times.length === 0 ? null : toIso(Math.max(...times)),
    // While an error names the connection, a missing account is not a closed one.
    accounts: own.length === 0 && obstacle !== undefined ? null : own.map(toAccount),
  }
}

export const statusOf = (obstacle: Obstacle | undefined): 'active' | 'invalidated' =>
  obstacle === 'sign_in' ? 'invalidated' : 'active'

function toAccount(account: WireAccount): DiscoveredAccount {
  const digits = /(?<!\d)(\d{4})(?!\d)/.exec(account.name)?.[1]
  return {
    upstreamId: upstreamId(account.id),
    previousUpstreamId: null,
    name: toName(account.name),
    type: typeOf(account),
    accountNumber: digits === undefined ? null : `xxxx${digits}`,
    currency: currencyOf(account),
    assumed: ['type'],
  }
}

const toName = (text: string): string => cutText(hideNumbers(toShownText(text), []), longestName)

/** Signs pass as they come. One unreadable number must not affect the other balances of the request. */
export function toBalance(account: WireAccount, ref: AccountRef): Balance {
  const current = parseDecimal(account.balance)
  return {
    accountId: ref.id,
    currentBalance: current,
    availableBalance: current === null ? null : readOptional(account['available-balance']),
    currency: current === null ? null : currencyOf(account),
  }
}

const readOptional = (text: string | null | undefined): Decimal | null =>
  text === null || text === undefined ? null : parseDecimal(text)
