/**
 * Limits requests before any lookup: guessing keys must cost the guesser, not the database. One point per
 * request is reserved at once and returned when the key turns out good (reading R6), so that parallel guesses
 * cannot exceed the limit. Only bad or missing credentials keep it. The address is checked first, and no
 * narrower window is created for a request that this refuses.
 */
import { ApiError, apiError } from '#contract/errors.ts'
import type { Maybe, WindowKey, WindowState, WindowStore } from '#fast/port.ts'
import { toAddressGroup } from '#kernel/addresses.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import { minuteMs } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'

export const windowMs = minuteMs
/** The state where no window was looked at. */
export const noWindow: WindowState = { allowed: true, limit: 0, remaining: 0, resetMs: 0 }
/** An IPv6 customer's network (/56) holds 256 of the networks that count as one address. */
const networkFactor = 10
/** The retry time where only reserved points fill a window: they are returned within moments. */
const reservedRetryMs = 1000

export interface ThrottleLimits {
  readonly preauth: number
  readonly preauthIp: number
}

/** A client before it is identified, as the names of its windows; made once per connection. */
export interface ClientWindows {
  /** Address and token prefix. */
  readonly own: WindowKey
  readonly address: WindowKey
  /** The /56 around an IPv6 address; null for IPv4. */
  readonly network: WindowKey | null
}

/** The visitor at this address with these first characters of a token. */
export function toVisitor(address: string, prefix: string): ClientWindows {
  const group = toAddressGroup(address)
  const network = toAddressGroup(address, 56)
  return {
    // The length comes first, so that no combination of address and prefix equals another one.
    own: `pre:${group.length}:${group}${prefix}`,
    address: `ip:${group}`,
    network: network === group ? null : `net:${network}`,
  }
}

export type Reservation =
  | {
      readonly allowed: true
      readonly state: WindowState
      /** The key was good: the request costs no point. */
      giveBack(): void
      /** The credentials were bad: the point stays used. */
      keep(): void
    }
  | {
      readonly allowed: false
      /** The window that refused. */
      readonly state: WindowState
      /** When to retry; short where reservations alone fill the window. */
      readonly retryMs: number
    }

export interface Throttle {
  /** Runs a look-up for a visitor who has shown nothing good yet (`Store.forStranger`). */
  lookUp<Found>(visitor: ClientWindows, find: () => Promise<Found>): Promise<Found>
  reserve(visitor: ClientWindows): Promise<Reservation>
  /** For answers that cost nothing (unknown paths). */
  peek(visitor: ClientWindows): Maybe<WindowState>
}

/** The credentials are bad or missing; every other error is an internal failure. */
export function isBadCredentials(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 401
}

/**
 * Looks for what a visitor's secret opens. Null costs the visitor a point; what is found, and a failure of
 * ours, cost nothing. Beyond the limit nothing is looked for.
 * @throws ApiError `rate_limited`; what `find` throws.
 */
export async function guess<Found>(
  throttle: Throttle,
  visitor: ClientWindows,
  find: () => Promise<Found | null>,
): Promise<Found | null> {
  const reservation = await throttle.reserve(visitor)
  if (!reservation.allowed) {
    throw apiError('rate_limited', { retryAfterSeconds: toRetrySeconds(reservation.retryMs) })
  }
  let isWrong = false
  try {
    const found = await throttle.lookUp(visitor, find)
    isWrong = found === null
    return found
  } finally {
    if (isWrong) reservation.keep()
    else reservation.giveBack()
  }
}

/** @param forStranger absent: nothing is looked up in the store. */
export function makeThrottle(
  windows: WindowStore,
  limits: ThrottleLimits,
  forStranger: Store['forStranger'] = (_from, work) => work(),
): Throttle {
  /** Points reserved by this process and neither kept nor returned yet, by the name of their window. */
  const reserved = new Map<string, number>()

  function count(name: WindowKey, by: 1 | -1): void {
    const points = (reserved.get(name) ?? 0) + by
    if (points > 0) reserved.set(name, points)
    else reserved.delete(name)
  }

  /** Windows to check, widest first. */
  function ladderOf(visitor: ClientWindows): readonly Step[] {
    const { own, address, network } = visitor
    const steps = [
      { name: address, limit: limits.preauthIp },
      { name: own, limit: limits.preauth },
    ]
    if (network === null) return steps
    return [{ name: network, limit: limits.preauthIp * networkFactor }, ...steps]
  }

  function giveBack({ name, limit }: Step): void {
    count(name, -1)
    // Not awaited: the port never throws, and the answer must not wait for it.
    void windows.giveBack(name, limit, windowMs)
  }

  return {
    lookUp: ({ address }, find) => forStranger(address, find),
    async reserve(visitor) {
      const held: Step[] = []
      let state = noWindow
      for (const step of ladderOf(visitor)) {
        state = await windows.take(step.name, step.limit, windowMs)
        if (!state.allowed) {
          for (const other of held) giveBack(other)
          const { resetMs } = state
          const retryMs = reserved.has(step.name) ? Math.min(resetMs, reservedRetryMs) : resetMs
          return { allowed: false, state, retryMs }
        }
        held.push(step)
        count(step.name, 1)
      }
      return {
        allowed: true,
        state,
        giveBack() {
          for (const step of held) giveBack(step)
        },
        keep() {
          for (const { name } of held) count(name, -1)
        },
      }
    },
    peek: (visitor) => windows.peek(visitor.own, limits.preauth, windowMs),
  }
}

interface Step {
  readonly name: WindowKey
  readonly limit: number
}
