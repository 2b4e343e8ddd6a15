/**
 * What is known of a bank's row besides what every caller sees: the fields of events, and what
 * `includePending` adds (reading R39). Types alone.
 */
import type { Transaction } from '#contract/resources.ts'
import type { Micros } from '#kernel/time.ts'
import type { DataAge } from './data-age.ts'

/** The fields of a transaction that only events contain (contract, Events). */
export interface TransactionDetails {
  /** The currency of the amount, as ISO 4217 writes it. */
  readonly currency: string
  /** The provider's kind of transaction, lower case with `_` between words. */
  readonly class: string
  /** ISO 8601, as sent. */
  readonly transactionDate: string
  /** ISO 8601, as sent. */
  readonly postDate: string
  readonly reference: string | null
  /** The bank may send another one at every read: that changes no row (reading R37). */
  readonly isReferenceUnstable?: true
  readonly extendedDescription: string | null
  /** The id it had before the provider moved its account, if it did (Akahu `_migrated`). */
  readonly formerId: string | null
}

/** When a row was posted, and from when on it counts; null where the provider does not tell. */
export interface RowDates {
  /** The day in the user's zone; a day that was told alone is never shifted (reading R16a). */
  readonly postDate: string | null
  /** As sent; null where only a day is told. */
  readonly postDatetime: string | null
  readonly valueDate: string | null
  readonly valueDatetime: string | null
}

/** In what pending and posted rows differ when they are mapped. */
export type RowFrame = Pick<Transaction, 'status' | 'date' | 'datetime'>

/** What a posted row has with `includePending` besides. */
export interface RowSettling {
  readonly dates: RowDates
  /** An amount in another currency stands behind it: it may have been pending with another amount. */
  readonly isForeign?: boolean
  /** The key of the pending row that it replaced, where the provider says so. */
  readonly replaces?: string | null
}

/** A row that has not been posted yet. */
export interface PendingRow {
  /** What it is known by in its account while it stays the same: the provider's id, or all of its content. */
  readonly key: string
  /** The reader assigns the id; a `date` of a row without a time is replaced. */
  readonly row: Transaction
  /** Null: the provider tells no time of it, and it counts from when it was first seen. */
  readonly time: Micros | null
  readonly dates: RowDates
  readonly isForeign: boolean
  readonly details: PendingDetails
}

/** The fields that only events contain, as far as they are known of a pending row. */
export type PendingDetails = Pick<
  TransactionDetails,
  'currency' | 'class' | 'reference' | 'extendedDescription'
>

/** All pending rows of the accounts that were asked for, in any order. */
export interface PendingReading {
  readonly rows: readonly PendingRow[]
  /** Absent: they were read for this query just now. */
  readonly age?: DataAge
}

export const untoldDates: RowDates = {
  postDate: null,
  postDatetime: null,
  valueDate: null,
  valueDatetime: null,
}
