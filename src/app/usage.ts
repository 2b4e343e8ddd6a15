/** Counts requests, and assembles the reports of counts and of limits for the pages and for the admin API. */
import type { Agents } from '#auth/oauth/port.ts'
import type { GateLimits } from '#gate/gate.ts'
import { startPeriodic } from '#jobs/periodic.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Config } from '#settings/compose.ts'
import type { ReadRecord, SimplefinRecord } from '#telemetry/request-record.ts'
import { makeUsageCounts } from '#usage/counts.ts'
import { makeReadLimits, type ReadLimits } from '#usage/limits-left.ts'
import { makeReadUsage, type ReadUsage } from '#usage/report.ts'
import type { AssemblyOptions } from './foundation.ts'

export function toGateLimits({ limits, requestTimeoutMs }: Config): GateLimits {
  const { cheap, mid, heavy, heavyInFlight: concurrency } = limits
  return { buckets: { cheap, mid, heavy }, concurrency, requestTimeoutMs }
}

/** Records every request in the log and the metrics, and in the counts of its user. */
export function startCounting({ store, clock, reports }: AssemblyOptions) {
  const usage = makeUsageCounts({
    store,
    clock,
    onDropped: (requests) =>
      reports.backgroundFailure(
        'usage-dropped',
        new Error(
          `${requests} requests were not counted: too many keys and agents waited to be written`,
        ),
      ),
  })
  const flushing = startPeriodic(usage.task, reports.jobs)
  return {
    observe(record: ReadRecord) {
      reports.request(record)
      usage.count(record)
    },
    observeSimplefin(record: SimplefinRecord) {
      reports.simplefin(record)
      usage.count({ ...record, operation: null })
    },
    settle: usage.settle,
    async close() {
      await flushing.stop()
      await usage.flush().catch((error) => reports.backgroundFailure('usage-flush', error))
    },
  }
}

/** @param settle writes what this process has counted of a user; null: this process counts nothing. */
export function makeAppUsage(
  { store, clock, reports }: AssemblyOptions,
  {
    settle,
    agents,
  }: { readonly settle: ((userId: UserId) => Promise<void>) | null; readonly agents: Agents },
): ReadUsage {
  const onFailure = (error: unknown) => reports.backgroundFailure('usage-flush', error)
  return makeReadUsage({ store, agents, clock, settle, onFailure })
}

export function makeAppLimits(options: AssemblyOptions, agents: Agents): ReadLimits {
  return makeReadLimits({ ...options, agents, limits: toGateLimits(options.config) })
}
