/**
 * Runs work once among all processes. Until it has ended only a short claim is held, which ends by itself
 * when its process does; it counts as done only afterwards. Without shared state a process knows its own.
 */
import type { Clock } from '#kernel/time.ts'
import type { WindowKey, WindowStore } from './port.ts'

export interface OnceOptions<T> {
  readonly windows: Pick<WindowStore, 'take' | 'peek' | 'forget'>
  readonly clock: Clock
  readonly key: WindowKey
  /** Longer than the work takes: work that takes longer may run twice. */
  readonly claimMs: number
  /** How long it is known to be done. */
  readonly keptMs: number
  /** False for a result that changed nothing, after which it may run again. Absent: each counts. */
  readonly isDone?: (result: T) => boolean
}

/** `repeated`: it was done before. `under_way`: it was begun before, and has not ended. */
export type NotRun = 'repeated' | 'under_way'

/** @throws whatever the work throws; it may run again then. */
export async function runOnce<T>(
  { windows, clock, key, claimMs, keptMs, isDone = () => true }: OnceOptions<T>,
  work: () => Promise<T>,
): Promise<T | NotRun> {
  const claim = `${key}:claim` as const
  const wasDone = async () => !(await windows.peek(key, 1, keptMs)).allowed
  const claimedAt = clock.now()
  const { allowed } = await windows.take(claim, 1, claimMs)
  if (!allowed) return (await wasDone()) ? 'repeated' : 'under_way'
  try {
    if (await wasDone()) return 'repeated'
    const result = await work()
    if (isDone(result)) await windows.take(key, 1, keptMs)
    return result
  } finally {
    // Afterwards the claim may be that of another run. What remains: a clock that was set back meanwhile, and
    // a claim that ends while it is being forgotten.
    if (clock.now() - claimedAt < claimMs) await windows.forget(claim)
  }
}
