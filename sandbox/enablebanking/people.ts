/**
 * The people of the Enable Banking emulator as plain, mutable data: each is a customer of one bank, whose
 * habits are those that real banks are known for. Who is in it is decided in `demo.ts`.
 */
import { hash } from 'node:crypto'
import { getZone, toMicros } from '#kernel/time.ts'
import type { RowFaults } from '../row-faults.ts'

export interface BankRow {
  /** The bank's own id; whether it is sent depends on the habit of the bank. */
  id: string
  /** Milliseconds since the epoch: the start of its day, or its noon. */
  bookedAt: number
  /** Pending (`PDNG`) until then; absent: it was booked at once. */
  settlesAt?: number
  /** Signed exact text. */
  amount: string
  currency?: string
  description: string
  payee?: string | null
  iban?: string
  mcc?: string | null
  /** Exact text; absent: not told. */
  balanceAfter?: string
  /** Sent as it is, in place of the amount. */
  amountText?: string
}

export interface BankAccount {
  /** Its identity over sessions. */
  hash: string
  /** Further hashes by which it may be known. */
  hashes?: string[]
  iban: string | null
  card?: string
  details: string | null
  product: string | null
  holder: string
  type: 'CACC' | 'CASH' | 'CARD' | 'LOAN' | 'SVGS' | 'OTHR'
  /** `XXX` where the bank tells none. */
  currency: string
  /** The currency of its balances and rows, where `currency` tells none. */
  moneyIn?: string
  /** Exact text; the balance before the first row. */
  opening: string
  /** The kinds of balances that are sent. */
  balances?: readonly string[]
  /** In no particular order. */
  rows: BankRow[]
  /** It is not linked in the control panel: listed without an id, and not readable. */
  isHidden?: boolean
}

/** What banks are known for. */
export interface BankHabits {
  /** Ids of rows: kept, none at all, new at each read, or the place in their day. */
  ids: 'kept' | 'none' | 'new' | 'positional'
  /** An empty page with a key comes after the first. */
  hasEmptyPage?: boolean
  /** How a period that is too long is refused. */
  period: 'usual' | 'bare' | 'detail'
  /** All of these are needed, or none. */
  requiredHeaders?: readonly string[]
}

export interface BankPerson extends RowFaults {
  readonly name: string
  readonly bank: { readonly name: string; readonly country: string }
  readonly habits: BankHabits
  accounts: BankAccount[]
  /** The bank asks for something at its own site. */
  needsAction?: boolean
  /** The consent has ended at the bank; `isSilent`: its session still says that it is authorised. */
  ended?: { readonly error: 'EXPIRED_SESSION' | 'REVOKED_SESSION'; readonly isSilent?: boolean }
}

export type BankPeople = Record<string, BankPerson>

export const utc = getZone('UTC')
export const dayMs = 86_400_000
export const dayOf = (ms: number): string => utc.dayOf(toMicros(ms))
export const startOf = (day: string): number => utc.startOfDay(day) / 1000
/** Noon of a day of UTC. */
export const noonOf = (day: string): number => utc.startOfDay(day) / 1000 + dayMs / 2

export function toUuid(name: string): string {
  const digits = hash('sha256', name)
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `4${digits.slice(13, 16)}`]
  return [...parts, `8${digits.slice(17, 20)}`, digits.slice(20, 32)].join('-')
}

/** As long as those of real banks. */
export function toIdentificationHash(name: string): string {
  const paths = Buffer.from(JSON.stringify([['account', 'account_id', 'iban']])).toString('base64')
  return `${paths}.${hash('sha256', `account ${name}`, 'base64')}`
}

/** The session that exists for a person of this name with this application. */
export const toSessionId = (applicationId: string, name: string): string =>
  toUuid(`session ${applicationId} ${name}`)

export const isPendingAt = ({ settlesAt }: BankRow, now: number): boolean =>
  settlesAt !== undefined && now < settlesAt
