/**
 * What a user has asked for in the last days: by day, by operation, by key and agent, by result. The page and
 * the admin API show this one report, so that their numbers agree.
 */
import { timezoneOf } from '#auth/caller.ts'
import type { UsageDoor, UsageOperation, UsageResult } from '#contract/usage.ts'
import type { UserId } from '#kernel/ids.ts'
import { addDays, type Clock, dayMs, getZone, toMicros } from '#kernel/time.ts'
import type { UsageCount, UsageStore } from '#store/ports/usage.ts'
import { type NamedReader, nameReaders, type ReaderNames } from './readers.ts'

export type UsageResults = Readonly<Record<UsageResult, number>>

interface Counted {
  readonly requests: number
  readonly results: UsageResults
}

export interface UsageReport extends Counted {
  /** IANA name of the zone whose days these are. */
  readonly timezone: string
  /** The first and the last day, `YYYY-MM-DD`. */
  readonly from: string
  readonly to: string
  /** Every day of the range, the oldest first. */
  readonly days: readonly (Counted & { readonly day: string })[]
  /** Those that were asked for, the most frequent first. */
  readonly operations: readonly (Counted & {
    readonly door: UsageDoor
    readonly operation: UsageOperation
  })[]
  /** Who asked, the most frequent first, each with what it asked for. */
  readonly readers: readonly (Counted &
    NamedReader & {
      readonly operations: readonly (Counted & { readonly operation: UsageOperation })[]
    })[]
}

/** @param days how many days, today included. */
export type ReadUsage = (
  user: { readonly id: UserId; readonly timezone: string | null },
  days: number,
) => Promise<UsageReport>

export interface UsageReportOptions {
  readonly store: ReaderNames['store'] & {
    readonly usage: Pick<UsageStore, 'list' | 'listReaders'>
  }
  readonly agents: ReaderNames['agents']
  readonly clock: Clock
  /** Writes what this process has counted of a user; null: this process counts nothing. */
  readonly settle: ((userId: UserId) => Promise<void>) | null
  /** The counts could not be written; the report is then up to ten seconds behind, or more. */
  readonly onFailure: (error: unknown) => void
}

/** Makes the reader. Requests of other processes are in it ten seconds later. */
export function makeReadUsage({
  store,
  agents,
  clock,
  settle,
  onFailure,
}: UsageReportOptions): ReadUsage {
  return async ({ id, timezone }, days) => {
    await settle?.(id).catch(onFailure)
    const zone = timezoneOf(timezone)
    const to = getZone(zone).dayOf(toMicros(clock.now()))
    const from = addDays(to, 1 - days)
    const first = toNumber(from)
    const last = toNumber(to)
    // Counted in a zone whose day had begun already, before the user chose another one: they count to today.
    const rows = (await store.usage.list(id, first)).map((row) =>
      row.day > last ? { ...row, day: last } : row,
    )
    return {
      timezone: zone,
      from,
      to,
      ...sum(rows),
      days: Array.from({ length: days }, (_, at) => ({
        day: addDays(from, at),
        ...sum(rows.filter(({ day }) => day === first + at)),
      })),
      operations: [...Map.groupBy(rows, ({ door, operation }) => `${door} ${operation}`).values()]
        .flatMap((group) => {
          const [one] = group
          return one === undefined
            ? []
            : [{ door: one.door, operation: one.operation, ...sum(group) }]
        })
        .sort(mostFirst),
      readers: toReaders(
        await nameReaders({ store, agents }, id, await store.usage.listReaders(id, first)),
      ),
    }
  }
}

function toReaders(readers: Awaited<ReturnType<typeof nameReaders>>): UsageReport['readers'] {
  return readers
    .map(({ reader, counts }) => ({
      ...reader,
      ...sum(counts),
      operations: [...Map.groupBy(counts, ({ operation }) => operation)]
        .map(([operation, own]) => ({ operation, ...sum(own) }))
        .sort(mostFirst),
    }))
    .sort(mostFirst)
}

const mostFirst = (one: Counted, other: Counted) => other.requests - one.requests

const toNumber = (day: string) => Math.round(Date.parse(day) / dayMs)

const none = {
  HIT: 0,
  MISS: 0,
  BYPASS: 0,
  limited: 0,
  refused: 0,
  failed: 0,
  disconnected: 0,
} as const satisfies UsageResults

function sum(rows: readonly Pick<UsageCount, 'result' | 'requests'>[]): Counted {
  const results: Record<UsageResult, number> = { ...none }
  let requests = 0
  for (const row of rows) {
    results[row.result] += row.requests
    requests += row.requests
  }
  return { requests, results }
}
