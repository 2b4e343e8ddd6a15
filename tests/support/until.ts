/** Waiting in tests: every wait has a limit, so that what never comes fails its test alone. */
import { setTimeout as sleep } from 'node:timers/promises'

const limitMs = 60_000

/** Waits until it is so; a machine may be slow. @throws Error after a minute. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  everyMs = 20,
): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`it did not come to this: ${what}`)
    await sleep(everyMs)
  }
}
