/** Readings of this process alone, for adapters that a test makes itself. */
import { makeMemoryLeases } from '#fast/memory-leases.ts'
import type { Clock } from '#kernel/time.ts'
import { makeReadings, type Readings } from '#providers/readings.ts'

export function openReadings(clock: Clock): Readings {
  return makeReadings({
    clock,
    leases: makeMemoryLeases(),
    shared: null,
    onLateFailure(error) {
      throw error
    },
  })
}
