/**
 * Windows of a day, counted call by call where a restart cannot forget them: in no time of their length are
 * more calls than the limit, wherever it begins.
 */
import type { WindowKey, WindowState, WindowStore } from '#fast/port.ts'
import type { Clock } from '#kernel/time.ts'

/** What a budget counts with. */
export type CallWindows = Pick<WindowStore, 'take' | 'peek'>

interface CallSpan {
  readonly since: number
  readonly until: number
}

/** Durable: the store's port for calls to providers. */
export interface CallLog {
  list(name: string, span: CallSpan): Promise<readonly number[]>
  count(name: string, span: CallSpan & { readonly limit: number }): Promise<readonly number[]>
}

export function makeDayWindows(calls: CallLog, clock: Clock): CallWindows {
  const spanOf = (windowMs: number) => {
    const until = clock.now()
    return { since: until - windowMs, until }
  }
  return {
    async take(key: WindowKey, limit, windowMs) {
      const span = spanOf(windowMs)
      const before = await calls.count(key, { ...span, limit })
      const allowed = before.length < limit
      const all = allowed ? [...before, span.until] : before
      return { ...toState(all, limit, windowMs, span), allowed }
    },
    async peek(key: WindowKey, limit, windowMs) {
      const span = spanOf(windowMs)
      return toState(await calls.list(key, span), limit, windowMs, span)
    },
  }
}

function toState(
  calls: readonly number[],
  limit: number,
  windowMs: number,
  { until }: CallSpan,
): WindowState {
  const [oldest = until] = calls
  const remaining = Math.max(0, limit - calls.length)
  return { allowed: remaining > 0, limit, remaining, resetMs: oldest + windowMs - until }
}
