/**
 * Before any look-up: guessing keys must cost the guesser, not the database. One point per request is reserved at once
 * in the bucket of address and token prefix, and given back when the key turns out good (reading R6), so that parallel
 * guesses cannot slip through. A ceiling per address stands behind it.
 */
import type { Maybe, WindowState, WindowStore } from '#store/kv-port.ts'

export const windowMs = 60_000

export interface ThrottleLimits {
  readonly preauth: number
  readonly preauthIp: number
}

export interface Reservation {
  readonly allowed: boolean
  /** The pre-auth bucket, or the address's when that one refused. */
  readonly state: WindowState
  /** The key was good: the request costs nothing here. */
  giveBack(): void
}

export interface Throttle {
  reserve(address: string, prefix: string): Maybe<Reservation>
  /** For answers that consume nothing (unknown paths). */
  peek(address: string, prefix: string): Maybe<WindowState>
}

export function makeThrottle(windows: WindowStore, limits: ThrottleLimits): Throttle {
  function reservation(
    name: string,
    address: string,
    own: WindowState,
    all: WindowState,
  ): Reservation {
    const allowed = own.allowed && all.allowed
    return {
      allowed,
      state: own.allowed && !all.allowed ? all : own,
      giveBack() {
        // Fire and forget: the port never throws, and nobody waits for a point to come back.
        if (own.allowed) void windows.giveBack(name, limits.preauth, windowMs)
        if (all.allowed) void windows.giveBack(`ip:${address}`, limits.preauthIp, windowMs)
      },
    }
  }
  return {
    reserve(address, prefix) {
      const name = preauthName(address, prefix)
      const own = windows.take(name, limits.preauth, windowMs)
      const all = windows.take(`ip:${address}`, limits.preauthIp, windowMs)
      if (own instanceof Promise || all instanceof Promise) {
        return Promise.all([own, all]).then(([mine, whole]) =>
          reservation(name, address, mine, whole),
        )
      }
      return reservation(name, address, own, all)
    },
    peek: (address, prefix) => windows.peek(preauthName(address, prefix), limits.preauth, windowMs),
  }
}

/** With the length in front, no address can reach over into a prefix. */
function preauthName(address: string, prefix: string): string {
  return `pre:${address.length}:${address}${prefix}`
}
