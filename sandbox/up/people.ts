/**
 * The people of the Up emulator as plain, mutable data: tests and the sandbox commands add rows, end a token
 * or close an account by changing it. Who is in it is decided in `demo.ts`.
 */
import { type Clock, dayMs, getZone, toMicros } from '#kernel/time.ts'
import type { RowFaults } from '../row-faults.ts'

export interface UpRow {
  id: string
  /** Milliseconds since the epoch. */
  createdAt: number
  /** Held until then; equal to `createdAt`: never held; null: it never settles. */
  settlesAt: number | null
  /** Hidden before; absent: seen from `createdAt` on. */
  seenFrom?: number
  /** Deleted then: a hold that ended, whose payment has another id. */
  goneAt?: number
  /** Exact text, as settled. */
  amount: string
  /** Exact text while held, where it differs. */
  heldAmount?: string
  /** What it was in another currency. */
  foreign?: { readonly currency: string; readonly amount: string }
  description: string
  rawText: string | null
  message: string | null
  note: string | null
  transactionType: string | null
  /** Id of the category; its parent is known. */
  category: string | null
  /** Id of the own account on the other side. */
  transferAccount: string | null
  cardPurchase: boolean
  cashback?: { description: string; amount: string }
  roundUp?: { amount: string; boostPortion: string | null }
  performingCustomer?: string
  /** Overrides attributes as they are sent; `undefined` removes one. */
  overrides?: Record<string, unknown>
}

export interface UpAccount {
  id: string
  displayName: string
  accountType: 'TRANSACTIONAL' | 'SAVER' | 'HOME_LOAN'
  ownershipType: 'INDIVIDUAL' | 'JOINT'
  createdAt: number
  /** Exact text; the balance before the first row. */
  opening: string
  currency: string
  /** No longer listed; its rows stay in the list of all transactions. */
  isClosed: boolean
  /** In no particular order; sent newest first. */
  rows: UpRow[]
  /** Generates the rows of new days; absent: the account gets no rows. */
  growth?: AccountGrowth
}

/** How an account gets the rows of a day, and up to which day it has them. */
export interface AccountGrowth {
  through: string
  grow(account: UpAccount, day: string): void
}

export interface UpPerson extends RowFaults {
  /** The id that a ping answers. */
  readonly customerId: string
  /** Null once it has expired, was revoked or replaced: every call answers 401. */
  token: string | null
  /** A joint account is the same object with both of its owners. */
  accounts: UpAccount[]
}

export type UpPeople = Record<string, UpPerson>

export const melbourne = getZone('Australia/Melbourne')
/** After a longer pause only the last days are generated. */
const maxDaysAtOnce = 4_000

/** The day in Melbourne at this moment. */
export function todayIn(clock: Clock): string {
  return melbourne.dayOf(toMicros(clock.now()))
}

/** The token of the person of this name, of the form that Up gives. */
export function toToken(name: string): string {
  return `up:yeah:sandbox-${name.padEnd(24, '0')}`
}

/** Adds the rows of the days since the last call. */
export function bringUpToDate(accounts: readonly UpAccount[], clock: Clock): void {
  const today = todayIn(clock)
  for (const account of accounts) {
    const { growth } = account
    if (growth === undefined || growth.through >= today) continue
    for (const day of daysAfter(growth.through, today)) growth.grow(account, day)
    growth.through = today
  }
}

function daysAfter(after: string, until: string): string[] {
  const last = Date.parse(until)
  const first = Math.max(Date.parse(after) + dayMs, last - maxDaysAtOnce * dayMs)
  const days: string[] = []
  for (let ms = first; ms <= last; ms += dayMs) {
    days.push(new Date(ms).toISOString().slice(0, 10))
  }
  return days
}

/** HELD or SETTLED at this moment; null when Up does not show the row. */
export function statusAt(row: UpRow, now: number): 'HELD' | 'SETTLED' | null {
  if (now < (row.seenFrom ?? row.createdAt)) return null
  if (row.goneAt !== undefined && now >= row.goneAt) return null
  return row.settlesAt !== null && now >= row.settlesAt ? 'SETTLED' : 'HELD'
}

/** What a row takes from or adds to the available balance at this moment. */
export function amountAt(row: UpRow, now: number): string {
  return statusAt(row, now) === 'HELD' ? (row.heldAmount ?? row.amount) : row.amount
}
