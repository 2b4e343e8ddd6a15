/**
 * A clock that is read once per synchronous run of code: one request asks for the time about six times, and one
 * answer serves them all. It never returns an old time after an `await`.
 */
import type { Clock } from './time.ts'

/**
 * Wraps a clock: the first call in a synchronous run reads it, later calls return the same value. The value is
 * cleared before any awaiting code continues.
 */
export function makeTurnClock(clock: Clock): Clock {
  let reading: number | null = null
  const settled = Promise.resolve()
  const forget = () => {
    reading = null
  }
  return {
    now() {
      if (reading === null) {
        reading = clock.now()
        // A microtask is the cheapest callback after the current synchronous run.
        settled.then(forget)
      }
      return reading
    },
  }
}
