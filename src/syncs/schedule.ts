/**
 * When a connection is synced next, whether that run reads rows, and how far back it reads them (readings
 * R34a, R34b). Pure: the current time and the random numbers are passed in.
 */

import { maxRetryAfterSeconds } from '#kernel/retry-after.ts'
import { clockDriftMs, dayMs, hourMs, type Millis, minuteMs } from '#kernel/time.ts'
import type { SyncReason } from '#store/ports/syncs.ts'

/**
 * Reading R34a: the look-back of a first sync, and the minimum of later ones unless the provider's facts name
 * another (`laterLookBackDays`).
 */
const lookBackDays = 90
/** Rows may arrive or change this long after their day (docs/providers/akahu.md, Mapping). */
const lateDays = 14
/** Contract, Limits: history depth. */
const maxYears = 7

/** A failed run is repeated after a minute, then after twice as long each time, up to a day. */
const firstRetryMs = minuteMs
const maxRetryMs = dayMs

/** The share by which an interval is made longer or shorter. */
const jitter = 0.1

/** `random` returns numbers from 0 up to 1. */
export interface Timing {
  readonly now: Millis
  readonly random: () => number
}

/** What is known of a connection's rows. */
export interface RowsKnown {
  /** When they were last read in full; null: never. */
  readonly rowsReadAt: Millis | null
  /** The instant from which the ledger has every row; null: it has none yet. */
  readonly ledgerFrom: Millis | null
}

/**
 * Whether a run reads rows. A run requested by an operator, a webhook or a new link always does; a scheduled
 * run only when the provider's rate of scheduled reads allows it (`scheduledReadHours` of its facts), or when
 * there is no ledger yet.
 */
export function isReadingRows(
  sync: RowsKnown & { readonly reason: SyncReason },
  rules: { readonly now: number; readonly scheduledReadHours: number | null },
): boolean {
  if (sync.reason !== 'schedule' || sync.ledgerFrom === null) return true
  // A read that lies ahead was dated by a clock that has been corrected since.
  if (sync.rowsReadAt !== null && sync.rowsReadAt > rules.now + clockDriftMs) return true
  const dueAt = rowsDueAt(sync.rowsReadAt, rules.scheduledReadHours)
  return dueAt === null || dueAt <= rules.now
}

/** When the schedule may read rows again; null: at every run. */
function rowsDueAt(rowsReadAt: number | null, scheduledReadHours: number | null): number | null {
  if (rowsReadAt === null || scheduledReadHours === null) return null
  return rowsReadAt + scheduledReadHours * hourMs
}

/** The longest time between a run and the due time of the next one. */
export function longestSyncWaitMs(intervalMinutes: number): number {
  return Math.max(
    intervalMinutes * minuteMs * (1 + jitter),
    maxRetryMs,
    maxRetryAfterSeconds * 1000,
  )
}

/**
 * One interval later, with a jitter of a tenth in both directions, so that connections that were linked
 * together are not always synced together. If the schedule may read rows again earlier, the run is due then.
 */
export function dueAfterSuccess(
  { now, random }: Timing,
  rules: {
    readonly intervalMinutes: number
    readonly rowsReadAt: Millis | null
    readonly scheduledReadHours: number | null
  },
): number {
  const due =
    now + Math.round(rules.intervalMinutes * minuteMs * (1 - jitter + 2 * jitter * random()))
  const rowsDue = rowsDueAt(rules.rowsReadAt, rules.scheduledReadHours)
  return rowsDue !== null && rowsDue > now ? Math.min(due, rowsDue) : due
}

/**
 * The wait doubles with every failure, with a jitter between half and all of it; never before the provider's
 * `Retry-After`.
 * @param failures consecutive failed runs, including this one.
 */
export function dueAfterFailure(
  { now, random }: Timing,
  failed: { readonly failures: number; readonly retryAfterSeconds: number | null },
): number {
  const doublings = Math.min(Math.max(failed.failures, 1) - 1, 30)
  const wait = Math.min(firstRetryMs * 2 ** doublings, maxRetryMs)
  const jittered = Math.round(wait * (0.5 + 0.5 * random()))
  return now + Math.max(jittered, Math.ceil((failed.retryAfterSeconds ?? 0) * 1000))
}

/**
 * The instant from which rows are read: 90 days back, in later runs `laterDays`. It is earlier when the
 * last read is so long ago that late rows would be missed; never before the start of the ledger (earlier
 * rows would count as new), at most seven years.
 */
export function lookBackFrom(
  now: number,
  { rowsReadAt, ledgerFrom }: RowsKnown,
  laterDays = lookBackDays,
): number {
  if (ledgerFrom === null) return firstLookBackFrom(now)
  const usual = now - laterDays * dayMs
  const late = rowsReadAt === null ? usual : rowsReadAt - lateDays * dayMs
  return Math.max(Math.min(usual, late), ledgerFrom, yearsBefore(now))
}

/** The instant from which a first sync reads rows. */
export const firstLookBackFrom = (now: number): number => now - lookBackDays * dayMs

function yearsBefore(now: number): number {
  const at = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO('UTC')
  return at.subtract({ years: maxYears }).epochMilliseconds
}
