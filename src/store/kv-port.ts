/**
 * Fast state that may be lost without harm to anybody's rows: cached answers, rate windows, leases, breakers. One port,
 * two drivers: memory and Valkey/Redis. Every method may answer at once or later (`T | Promise<T>`), so that the
 * memory driver costs a cached answer no turn of the event loop. No method ever throws: when Redis is away, windows,
 * leases and breakers are kept in this process's memory and the cache says so.
 */

export type Maybe<T> = T | Promise<T>

/** A finished answer: final bytes and what its headers need. */
export interface CachedAnswer {
  readonly body: Uint8Array
  /** Goes into `X-Service-Truncated`. */
  readonly truncated: boolean
}

export type CacheLookup =
  | { readonly kind: 'hit'; readonly answer: CachedAnswer }
  | { readonly kind: 'miss' }
  /** The cache cannot be asked at present. */
  | { readonly kind: 'away' }

export interface CacheStore {
  get(key: string): Maybe<CacheLookup>
  /** Stores for `ttlMs`; false when it could not be stored (too large, away). Encrypted where it leaves the process. */
  set(key: string, answer: CachedAnswer, ttlMs: number): Maybe<boolean>
}

export interface WindowState {
  readonly allowed: boolean
  readonly limit: number
  /** Never below zero. */
  readonly remaining: number
  /** Milliseconds until the window ends. */
  readonly resetMs: number
}

/** Fixed windows that start with the first request counted in them (reading R7). A limit of 0 is no limit. */
export interface WindowStore {
  /** Counts one. A refused one is not counted further. */
  take(key: string, limit: number, windowMs: number): Maybe<WindowState>
  /** Gives one back (the pre-auth reservation of a good key, reading R6). */
  giveBack(key: string, limit: number, windowMs: number): Maybe<void>
  /** Looks without counting. */
  peek(key: string, limit: number, windowMs: number): Maybe<WindowState>
}

/** A place among those in flight; released by its owner, or by expiry when the process died. */
export interface Lease {
  release(): Maybe<void>
}

export interface LeaseStore {
  /** Null when all `limit` places are taken; then `retryMs` is the time until one may be free. 0 is no limit. */
  acquire(
    key: string,
    limit: number,
  ): Maybe<{ readonly lease: Lease } | { readonly lease: null; readonly retryMs: number }>
}

export type BreakerState =
  | { readonly kind: 'closed' }
  /** This request is the one let through after the cooldown (reading R21): report its outcome. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'open'; readonly cooldownMs: number }

/** 3 failures within 60 s open it for 60 s (specification, Limits; reading R21). */
export interface BreakerStore {
  check(key: string): Maybe<BreakerState>
  /** One request ended with the provider unavailable. `probe`: it was the probe; then it opens again at once. */
  fail(key: string, probe: boolean): Maybe<void>
  /** The provider answered. Closes the breaker after a probe; else changes nothing (a success does not reset the count). */
  succeed(key: string, probe: boolean): Maybe<void>
  /** The probe ended without telling anything (the caller left): the next request may be the probe. */
  abandon(key: string): Maybe<void>
}

export interface Kv {
  readonly cache: CacheStore
  readonly windows: WindowStore
  readonly leases: LeaseStore
  readonly breakers: BreakerStore
  /** Resolves to false when the shared state is away and memory stands in. */
  isShared(): boolean
  ping(): Promise<void>
  close(): Promise<void>
}
