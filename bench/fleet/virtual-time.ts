/**
 * Time that passes only when nothing is left to do: hours of a fleet in minutes. Statements of the store run
 * for real and take no virtual time.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'

export interface VirtualTime {
  readonly clock: Clock
  sleep(ms: number): Promise<void>
  /** The same store; time stands still while one of its calls is under way. */
  watch(store: Store): Store
  /** Lets time pass until then. */
  runUntil(end: number): Promise<void>
}

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

/**
 * Turns of the event loop without a call of the store, after which every earlier answer has been processed.
 */
const quietTurns = 4

export function makeVirtualTime(start: number): VirtualTime {
  let now = start
  let calls = 0
  let sleepers: Sleeper[] = []

  async function settle(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns; ) {
      await nextTurn()
      quiet = calls === 0 ? quiet + 1 : 0
    }
  }

  const track = async <Result>(promise: Promise<Result>): Promise<Result> => {
    calls += 1
    try {
      return await promise
    } finally {
      calls -= 1
    }
  }

  /** Repositories are plain objects of functions, one level deep. */
  const watch = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name)
        if (typeof value === 'function') {
          return (...args: unknown[]) => {
            const result: unknown = Reflect.apply(value, of, args)
            return result instanceof Promise ? track(result) : result
          }
        }
        return typeof value === 'object' && value !== null ? watch(value) : value
      },
    })

  return {
    clock: { now: () => now },
    sleep: (ms) =>
      new Promise((resolve) => sleepers.push({ at: now + Math.max(0, ms), wake: resolve })),
    watch,
    async runUntil(end) {
      await settle()
      while (sleepers.length > 0 && now < end) {
        now = Math.min(...sleepers.map(({ at }) => at))
        const due = sleepers.filter(({ at }) => at <= now)
        sleepers = sleepers.filter(({ at }) => at > now)
        for (const { wake } of due) wake()
        await settle()
      }
    },
  }
}
