/**
 * A clock that is read once per stretch of work: one request asks for the time in half a dozen places, and the answer
 * may as well be the same. It never stands still across a wait.
 */
import type { Clock } from './time.ts'

/**
 * Wraps a clock: the first question of a synchronous stretch reads it, the next ones get the same answer. The reading is
 * forgotten before anything that was waited for goes on.
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
        // The cheapest way to be called once this stretch is over.
        settled.then(forget)
      }
      return reading
    },
  }
}
