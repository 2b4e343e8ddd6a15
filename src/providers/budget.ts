/**
 * The call budget of a provider that limits the whole application (docs/providers/snaptrade.md, Errors and
 * limits: 200 of its 250 a minute), each person's credentials (docs/providers/up.md, Errors and limits: 1,000
 * an hour) or each account (docs/providers/snaptrade.md: 9 of its 10 a minute). All processes share it
 * through the windows of fast state; while these are unavailable, each process has a share. Windows of a day
 * are in the store. Users' requests have priority.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Provider } from '#contract/resources.ts'
import type { WindowKey, WindowState } from '#fast/port.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import type { Clock } from '#kernel/time.ts'
import type { CallWindows } from './day-windows.ts'
import { UpstreamError } from './failure.ts'
import type { CallContext, CallsLeft } from './port.ts'
import type { BudgetLimits } from './provider-facts.ts'

export interface BudgetOptions extends BudgetLimits {
  /** The windows of fast state, or those of a day (`day-windows.ts`). */
  readonly windows: CallWindows
  readonly clock: Clock
  readonly name: string
}

type Verdict = { allowed: true } | { allowed: false; retryAfterSeconds: number }

/** `of` names a person's credentials or an account with a budget of its own; it must not reveal them. */
export interface Budget {
  (call: CallContext, of?: string): Promise<Verdict>
  /** What is left, without counting. Absent: nothing is limited. */
  readonly peek?: (of?: string) => Promise<CallsLeft>
}

/** A user's request waits up to this long for the next window before it fails. */
const userWaitMs = 3000
const maxWaits = 3

/** Requests one call; resolves at once, or after a wait for the next window. */
export function makeBudget(options: BudgetOptions): Budget {
  const { windows, clock, calls, windowMs, reserve, isByClock = false } = options

  /** Where windows go by the clock, each has a key of its own and ends with the clock's. */
  function toKey(of: string | undefined, now: number): WindowKey {
    const key =
      of === undefined
        ? (`budget:${options.name}` as const)
        : (`budget:${options.name}:${of}` as const)
    return isByClock ? `${key}:${Math.floor(now / windowMs)}` : key
  }
  const resetMs = (state: WindowState, now: number) =>
    isByClock ? windowMs - (now % windowMs) : state.resetMs

  /** Counts one call; null, or the time until the next window. */
  async function count(call: CallContext, of: string | undefined): Promise<number | null> {
    const now = clock.now()
    const key = toKey(of, now)
    if (call.priority === 'background') {
      const state = await windows.peek(key, calls, windowMs)
      // A share of the budget has an equal share of the reserve.
      const left = (reserve * state.limit) / calls
      if (state.remaining <= left) return resetMs(state, now)
    }
    const state = await windows.take(key, calls, windowMs)
    return state.allowed ? null : resetMs(state, now)
  }

  async function peek(of?: string): Promise<CallsLeft> {
    const now = clock.now()
    const state = await windows.peek(toKey(of, now), calls, windowMs)
    return {
      calls,
      left: state.remaining,
      windowSeconds: windowMs / 1000,
      resetSeconds: Math.ceil(resetMs(state, now) / 1000),
      isShared: of === undefined,
    }
  }

  const request: Budget = async (call, of) => {
    const patienceMs = call.priority === 'user' ? userWaitMs : (options.backgroundWaitMs ?? 0)
    for (let wait = 0; ; wait += 1) {
      const waitMs = await count(call, of)
      if (waitMs === null) return { allowed: true }
      if (wait === maxWaits || waitMs > patienceMs) return refusal(waitMs)
      await sleep(waitMs + 1, undefined, { signal: call.signal }).catch(() => {
        throw call.signal.reason
      })
    }
  }
  return Object.assign(request, { peek })
}

function refusal(resetMs: number): Verdict {
  return { allowed: false, retryAfterSeconds: toRetrySeconds(resetMs) }
}

/**
 * The error of a budget of a day that is used up, in words of the provider's.
 * @throws UpstreamError `throttled`; nothing is sent, so it says nothing of the provider.
 */
export function demandAllowed(
  verdict: Verdict,
  { provider, priority }: Pick<CallContext, 'priority'> & { readonly provider: Provider },
  describe: (whose: string, hours: number) => string,
): void {
  if (verdict.allowed) return
  const { retryAfterSeconds } = verdict
  const whose = priority === 'user' ? 'the' : 'background work’s share of the'
  const detail = describe(whose, Math.ceil(retryAfterSeconds / 3600))
  const isOwnBudget = true
  throw new UpstreamError(provider, { kind: 'throttled', retryAfterSeconds, detail, isOwnBudget })
}
