/**
 * How a provider answers requests for a person's rows (transactions, holdings, trades): late, or with a
 * failure. Linking is not affected, so that the failure can be seen through the API.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EmulatorReply } from './emulator.ts'

export interface RowFaults {
  /** Added to the time of every answer with rows of theirs. */
  rowsLatencyMs?: number
  /** What every request for their rows gets instead. */
  rowsFailure?: EmulatorReply
}

/** Waits as long as the faults say; returns the failure to answer with, or null. */
export async function applyRowFaults(faults: RowFaults): Promise<EmulatorReply | null> {
  const { rowsLatencyMs = 0, rowsFailure = null } = faults
  // An emulator that is closed meanwhile must not wait for this.
  if (rowsLatencyMs > 0) await sleep(rowsLatencyMs, undefined, { ref: false })
  return rowsFailure
}
