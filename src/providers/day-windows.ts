/**
 * Windows of a day, counted call by call: in no time of their length are more calls than the limit, wherever
 * it begins. The calls are in the store, where a restart cannot forget them.
 */
import type { WindowKey, WindowState, WindowStore } from '#fast/port.ts'
import type { Clock } from '#kernel/time.ts'

/** What a budget counts with. */
export type CallWindows = Pick<WindowStore, 'take' | 'peek'>

interface CallSpan {
  readonly since: number
  readonly until: number
}

/** The store's port for calls to providers, or memory. */
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

/** Beyond it the name that was counted first is forgotten. */
const mostNames = 10_000

/** For emulators, which forget at a restart what they have counted. */
export function makeMemoryCalls(): CallLog {
  const calls = new Map<string, readonly number[]>()
  const inSpan = (name: string, { since, until }: CallSpan) =>
    (calls.get(name) ?? []).filter((at) => at > since && at <= until)
  return {
    list: async (name, span) => inSpan(name, span),
    async count(name, { limit, ...span }) {
      const before = inSpan(name, span)
      if (before.length < limit) calls.set(name, [...before, span.until])
      const [first] = calls.keys()
      if (calls.size > mostNames && first !== undefined) calls.delete(first)
      return before
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
