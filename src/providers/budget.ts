/**
 * The call budget of a provider that limits the whole application, all users together (docs/providers/snaptrade.md,
 * Errors and limits: 200 of its 250 a minute). All processes share it through the windows of fast state; while these
 * are unavailable, each process has a share. Users' requests have priority.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { WindowStore } from '#store/ports/kv.ts'
import type { CallContext } from './port.ts'
import type { BudgetLimits } from './provider-facts.ts'

export interface BudgetOptions extends BudgetLimits {
  readonly windows: WindowStore
  readonly name: string
}

export type Budget = (
  call: CallContext,
) => Promise<{ allowed: true } | { allowed: false; retryAfterSeconds: number }>

const windowMs = 60_000
/** A user's request waits up to this long for the next window before it fails. */
const deadlineMs = 3000
const maxWaits = 3

/** Requests one call; resolves at once, or after a short wait for the next window. */
export function makeBudget(options: BudgetOptions): Budget {
  const { windows, perMinute, reserve } = options
  const key = `budget:${options.name}`
  return async (call) => {
    if (call.priority === 'background') {
      const state = await windows.peek(key, perMinute, windowMs)
      // A share of the budget has an equal share of the reserve.
      const left = (reserve * state.limit) / perMinute
      if (state.remaining <= left) return refusal(state.resetMs)
    }
    for (let wait = 0; ; wait += 1) {
      const state = await windows.take(key, perMinute, windowMs)
      if (state.allowed) return { allowed: true }
      const canWait = call.priority === 'user' && wait < maxWaits && state.resetMs <= deadlineMs
      if (!canWait) return refusal(state.resetMs)
      await sleep(state.resetMs + 1, undefined, { signal: call.signal }).catch(() => {
        throw call.signal.reason
      })
    }
  }
}

function refusal(resetMs: number): { allowed: false; retryAfterSeconds: number } {
  return { allowed: false, retryAfterSeconds: Math.max(1, Math.ceil(resetMs / 1000)) }
}
