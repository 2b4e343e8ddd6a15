/**
 * The outgoing budget of a provider that limits the whole application, all users together (SnapTrade page §4: 200 of
 * its 250 a minute). Shared by every process through the windows of fast state; users' requests go first.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { WindowStore } from '#store/kv-port.ts'
import type { CallContext } from './port.ts'

export interface BudgetOptions {
  readonly windows: WindowStore
  readonly name: string
  readonly perMinute: number
  /** What background work must leave for users. */
  readonly reserve: number
}

export type Budget = (
  call: CallContext,
) => Promise<{ allowed: true } | { allowed: false; retryAfterSeconds: number }>

const windowMs = 60_000
/** A user's request waits this long for the next window rather than fail. */
const patienceMs = 3000
const maxWaits = 3

/** Asks for one call; resolves at once, or after a short wait for the next window. */
export function makeBudget(options: BudgetOptions): Budget {
  const { windows, perMinute, reserve } = options
  const key = `budget:${options.name}`
  return async (call) => {
    if (call.priority === 'background') {
      const state = await windows.peek(key, perMinute, windowMs)
      if (state.remaining <= reserve) return refusal(state.resetMs)
    }
    for (let wait = 0; ; wait += 1) {
      const state = await windows.take(key, perMinute, windowMs)
      if (state.allowed) return { allowed: true }
      const canWait = call.priority === 'user' && wait < maxWaits && state.resetMs <= patienceMs
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
