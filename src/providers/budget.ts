/**
 * The call budget of a provider that limits the whole application (docs/providers/snaptrade.md, Errors and limits: 200 of
 * its 250 a minute) or each person's credentials (docs/providers/up.md, Errors and limits: 1,000 an hour). All processes
 * share it through the windows of fast state; while these are unavailable, each process has a share. Users' requests
 * have priority.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '#kernel/time.ts'
import type { WindowState, WindowStore } from '#store/ports/kv.ts'
import type { CallContext } from './port.ts'
import type { BudgetLimits } from './provider-facts.ts'

export interface BudgetOptions extends BudgetLimits {
  readonly windows: WindowStore
  readonly clock: Clock
  readonly name: string
}

/** `of` names a person's credentials where each has a budget of its own; it must not reveal them. */
export type Budget = (
  call: CallContext,
  of?: string,
) => Promise<{ allowed: true } | { allowed: false; retryAfterSeconds: number }>

/** A user's request waits up to this long for the next window before it fails. */
const deadlineMs = 3000
const maxWaits = 3

/** Requests one call; resolves at once, or after a short wait for the next window. */
export function makeBudget(options: BudgetOptions): Budget {
  const { windows, clock, calls, windowMs, reserve, isByClock = false } = options

  /** Where windows go by the clock, each has a key of its own and ends with the clock's. */
  function toKey(of: string | undefined, now: number): string {
    const key = of === undefined ? `budget:${options.name}` : `budget:${options.name}:${of}`
    return isByClock ? `${key}:${Math.floor(now / windowMs)}` : key
  }
  const resetMs = (state: WindowState, now: number) =>
    isByClock ? windowMs - (now % windowMs) : state.resetMs

  return async (call, of) => {
    if (call.priority === 'background') {
      const now = clock.now()
      const state = await windows.peek(toKey(of, now), calls, windowMs)
      // A share of the budget has an equal share of the reserve.
      const left = (reserve * state.limit) / calls
      if (state.remaining <= left) return refusal(resetMs(state, now))
    }
    for (let wait = 0; ; wait += 1) {
      const now = clock.now()
      const state = await windows.take(toKey(of, now), calls, windowMs)
      if (state.allowed) return { allowed: true }
      const waitMs = resetMs(state, now)
      const canWait = call.priority === 'user' && wait < maxWaits && waitMs <= deadlineMs
      if (!canWait) return refusal(waitMs)
      await sleep(waitMs + 1, undefined, { signal: call.signal }).catch(() => {
        throw call.signal.reason
      })
    }
  }
}

function refusal(resetMs: number): { allowed: false; retryAfterSeconds: number } {
  return { allowed: false, retryAfterSeconds: Math.max(1, Math.ceil(resetMs / 1000)) }
}
