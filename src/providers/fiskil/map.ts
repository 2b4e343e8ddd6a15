/**
 * Maps Fiskil's consents, accounts and balances (docs/providers/fiskil.md, Mapping): pure, no HTTP. Full
 * account numbers do not leave this file.
 */
import { z } from 'zod'
import type { AccountType, Balance, ConnectionStatus } from '#contract/resources.ts'
import { type Decimal, parseDecimal } from '#kernel/decimal.ts'
import { upstreamId } from '#kernel/ids.ts'
import { NumberText } from '#kernel/json.ts'
import { parseCurrency } from '#kernel/money.ts'
import {
  type Micros,
  type Millis,
  parseDay,
  parseInstant,
  toMicros,
  toMillis,
} from '#kernel/time.ts'
import { hideNumbers } from '../account-number.ts'
import type { AccountRef, DiscoveredAccount } from '../port.ts'
import { malformed } from './failures.ts'

const text = z.string().nullish()

export const Consent = z.object({
  arrangement_id: z.string().min(1),
  active: z.boolean(),
  created_at: text,
  // The auth session gives its expiry in seconds; the same form is accepted for a consent.
  expires_at: z.union([z.string(), z.number()]).nullish(),
  institution_id: z.string().min(1),
  institution_name: text,
  institution_logo: text,
  institution_type: text,
})
export type Consent = z.infer<typeof Consent>

export const FiskilAccount = z.object({
  account_id: z.string().min(1),
  arrangement_id: z.string().min(1),
  nickname: text,
  display_name: text,
  product_name: text,
  product_category: text,
  account_number: text,
  masked_number: text,
  bsb: text,
})
export type FiskilAccount = z.infer<typeof FiskilAccount>

/** Validates every row of a short list; throws `malformed` naming the place, never the value. */
export function readRows<Row>(
  schema: z.ZodType<Row>,
  rows: readonly unknown[],
  name: string,
): readonly Row[] {
  return rows.map((row, index) => {
    const parsed = schema.safeParse(row)
    if (parsed.success) return parsed.data
    const path = parsed.error.issues[0]?.path.join('.') ?? ''
    throw malformed(`${name}[${index}]${path === '' ? '' : `.${path}`} is not in the known form`)
  })
}

/**
 * The status of a connection from its consent: `invalidated` after its expiry, `revoked` when it was
 * withdrawn before. A consent without a readable expiry is judged by its activity alone, so that one bank's
 * odd date does not hide the others.
 */
export function toConnectionStatus(consent: Consent, nowMs: number): ConnectionStatus {
  const endsAt = readEnd(consent.expires_at)
  if (endsAt === null) return consent.active ? 'active' : 'invalidated'
  if (endsAt <= toMicros(nowMs)) return 'invalidated'
  return consent.active ? 'active' : 'revoked'
}

/** When the consent ends; null when it is not readable. */
export function toConsentEnd(consent: Consent): Millis | null {
  const end = readEnd(consent.expires_at)
  const ms = end === null ? Number.NaN : toMillis(end)
  // Beyond that no instant can be written.
  return Math.abs(ms) <= 8.64e15 ? ms : null
}

/** An RFC 3339 time, a plain day (its end in UTC) or seconds since the epoch; null for anything else. */
function readEnd(end: Consent['expires_at']): Micros | null {
  if (typeof end === 'number') return toMicros(end * 1000)
  if (end === undefined || end === null) return null
  const day = parseDay(end)
  return parseInstant(day === null ? end : `${day}T23:59:59Z`)
}

/** An account as it is stored. `currency` comes from its balance, because the account has none. */
export function toDiscoveredAccount(
  account: FiskilAccount,
  currency: string | null,
): DiscoveredAccount {
  const name = [account.nickname, account.display_name, account.product_name].find(isFilled)
  const { account_number: number, masked_number: masked, bsb } = account
  const mask = maskNumber(account)
  const assumed = [
    ...(name === undefined ? (['name'] as const) : []),
    ...(isFilled(account.product_category) ? [] : (['type'] as const)),
  ]
  return {
    upstreamId: upstreamId(account.account_id),
    previousUpstreamId: null,
    name: hideNumbers(name ?? 'Account', [
      { number: `${bsb ?? ''} ${number ?? ''}`, mask },
      { number, mask },
      { number: masked, mask },
      { number: bsb, mask: null },
    ]),
    type: toAccountType(account),
    accountNumber: mask,
    currency,
    ...(assumed.length === 0 ? {} : { assumed }),
  }
}

const loans: ReadonlySet<string> = new Set([
  'RESIDENTIAL_MORTGAGES',
  'PERS_LOANS',
  'BUSINESS_LOANS',
  'MARGIN_LOANS',
  'OVERDRAFTS',
  'LEASES',
  'TRADE_FINANCE',
  'BUY_NOW_PAY_LATER',
])

/** CDR has one category for everyday and savings accounts; distinguishing them by name is our own rule. */
export function toAccountType(account: FiskilAccount): AccountType {
  const category = account.product_category ?? ''
  if (category === 'TRANS_AND_SAVINGS_ACCOUNTS') {
    const names = [account.nickname, account.display_name, account.product_name]
    return names.some((name) => /saver|saving|goal|bonus/i.test(name ?? ''))
      ? 'savings'
      : 'transaction'
  }
  if (category === 'TERM_DEPOSITS') return 'term-deposit'
  if (category === 'CRED_AND_CHRG_CARDS') return 'credit-card'
  if (category === 'TRAVEL_CARDS') return 'transaction'
  return loans.has(category) ? 'loan' : 'other'
}

/**
 * `xxxx` and the last four digits of the account's number, otherwise of its masked number; null with fewer
 * digits. Of a masked number only digits after its last mask character count, because earlier ones are not
 * the last digits.
 */
export function maskNumber(
  account: Pick<FiskilAccount, 'account_number' | 'masked_number'>,
): string | null {
  const digits = (account.account_number ?? '').replace(/\D/g, '')
  const masked = (account.masked_number ?? '').replace(/[\s-]/g, '')
  const last = (digits === '' ? masked : digits).match(/\d{4}$/)
  return last === null ? null : `xxxx${last[0]}`
}

/**
 * The balance of one account. A row with an unreadable amount gives three nulls, as if the call for this
 * account alone had failed, so that the other accounts are not affected.
 * @param row parsed with numbers as text.
 */
export function toBalance(row: Readonly<Record<string, unknown>>, account: AccountRef): Balance {
  const current = readAmount(row.current_balance)
  const available = readAmount(row.available_balance)
  if (current === undefined || available === undefined) {
    return { accountId: account.id, currentBalance: null, availableBalance: null, currency: null }
  }
  return {
    accountId: account.id,
    currentBalance: current,
    availableBalance: available,
    currency: readCurrency(row.currency) ?? account.currency,
  }
}

/** Decimal text or the source text of a JSON number; null when absent, undefined when unreadable. */
export function readAmount(value: unknown): Decimal | null | undefined {
  if (value === null || value === undefined) return null
  if (value instanceof NumberText) return parseDecimal(value.source) ?? undefined
  return typeof value === 'string' ? (parseDecimal(value) ?? undefined) : undefined
}

/** An ISO 4217 code, or null when absent or unreadable. */
export function readCurrency(value: unknown): string | null {
  return typeof value === 'string' ? parseCurrency(value) : null
}

/** True for a text that is present and not blank. */
export function isFilled(value: string | null | undefined): value is string {
  return value !== null && value !== undefined && value.trim() !== ''
}
