/**
 * Rate windows in this process's memory: fixed windows that start with the first request counted in them
 * (reading R7). Each purpose has its own bound, so that filling one evicts nothing of another. This file only
 * counts; the gate decides what a window is for and what a refusal says. Why we wrote it:
 * docs/decisions/0002-own-rate-windows.md.
 */
import type { Clock } from '#kernel/time.ts'
import {
  type WindowKey,
  type WindowPurpose,
  type WindowState,
  type WindowStore,
  windowBounds,
} from './port.ts'
import { makeWindowPool, type RateWindow, type WindowPool } from './window-pool.ts'

/** The port, with synchronous results. */
export interface MemoryWindows extends WindowStore {
  take(key: WindowKey, limit: number, windowMs: number): WindowState
  giveBack(key: WindowKey, limit: number, windowMs: number): void
  peek(key: WindowKey, limit: number, windowMs: number): WindowState
  forget(key: WindowKey): void
  /** Stores the count that Redis returned, so that counting continues from it while Redis is unavailable. */
  learn(key: WindowKey, reply: CountReply): void
  /**
   * What to send to Redis about a window after Redis became available again, once: Redis may have lost its
   * count, and has not counted the requests counted here. Null when there is nothing to send.
   */
  recall(key: WindowKey, era: number): Recalled | null
  /** Records a request that was given back in Redis, here too. */
  gaveBack(key: WindowKey, limit: number, windowMs: number): void
  /** Sending the recalled counts failed; the next `recall` returns them again. */
  unrecall(key: WindowKey): void
  /** How many requests of the current window Redis has counted. */
  known(key: WindowKey, windowMs: number): number
}

/** What Redis returned for a window. */
export interface CountReply {
  readonly count: number
  readonly leftMs: number
  readonly limit: number
  /** Grows each time Redis becomes available. */
  readonly era: number
}

export interface Recalled {
  readonly known: number
  /** Counted here while Redis was unavailable; negative when more was given back. */
  readonly spent: number
  readonly leftMs: number
}

/** The windows of one process, by purpose. */
interface Pools {
  readonly clock: Clock
  readonly byPurpose: ReadonlyMap<string, WindowPool>
  /** The pool of `key`. */
  readonly callers: WindowPool
}

/** Starts without windows; `bounds` gives the largest number for each purpose. */
export function makeMemoryWindows(
  clock: Clock,
  bounds: Partial<Record<WindowPurpose, number>> = {},
): MemoryWindows {
  const byPurpose = new Map(
    Object.entries({ ...windowBounds, ...bounds }).map(([purpose, bound]) => [
      purpose,
      makeWindowPool(bound),
    ]),
  )
  const pools: Pools = { clock, byPurpose, callers: poolOfPurpose(byPurpose, 'key') }
  return {
    take: (key, limit, windowMs) => take(pools, key, limit, windowMs),
    giveBack: (key, limit, windowMs) => void giveBack(pools, key, limit, windowMs),
    gaveBack(key, limit, windowMs) {
      const window = giveBack(pools, key, limit, windowMs)
      if (window !== null) window.known -= 1
    },
    peek(key, limit, windowMs) {
      if (limit === 0) return noLimit
      const now = clock.now()
      const window = poolOf(pools, key).find(key)
      const running = window !== undefined && isRunning(window, now, windowMs)
      return running
        ? windowState(limit, window.count, window.endsAt - now)
        : windowState(limit, 0, windowMs)
    },
    forget(key) {
      const pool = poolOf(pools, key)
      const window = pool.find(key)
      if (window !== undefined) pool.remove(window)
    },
    learn: (key, reply) => learn(pools, key, reply),
    recall: (key, era) => recall(pools, key, era),
    unrecall(key) {
      const window = poolOf(pools, key).find(key)
      if (window !== undefined) window.era = null
    },
    known(key, windowMs) {
      const window = poolOf(pools, key).find(key)
      return window !== undefined && isRunning(window, clock.now(), windowMs) ? window.known : 0
    },
  }
}

function poolOfPurpose(byPurpose: Pools['byPurpose'], purpose: string): WindowPool {
  const pool = byPurpose.get(purpose)
  if (pool === undefined) throw new RangeError(`there is no rate window for "${purpose}"`)
  return pool
}

function poolOf({ byPurpose, callers }: Pools, key: WindowKey): WindowPool {
  // Every answered request has such a key: cutting its purpose out of it would make a new text each time.
  if (key.startsWith('key:')) return callers
  return poolOfPurpose(byPurpose, key.slice(0, key.indexOf(':')))
}

function take(pools: Pools, key: WindowKey, limit: number, windowMs: number): WindowState {
  if (limit === 0) return noLimit
  const now = pools.clock.now()
  const pool = poolOf(pools, key)
  const window = pool.find(key)
  if (window === undefined || !isRunning(window, now, windowMs)) {
    const begun = window ?? pool.add(key, now, now + windowMs)
    if (window !== undefined) pool.restart(window, now + windowMs)
    if (limit === 1) pool.mark(begun, true)
    return { allowed: true, limit, remaining: limit - 1, resetMs: windowMs }
  }
  if (window.count >= limit) {
    return { allowed: false, limit, remaining: 0, resetMs: window.endsAt - now }
  }
  window.count += 1
  if (window.count === limit) pool.mark(window, true)
  return { allowed: true, limit, remaining: limit - window.count, resetMs: window.endsAt - now }
}

/** Gives one request back; returns its window, or null when none is running. */
function giveBack(
  pools: Pools,
  key: WindowKey,
  limit: number,
  windowMs: number,
): RateWindow | null {
  if (limit === 0) return null
  const pool = poolOf(pools, key)
  const window = pool.find(key)
  if (window === undefined || !isRunning(window, pools.clock.now(), windowMs)) return null
  window.count -= 1
  // When every request was given back, the next window starts with the next request.
  if (window.count <= 0) pool.remove(window)
  else pool.mark(window, window.count >= limit)
  return window
}

function learn(pools: Pools, key: WindowKey, { count, leftMs, limit, era }: CountReply): void {
  const now = pools.clock.now()
  const pool = poolOf(pools, key)
  const window = pool.find(key)
  if (count <= 0) {
    if (window !== undefined) pool.remove(window)
    return
  }
  const kept = window ?? pool.add(key, now, now + leftMs)
  kept.count = count
  kept.known = count
  kept.endsAt = now + leftMs
  kept.era = era
  pool.mark(kept, count >= limit)
}

function recall(pools: Pools, key: WindowKey, era: number): Recalled | null {
  const window = poolOf(pools, key).find(key)
  if (window === undefined || window.era === era) return null
  const leftMs = window.endsAt - pools.clock.now()
  window.era = era
  if (leftMs <= 0) return null
  return { known: window.known, spent: window.count - window.known, leftMs }
}

/** The answer for a limit of 0, which means no limit. */
export const noLimit: WindowState = { allowed: true, limit: 0, remaining: 0, resetMs: 0 }

/** The state without counting: `allowed` says whether the next request would be allowed. */
export function windowState(limit: number, count: number, resetMs: number): WindowState {
  return { allowed: count < limit, limit, remaining: Math.max(0, limit - count), resetMs }
}

/**
 * A window that ends later than its length allows was started before the clock was set back. It is ignored,
 * so that nobody is refused until the clock catches up.
 */
function isRunning(window: RateWindow, now: number, windowMs: number): boolean {
  return now < window.endsAt && window.endsAt - now <= windowMs
}
