/** When a password was given recently enough for a sensitive change. Pure: the clock is passed in. */
import { type Millis, minuteMs } from '#kernel/time.ts'

/** Sensitive changes require a password given within this time, in case another person uses the browser. */
const freshMs = 10 * minuteMs

/** True when the password was given in the last ten minutes. */
export function isFreshSignIn(signedInAt: Millis, now: Millis): boolean {
  const age = now - signedInAt
  return age >= 0 && age < freshMs
}
