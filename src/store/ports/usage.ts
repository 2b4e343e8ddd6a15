/**
 * Counted requests in the store: per user, day, key or agent, door, operation and result a number, and
 * nothing else. No ids of accounts, no parameters.
 */
import type { UsageDoor, UsageOperation, UsageResult } from '#contract/usage.ts'
import type { UserId } from '#kernel/ids.ts'

interface Counted {
  readonly door: UsageDoor
  readonly operation: UsageOperation
  readonly result: UsageResult
  readonly requests: number
}

export interface UsageCount extends Counted {
  /** The day of the request in the user's zone, counted from 1970-01-01. */
  readonly day: number
}

export interface ReaderCount extends Counted {
  /** What limits are counted under (`Caller.bucketId`): the id of a key or a program, or an agent's grant. */
  readonly reader: string
}

export interface UsageRow extends UsageCount, ReaderCount {
  readonly userId: UserId
}

/** The largest number of keys and agents of one user and day that are counted apart. */
export const maxUsageReaders = 60

/** Those beyond it, in one. */
export const otherReaders = 'others'

/** Requests of before keys and agents were counted apart. */
export const readersBefore = 'before'

export interface UsageStore {
  /**
   * Adds to the counts, in one transaction; no two rows may have the same user, day, reader, door, operation
   * and result. Rows of users who are gone or being deleted are left out. A reader beyond `maxUsageReaders`
   * of its user and day is counted as `otherReaders`; processes that write at once may each exceed it once.
   */
  add(rows: readonly UsageRow[]): Promise<void>
  /** A user's counts from this day on by day, whoever read, in no order. */
  list(userId: UserId, fromDay: number): Promise<readonly UsageCount[]>
  /** The same counts by reader, whatever the day, in no order. */
  listReaders(userId: UserId, fromDay: number): Promise<readonly ReaderCount[]>
  /** Deletes at most `limit` counts of days before `beforeDay`. Returns how many. */
  sweep(beforeDay: number, limit: number): Promise<number>
}
