/**
 * How a person's rows (transactions, holdings, trades) are answered at any provider: late, or with a failure instead.
 * What links a person stays well, so that they can be linked and the failure be seen through the API.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EmulatorReply } from './emulator.ts'

export interface Mood {
  /** Added to the time of every answer with rows of theirs. */
  rowsLatencyMs?: number
  /** What every request for their rows gets instead. */
  rowsFailure?: EmulatorReply
}

/** Waits as long as the mood says; gives the failure to answer with, or null. */
export async function heedMood(mood: Mood): Promise<EmulatorReply | null> {
  const { rowsLatencyMs = 0, rowsFailure = null } = mood
  // An emulator that is closed meanwhile must not wait for this.
  if (rowsLatencyMs > 0) await sleep(rowsLatencyMs, undefined, { ref: false })
  return rowsFailure
}
