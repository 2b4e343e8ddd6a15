/**
 * Which days are read for a window of instants. A row is shown by its midday (kernel/midday.ts), so the days
 * read are one more on each side, and the rows are filtered by their midday: windows that join show each row
 * once.
 */
import { addDays, getZone, toMicros } from '#kernel/time.ts'

export interface DaysToRead {
  /** `YYYY-MM-DD`; null: as the API decides, 30 days back or until now. */
  readonly from: string | null
  readonly to: string | null
}

/** The contract's history, `from_too_old`. */
const maxYears = 7
/** No calendar of a client goes further. */
const maxSeconds = 8e9

/** Null: no row can be in the window, and nothing is read. */
export function toDays(
  { start, end }: { readonly start: number | null; readonly end: number | null },
  { zone, now }: { readonly zone: string; readonly now: number },
): DaysToRead | null {
  const today = getZone(zone).dayOf(toMicros(now))
  const oldest = Temporal.PlainDate.from(today).subtract({ years: maxYears }).toString()
  const toDay = (seconds: number) =>
    getZone(zone).dayOf(toMicros(Math.max(-maxSeconds, Math.min(maxSeconds, seconds)) * 1000))
  const first = start === null ? null : addDays(toDay(start), -1)
  const last = end === null ? today : addDays(toDay(end), 1)
  if (start !== null && end !== null && start >= end) return null
  if (last < oldest || (first !== null && first > today)) return null
  // Without an end the answer is the same query all day long, so that one reading serves every poll.
  const to = last >= today ? null : last
  if (first === null) return { from: null, to }
  return { from: first < oldest ? oldest : first, to }
}
