/**
 * What the contract of fast state needs of a driver to be run on it. It knows no driver: time passes by the
 * harness, which moves a still clock or really waits, on a shorter scale.
 */
import assert from 'node:assert/strict'
import type { Kv } from '#fast/port.ts'

export interface KvHarness {
  readonly kv: Kv
  /** Turns a duration of the rules into one of this harness. */
  scale(ms: number): number
  /** Lets a duration of the rules pass, scaled. */
  pass(ms: number): Promise<void>
  /** How late an answer may be measured, in milliseconds of this harness. */
  readonly slackMs: number
  /** True where passing time costs nothing, so that properties may do it often. */
  readonly still: boolean
  close(): Promise<void>
}

export const minute = 60_000

/** Fails unless `actual` is `expected` or, by the slack of the harness, a little less. */
export function assertNear(h: Pick<KvHarness, 'slackMs'>, actual: number, expected: number): void {
  assert.ok(
    actual <= expected && actual >= expected - h.slackMs,
    `${actual} ms is not within ${h.slackMs} ms below ${expected} ms`,
  )
}
