/**
 * The people of the Akahu emulator as plain, mutable data: tests and the sandbox command add rows, flip a
 * login to INACTIVE, revoke a token or move an account by changing it. Who is in it is decided in `demo.ts`.
 */
import { type Clock, dayMs, getZone, toMicros } from '#kernel/time.ts'
import type { RowFaults } from '../row-faults.ts'
import type { PersonalApp } from './personal-app.ts'

export interface AkahuInstitution {
  readonly _id: string
  readonly name: string
  readonly logo: string
  readonly connection_type: 'classic' | 'official'
}

/** A transaction in Akahu's own shape, except that numbers are the text of their JSON token. */
export interface AkahuRow {
  _id: string
  _migrated?: string
  _migrated_account?: string
  created_at: string
  updated_at: string
  date: string
  description: string
  amount: string
  balance?: string
  type: string
  merchant?: { _id: string; name: string; website?: string }
  category?: {
    _id: string
    name: string
    groups: { personal_finance: { _id: string; name: string } }
  }
  meta?: Record<string, unknown>
  /** Pending from then on, until `date`; absent: seen when it is posted. */
  seenFrom?: string
  /**
   * Overrides fields of the row as it is sent, to make it invalid in any way; `undefined` removes a field.
   */
  overrides?: Record<string, unknown>
}

export interface AkahuAccount {
  _id: string
  /** The id it had before it was moved to an official connection. */
  _migrated?: string
  _authorisation?: string
  /** The login in older data, which has no `_authorisation`. */
  _credentials?: string
  connection: AkahuInstitution
  name: string
  status: 'ACTIVE' | 'INACTIVE'
  formatted_account?: string
  type: string
  attributes: string[]
  balance: { currency: string; current: string; available?: string; limit?: string } | null
  refreshed: { balance?: string; meta?: string; transactions?: string; party?: string }
  /** In no particular order; sent newest first. */
  rows: AkahuRow[]
  pending: Omit<AkahuRow, '_id'>[]
  /** Generates the rows of new days; absent: the account gets no rows. */
  readonly growth?: AccountGrowth
}

/** How an account gets the rows of a day, and up to which day it has them. */
export interface AccountGrowth {
  through: string
  grow(account: AkahuAccount, day: string): void
}

export interface AkahuPerson extends RowFaults {
  readonly user: { _id: string; email?: string; preferred_name?: string; access_granted_at: string }
  /** For the full app. Null once the whole token was revoked: every user endpoint answers 401. */
  userToken: string | null
  /** The app that the person made for themselves; it shows the same accounts. */
  readonly personal: PersonalApp
  accounts: AkahuAccount[]
  /** The app's enrichment permission: without it rows have no merchant and no category. */
  enriched: boolean
  /** After this number of pages (1 or more) an empty one with a cursor follows; null: never. */
  emptyPageEvery: number | null
}

export const newZealand = getZone('Pacific/Auckland')
/** After a longer pause only the last days are generated. */
const maxDaysAtOnce = 4_000

/** The day in New Zealand at this moment. */
export function todayIn(clock: Clock): string {
  return newZealand.dayOf(toMicros(clock.now()))
}

/** Every day after `after` up to and including `until`, at most 4,000 of them. */
function daysAfter(after: string, until: string): string[] {
  const first = Date.parse(after) + dayMs
  const last = Date.parse(until)
  const days: string[] = []
  for (let ms = Math.max(first, last - maxDaysAtOnce * dayMs); ms <= last; ms += dayMs) {
    days.push(new Date(ms).toISOString().slice(0, 10))
  }
  return days
}

/** Adds the rows of the days since the last call, as Akahu's daily refresh would. */
export function bringUpToDate(accounts: readonly AkahuAccount[], clock: Clock): void {
  const today = todayIn(clock)
  for (const account of accounts) {
    const { growth } = account
    if (growth === undefined || account.status === 'INACTIVE' || growth.through >= today) continue
    for (const day of daysAfter(growth.through, today)) growth.grow(account, day)
    growth.through = today
    // Akahu refreshes shortly after the day begins; for a broken login the timestamps do not change.
    const refreshed = new Date(newZealand.startOfDay(today) / 1000).toISOString()
    account.refreshed = { balance: refreshed, meta: refreshed, transactions: refreshed }
    for (const row of account.pending) row.date = row.updated_at = row.created_at = refreshed
  }
}

/** The login an account belongs to: one authorisation at one institution. */
export function loginOf(account: AkahuAccount): string | undefined {
  return account._authorisation ?? account._credentials
}

/**
 * Moves an account to an official open-banking connection: it and its transactions get new ids, the former
 * ones stay as `_migrated`, and the old account id is gone (404).
 */
export function migrateAccount(account: AkahuAccount, official: AkahuInstitution): void {
  const former = account._id
  account._migrated = former
  account._id = `${former}_official`
  account.connection = official
  for (const row of account.rows) {
    row._migrated = row._id
    row._id = `${row._id}_official`
    row._migrated_account = former
  }
}
