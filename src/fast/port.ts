/**
 * Fast state that may be lost without harm: cached answers, shared snapshots, rate windows, leases, breakers.
 * One port, two drivers: memory and Valkey/Redis. Every method may return a value or a promise (`T |
 * Promise<T>`), so that a cached answer from memory needs no turn of the event loop. No method ever throws:
 * while Redis is unavailable, windows, leases and breakers continue in this process's memory and the cache
 * answers `unavailable`.
 *
 * Keys with the same owner in braces after their first colon (`key:{owner}:…`) are stored together, so that
 * one step can use several of them.
 */

import type { Millis } from '#kernel/time.ts'
import type { BeginChange } from '#store/ports/changes.ts'

export type Maybe<T> = T | Promise<T>

/**
 * What an owner has until it is forgotten, e.g. what was read with a login (reading R36). One entry of it may
 * be as large as the owner's share of the cache.
 */
export interface OwnedPart {
  readonly owner: string
  readonly part: string
}

/** A finished answer: the final bytes and what its headers need. */
export interface CachedAnswer {
  readonly body: Uint8Array
  /** For the header `X-Service-Truncated`. */
  readonly truncated: boolean
  /** For the header `X-Data-As-Of`; absent: not known. */
  readonly asOf?: Millis
}

export type CacheLookup =
  | { readonly kind: 'hit'; readonly answer: CachedAnswer }
  | { readonly kind: 'miss' }
  /** The cache is unavailable. */
  | { readonly kind: 'unavailable' }

export interface CacheStore {
  get(key: string): Maybe<CacheLookup>
  /**
   * Stores for `ttlMs`; false when it was not stored (too large, unavailable). Encrypted when it leaves the
   * process. `owner`: the user whose bytes they are; beyond an eighth of the cache, an owner evicts only
   * their own answers.
   */
  set(key: string, answer: CachedAnswer, ttlMs: number, owner?: string | OwnedPart): Maybe<boolean>
  /** Deletes what is stored for an owner; `part` null: all of it. */
  forget(owner: string, part: string | null): Maybe<void>
  /**
   * An owner's rows changed (null: perhaps everybody's): copies that only make this process faster are freed.
   * What is stored is not deleted; the epoch in its key decides whether it is found.
   */
  drop(owner: string | null): void
}

export interface WindowState {
  readonly allowed: boolean
  readonly limit: number
  /** Never negative. */
  readonly remaining: number
  /** Milliseconds until the window ends. */
  readonly resetMs: number
}

/**
 * How many windows of a purpose (the part of a key before its first colon) are remembered. Unauthenticated
 * callers choose addresses and token prefixes; keys, accounts and browsers belong to users.
 */
export const windowBounds = {
  // Before the caller is identified (gate/throttle.ts): address and token prefix, address, IPv6 network.
  pre: 40_000,
  ip: 20_000,
  net: 10_000,
  // The buckets of keys and grants (gate/gate.ts).
  key: 50_000,
  // Programs that read SimpleFIN (doors/simplefin/lane.ts).
  simplefin: 20_000,
  // Sign-in (auth/sign-in/attempts.ts): addresses, then failures by day and by minute.
  'sign-in': 20_000,
  account: 20_000,
  'account-pause': 20_000,
  browser: 10_000,
  'browser-pause': 10_000,
  stranger: 20_000,
  'stranger-pause': 20_000,
  'mail-to': 20_000,
  code: 20_000,
  'code-pause': 20_000,
  'code-known': 10_000,
  'code-known-pause': 10_000,
  passkey: 20_000,
  'passkey-pause': 20_000,
  'passkey-known': 10_000,
  'passkey-known-pause': 10_000,
  // Forms of signed-in people (auth/sign-in/form-limit.ts), and links that they begin (connections/).
  form: 20_000,
  'form-day': 20_000,
  'form-once': 20_000,
  linking: 20_000,
  'linking-look': 20_000,
  'link-register': 10_000,
  check: 20_000,
  // Whether a login's consents are still active (connections/consent-monitor.ts).
  alive: 20_000,
  oauth: 20_000,
  'admin-token': 1000,
  // Webhooks received (connections/receive-webhook.ts) or asked for by login (connections/listen-to.ts).
  webhook: 50_000,
  listen: 20_000,
  // Requests that a provider allows us, in all or for each person's credentials (providers/budget.ts).
  budget: 20_000,
} as const

export type WindowPurpose = keyof typeof windowBounds

/** A window's purpose, and whom or what it counts. */
export type WindowKey = `${WindowPurpose}:${string}`

/**
 * Fixed windows that start with the first request counted in them (reading R7). A limit of 0 means no limit.
 * A key starts with its purpose and a colon; in memory each purpose has its own bound (memory-windows.ts).
 */
export interface WindowStore {
  /** Counts a request; a refused one is not counted. */
  take(key: WindowKey, limit: number, windowMs: number): Maybe<WindowState>
  /** Removes one request from the count (the pre-auth reservation of a good key, reading R6). */
  giveBack(key: WindowKey, limit: number, windowMs: number): Maybe<void>
  /** The state without counting. */
  peek(key: WindowKey, limit: number, windowMs: number): Maybe<WindowState>
  /** Deletes the count. */
  forget(key: WindowKey): Maybe<void>
}

/** A place among the requests in flight; its owner releases it, or it expires after a crash. */
export interface Lease {
  release(): Maybe<void>
}

export interface LeaseStore {
  /** Null when all `limit` places are taken; `retryMs`: until one may be free. A limit of 0: no limit. */
  acquire(
    key: string,
    limit: number,
  ): Maybe<{ readonly lease: Lease } | { readonly lease: null; readonly retryMs: number }>
}

