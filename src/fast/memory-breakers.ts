/**
 * Breakers in this process's memory. A healthy connection has no entry: the first failure creates it. This
 * file decides open, probe or closed; the guard decides what counts as a failure.
 */
import { LRUCache } from 'lru-cache'
import { atMost } from '#kernel/at-most.ts'
import type { Clock } from '#kernel/time.ts'
import { type BreakerRule, breakerRule } from './breaker-rule.ts'
import type { BreakerLook, BreakerState, BreakerStore } from './port.ts'

/** The port, with synchronous results. */
export interface MemoryBreakers extends BreakerStore {
  check(key: string): BreakerState
  fail(key: string, probe: boolean): void
  succeed(key: string, probe: boolean): void
  abandon(key: string): void
  peek(key: string): BreakerLook
}

interface Breaker {
  /** Times of the failures while closed; at most as many as open it. */
  failedAt: readonly number[]
  /** Null while closed. */
  openUntil: number | null
  probeUntil: number
}

const closed = { kind: 'closed' } as const
const probeNow: BreakerState = { kind: 'probe' }
const defaultMaxKeys = 50_000

/** Starts with every breaker closed; remembers at most `maxKeys` failing connections. */
export function makeMemoryBreakers(
  clock: Clock,
  rule: BreakerRule = breakerRule,
  maxKeys = defaultMaxKeys,
): MemoryBreakers {
  const breakers = new LRUCache<string, Breaker>(atMost(maxKeys))

  /** The breaker if it is open or waits for its probe, otherwise null. */
  function findOpen(key: string, now: number): (Breaker & { openUntil: number }) | null {
    const breaker = breakers.get(key)
    if (breaker === undefined || !isOpen(breaker)) return null
    // Without this bound, a clock set back by hours would keep it open for hours.
    breaker.openUntil = Math.min(breaker.openUntil, now + rule.openMs)
    breaker.probeUntil = Math.min(breaker.probeUntil, now + rule.probeMs)
    if (now < breaker.openUntil + rule.forgetMs) return breaker
    breakers.delete(key)
    return null
  }

  return {
    check(key) {
      const now = clock.now()
      const breaker = findOpen(key, now)
      if (breaker === null) return closed
      const waitUntil = Math.max(breaker.openUntil, breaker.probeUntil)
      if (now < waitUntil) return { kind: 'open', cooldownMs: waitUntil - now }
      breaker.probeUntil = now + rule.probeMs
      return probeNow
    },

    fail(key, probe) {
      const now = clock.now()
      const openUntil = now + rule.openMs
      const open = findOpen(key, now)
      if (open !== null) {
        // A request that started before the breaker opened proves nothing new; only the probe decides.
        if (probe) breakers.set(key, { failedAt: [], openUntil, probeUntil: 0 })
        return
      }
      const before = breakers.get(key)?.failedAt ?? []
      const recent = before.filter((at) => at > now - rule.windowMs && at <= now)
      const opens = recent.length + 1 >= rule.failures
      breakers.set(key, {
        failedAt: opens ? [] : [...recent, now],
        openUntil: opens ? openUntil : null,
        probeUntil: 0,
      })
    },

    succeed(key, probe) {
      if (probe) breakers.delete(key)
    },

    abandon(key) {
      const open = findOpen(key, clock.now())
      if (open !== null) open.probeUntil = 0
    },

    peek(key) {
      const now = clock.now()
      const open = findOpen(key, now)
      if (open === null) return closed
      if (now >= open.openUntil) return { kind: 'half_open' }
      return { kind: 'open', cooldownMs: open.openUntil - now }
    },
  }
}

function isOpen(breaker: Breaker): breaker is Breaker & { openUntil: number } {
  return breaker.openUntil !== null
}
