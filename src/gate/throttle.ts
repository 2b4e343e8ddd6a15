/**
 * Before any look-up: guessing keys must cost the guesser, not the database. One point per request is reserved at once
 * in the bucket of address and token prefix, and given back when the key turns out good (reading R6), so that parallel
 * guesses cannot slip through. Only bad or missing credentials keep it. A ceiling per address stands behind it.
 */
import { ApiError } from '#contract/errors.ts'
import type { Maybe, WindowState, WindowStore } from '#store/kv-port.ts'

export const windowMs = 60_000

export interface ThrottleLimits {
  readonly preauth: number
  readonly preauthIp: number
}

/** A client before it is identified, by the names of its two buckets; made once per connection. */
export interface Visitor {
  readonly own: string
  readonly address: string
}

/** The visitor at this address with these first characters of a token. */
export function toVisitor(address: string, prefix: string): Visitor {
  // With the length in front, no address can reach over into a prefix.
  return { own: `pre:${address.length}:${address}${prefix}`, address: `ip:${address}` }
}

export interface Reservation {
  readonly allowed: boolean
  /** The pre-auth bucket, or the address's when that one refused. */
  readonly state: WindowState
  /** The key was good: the request costs nothing here. */
  giveBack(): void
}

export interface Throttle {
  reserve(visitor: Visitor): Maybe<Reservation>
  /** For answers that consume nothing (unknown paths). */
  peek(visitor: Visitor): Maybe<WindowState>
}

/**
 * Settles the point of a request that found no caller, by what was thrown instead: a 401 keeps it. Anything else is a
 * failure of ours (a store that is away), says nothing about the key and must not lock it out: the bucket counts
 * "unauthenticated or failed-auth requests" (specification, Limits).
 */
export function settleUnidentified(reservation: Reservation, thrown: unknown): void {
  if (thrown instanceof ApiError && thrown.status === 401) return
  reservation.giveBack()
}

export function makeThrottle(windows: WindowStore, limits: ThrottleLimits): Throttle {
  function reservation(visitor: Visitor, own: WindowState, all: WindowState): Reservation {
    return {
      allowed: own.allowed && all.allowed,
      state: own.allowed && !all.allowed ? all : own,
      giveBack() {
        // Fire and forget: the port never throws, and nobody waits for a point to come back.
        if (own.allowed) void windows.giveBack(visitor.own, limits.preauth, windowMs)
        if (all.allowed) void windows.giveBack(visitor.address, limits.preauthIp, windowMs)
      },
    }
  }
  return {
    reserve(visitor) {
      const own = windows.take(visitor.own, limits.preauth, windowMs)
      const all = windows.take(visitor.address, limits.preauthIp, windowMs)
      if (own instanceof Promise || all instanceof Promise) {
        return Promise.all([own, all]).then(([mine, whole]) => reservation(visitor, mine, whole))
      }
      return reservation(visitor, own, all)
    },
    peek: (visitor) => windows.peek(visitor.own, limits.preauth, windowMs),
  }
}
