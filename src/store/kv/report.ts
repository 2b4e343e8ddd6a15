/**
 * What fast state tells its operators: one line per change of state, one count per event. It never names a key, a user
 * or a value.
 */

/** A part of a logger like pino's. */
export interface KvLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export type KvConcern = 'cache' | 'windows' | 'leases' | 'breakers'

/** Feeds metrics; every method may be called on the path of a request. */
export interface KvMetrics {
  /** Redis came into use (`true`) or memory stands in for it (`false`). */
  shared(isShared: boolean): void
  /** One call was answered by memory (the cache: by `away`) because Redis was not there. */
  stoodIn(concern: KvConcern): void
  /** A cached value could not be opened: written with another key, or tampered with. It counts as a miss. */
  unreadable(): void
}

export interface KvReport {
  readonly log: KvLog
  readonly metrics: KvMetrics
}

/** Says nothing. */
export const silentLog: KvLog = { info() {}, warn() {} }

/** Counts nothing. */
export const silentMetrics: KvMetrics = { shared() {}, stoodIn() {}, unreadable() {} }
