/**
 * What fast state reports to operators: one log line per change of state, one count per event. A report never
 * contains a key, a user or a value.
 */
import type { JobReport } from '#jobs/periodic.ts'
import type { KvConnection } from './port.ts'

/** The part of a pino-like logger that is used. */
export interface KvLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export type KvConcern = 'cache' | 'snapshots' | 'windows' | 'leases' | 'breakers' | 'processes'

/** Feeds metrics; every method may be called while a request is handled. */
export interface KvMetrics {
  /** A Redis server came into use (`true`) or became unavailable (`false`). */
  shared(connection: KvConnection['name'], isShared: boolean): void
  /** A call used the fallback (the cache: `unavailable`) because Redis was unavailable. */
  fellBack(concern: KvConcern): void
  /** A value under one of our names cannot be read (another key or version, tampering): a miss. */
  unreadable(): void
}

export interface KvReport {
  readonly log: KvLog
  readonly metrics: KvMetrics
  /** Receives the results of the periodic tasks `kv-processes` and `kv-incarnation`. */
  readonly jobs: JobReport
}

/** Logs nothing. */
export const silentLog: KvLog = { info() {}, warn() {} }

/** Counts nothing. */
export const silentMetrics: KvMetrics = { shared() {}, fellBack() {}, unreadable() {} }

/** Ignores the results of the periodic tasks. */
export const silentJobs: JobReport = { done() {}, failed() {} }
