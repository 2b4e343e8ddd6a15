/**
 * Rate windows in this process's memory: fixed windows that start with the first request counted in them (reading R7).
 * It counts and tells; what a window is for, and what a refusal says, is the gate's. Why it is our own file:
 * docs/decisions/0002-own-rate-windows.md.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '#kernel/time.ts'
import type { WindowState, WindowStore } from '../kv-port.ts'

/** The port, answering at once. */
export interface MemoryWindows extends WindowStore {
  take(key: string, limit: number, windowMs: number): WindowState
  giveBack(key: string, limit: number, windowMs: number): void
  peek(key: string, limit: number, windowMs: number): WindowState
}

interface Window {
  count: number
  endsAt: number
}

// Whoever counts tells only every eighth time that it is in use, which halves the cost of counting.
const tellEvery = 8

// Keys hold addresses and token prefixes that strangers choose: beyond this many the longest unused one is forgotten.
const defaultMaxKeys = 100_000

/** Opens empty windows; at most `maxKeys` of them are remembered. */
export function makeMemoryWindows(clock: Clock, maxKeys = defaultMaxKeys): MemoryWindows {
  const windows = new LRUCache<string, Window>({ max: maxKeys })

  return {
    take(key, limit, windowMs) {
      if (limit === 0) return noLimit
      const now = clock.now()
      const window = windows.peek(key)
      if (window === undefined) {
        windows.set(key, { count: 1, endsAt: now + windowMs })
        return { allowed: true, limit, remaining: limit - 1, resetMs: windowMs }
      }
      if (!isRunning(window, now, windowMs)) {
        window.count = 1
        window.endsAt = now + windowMs
        return { allowed: true, limit, remaining: limit - 1, resetMs: windowMs }
      }
      if (window.count >= limit || window.count % tellEvery === 0) windows.get(key)
      if (window.count >= limit) {
        return { allowed: false, limit, remaining: 0, resetMs: window.endsAt - now }
      }
      window.count += 1
      return { allowed: true, limit, remaining: limit - window.count, resetMs: window.endsAt - now }
    },

    giveBack(key, limit, windowMs) {
      if (limit === 0) return
      // Whoever gives back has just taken: there is no need to call it recently used again.
      const window = windows.peek(key)
      if (window !== undefined && isRunning(window, clock.now(), windowMs)) window.count -= 1
    },

    peek(key, limit, windowMs) {
      if (limit === 0) return noLimit
      const now = clock.now()
      const window = windows.get(key)
      const running = window !== undefined && isRunning(window, now, windowMs)
      return running
        ? windowState(limit, window.count, window.endsAt - now)
        : windowState(limit, 0, windowMs)
    },
  }
}

/** The answer where a limit of 0 turns the limit off. */
export const noLimit: WindowState = { allowed: true, limit: 0, remaining: 0, resetMs: 0 }

/** What a look without counting tells: `allowed` is whether the next one would be. */
export function windowState(limit: number, count: number, resetMs: number): WindowState {
  return { allowed: count < limit, limit, remaining: Math.max(0, limit - count), resetMs }
}

/**
 * A window whose every request was given back has not started: it starts with the first one counted. One that would end
 * later than a window lasts was started before the clock was set back: nobody is refused until the clock caught up.
 */
function isRunning(window: Window, now: number, windowMs: number): boolean {
  return window.count > 0 && now < window.endsAt && window.endsAt - now <= windowMs
}
