/**
 * Counted requests in the store: per user, day, door, operation and result a number, and nothing else. No ids
 * of accounts, no parameters.
 */
import type { UsageDoor, UsageOperation, UsageResult } from '#contract/usage.ts'
import type { UserId } from '#kernel/ids.ts'

export interface UsageCount {
  /** The day of the request in the user's zone, counted from 1970-01-01. */
  readonly day: number
  readonly door: UsageDoor
  readonly operation: UsageOperation
  readonly result: UsageResult
  readonly requests: number
}

export interface UsageRow extends UsageCount {
  readonly userId: UserId
}

export interface UsageStore {
  /**
   * Adds to the counts, in one transaction; no two rows may have the same user, day, door, operation and
   * result. Rows of users who are gone or being deleted are left out.
   */
  add(rows: readonly UsageRow[]): Promise<void>
  /** A user's counts from this day on, in no order. */
  list(userId: UserId, fromDay: number): Promise<readonly UsageCount[]>
  /** Deletes at most `limit` counts of days before `beforeDay`. Returns how many. */
  sweep(beforeDay: number, limit: number): Promise<number>
}