/** What one request needs of fast state. All keys have the same owner. */
export interface AdmitRequest {
  /** Counts the request; null: it was counted before. */
  readonly window: {
    readonly key: WindowKey
    readonly limit: number
    readonly windowMs: number
  } | null
  /** Null: no limit to the requests in flight. */
  readonly places: { readonly key: string; readonly limit: number } | null
  /** The key of the cached answer; null: the request is only counted. */
  readonly answer: string | null
  /** The user whose bytes the answer has. */
  readonly owner: string
  /**
   * The edition of the rows by which the request is judged and its answer is named: what an `unsure` step
   * said before they were read, or an empty text. Absent: they were read after the request began, and are not
   * doubted.
   */
  readonly edition?: string | undefined
}

/**
 * The user's rows may have changed since they were read. `edition`: theirs from now on, until they change
 * again; null: they are being changed, so only who reads them for each request knows them.
 */
export interface Unsure {
  readonly kind: 'unsure'
  readonly edition: string | null
}

/** `window` is null when none was counted. */
export type Admitted =
  /** The window is used up; nothing was counted. */
  | { readonly kind: 'refused'; readonly window: WindowState }
  /** Counted; nothing else was asked. */
  | { readonly kind: 'counted'; readonly window: WindowState | null }
  /** Counted; all places are taken. */
  | { readonly kind: 'full'; readonly window: WindowState | null; readonly retryMs: number }
  /** Counted, and no place was taken. */
  | { readonly kind: 'hit'; readonly window: WindowState | null; readonly answer: CachedAnswer }
  /** Counted, and no place was taken; never without an edition. */
  | (Unsure & { readonly window: WindowState | null })
  /** Counted; the caller releases the place. `lease` null: no limit. `unavailable`: rows may be outdated. */
  | {
      readonly kind: 'miss' | 'unavailable'
      readonly window: WindowState | null
      readonly lease: Lease | null
    }

export type BreakerState =
  | { readonly kind: 'closed' }
  /** This request is the one allowed after the cooldown (reading R21); its outcome must be reported. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'open'; readonly cooldownMs: number }

/** A breaker as operators see it; `half_open`: its cooldown is over, and the next request is the probe. */
export type BreakerLook =
  | { readonly kind: 'closed' }
  | { readonly kind: 'half_open' }
  | { readonly kind: 'open'; readonly cooldownMs: number }

/** Three failures within 60 s open a breaker for 60 s (contract, Limits; reading R21). */
export interface BreakerStore {
  check(key: string): Maybe<BreakerState>
  /** A request ended with the provider unavailable. `probe`: it was the probe: the breaker opens again. */
  fail(key: string, probe: boolean): Maybe<void>
  /** The provider answered: closes the breaker after a probe, otherwise changes nothing. */
  succeed(key: string, probe: boolean): Maybe<void>
  /** The probe ended without a result (the caller left), so the next request may be the probe. */
  abandon(key: string): Maybe<void>
  /** Looks without becoming the probe. */
  peek(key: string): Maybe<BreakerLook>
}

/** A server that shares fast state, as operators see it. */
export interface KvConnection {
  /** What is stored there. */
  readonly name: 'limits' | 'cache'
  /** The environment variable that names the server. */
  readonly variable: 'REDIS_URL' | 'REDIS_CACHE_URL'
  /** False while memory is used instead (the cache then answers nothing). */
  readonly isUp: boolean
  /** Why it is unavailable, in words for operators; null while it is available. */
  readonly trouble: string | null
  /** The policy by which the server evicts keys, as of the last `ping`; null when it evicts none. */
  readonly evicts: string | null
}

export type SnapshotLookup =
  | { readonly kind: 'found'; readonly version: string; readonly bytes: Uint8Array }
  /** Nothing newer than the known version was saved. */
  | { readonly kind: 'same' }
  | { readonly kind: 'none' }
  /** Nothing is shared, in general or at present. */
  | { readonly kind: 'unavailable' }

export type SnapshotSaving =
  | { readonly kind: 'saved'; readonly version: string }
  /** The stored version is not the expected one; nothing was saved. */
  | { readonly kind: 'conflict' }
  /** Too large, or nothing is shared, in general or at present. */
  | { readonly kind: 'unavailable' }

/** What processes share about the rows that a query read, without bodies: snapshots and anchors (R18). */
export interface SharedSnapshots {
  load(key: string, known: string | null): Maybe<SnapshotLookup>
  /** Compare-and-set. `expected` null: nothing is stored yet. */
  save(
    key: string,
    value: {
      readonly expected: string | null
      readonly bytes: Uint8Array
      readonly ttlMs: number
    },
  ): Maybe<SnapshotSaving>
}

export interface Kv {
  /**
   * The window, the places and the cached answer of one request in this order, which is that of reading R3,
   * as one step: a refused request is not counted, a full one does not reach the cache, and only a miss takes
   * a place.
   */
  admit(admission: AdmitRequest): Maybe<Admitted>
  readonly cache: CacheStore
  /** Makes earlier editions invalid; null: there are none. */
  readonly beginChange: BeginChange | null
  /** Null: snapshots and anchors stay in this process. */
  readonly snapshots: SharedSnapshots | null
  readonly anchors: SharedSnapshots | null
  readonly windows: WindowStore
  /**
   * Windows of a provider's limit for all processes together. While Redis is unavailable each process has a
   * share of the remainder, whereas it has the whole of every other window.
   */
  readonly budgets: WindowStore
  readonly leases: LeaseStore
  readonly breakers: BreakerStore
  /** Empty in memory. */
  connections(): readonly KvConnection[]
  ping(): Promise<void>
  close(): Promise<void>
}
