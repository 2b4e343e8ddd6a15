/** The metrics of events and their deliveries. No label holds an id, an address or a person. */
import type { Registry } from './registry.ts'

export interface WebhookMetrics {
  attempt(event: {
    readonly outcome: 'succeeded' | 'retry' | 'exhausted' | 'missed'
    readonly durationMs: number
    /** From acceptance to this attempt; null: it is not the first of its delivery. */
    readonly lagMs: number | null
  }): void
  /** `kind`: the warning, e.g. `failing_3d`, `disabled_gone`. */
  warned(kind: string): void
  shredded(count: number): void
}

const secondsBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]
/** A chunk waits for the chunks before it, and a paused endpoint for its next attempt: up to days. */
const lagBounds = [0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200, 86_400]

/**
 * They are 0 from the start: an alert on their increase would miss a first count that has no value before it.
 */
const warningKinds = ['failing_1d', 'failing_3d', 'failing_5d', 'disabled_gone', 'disabled_failing']

/** Adds them to `registry`. */
export function makeWebhookMetrics(registry: Registry): WebhookMetrics {
  const counters = makeCounters(registry)
  for (const kind of warningKinds) counters.warnings.add({ kind }, 0)
  const seconds = registry.histogram({
    name: 'tributary_delivery_attempt_duration_seconds',
    help: 'One attempt to deliver an event, from the look-up of the name to the end of the answer.',
    bounds: secondsBounds,
  })
  const lag = registry.histogram({
    name: 'tributary_delivery_first_attempt_lag_seconds',
    help: 'From the acceptance of an event to the first attempt to deliver it.',
    bounds: lagBounds,
  })
  return {
    attempt({ outcome, durationMs, lagMs }) {
      counters.attempts.add({ outcome })
      if (outcome !== 'retry') counters.ended.add({ result: outcome })
      seconds.observe({}, durationMs / 1000)
      if (lagMs !== null) lag.observe({}, lagMs / 1000)
    },
    warned: (kind) => counters.warnings.add({ kind }),
    shredded: (count) => counters.shredded.add({}, count),
  }
}

function makeCounters(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    registry.counter(`tributary_${name}`, help, labels)
  return {
    attempts: counter('delivery_attempts_total', 'Attempts to deliver an event, by outcome.', [
      'outcome',
    ]),
    ended: counter('deliveries_total', 'Deliveries that ended after an attempt, by result.', [
      'result',
    ]),
    warnings: counter(
      'webhook_warnings_total',
      'Warnings to owners of endpoints, which the audit has too.',
      ['kind'],
    ),
    shredded: counter('events_shredded_total', 'Payloads of events that were destroyed.', []),
  }
}
