/**
 * The consequences of one attempt: for the delivery (delivered, next attempt, exhausted), for the endpoint's
 * health, and for the next deliveries to the same endpoint. Pure; docs/events.md, Answers, lists the rules.
 */

import { readRetryAfter } from '#kernel/retry-after.ts'
import type { Millis } from '#kernel/time.ts'
import type { DeliveryDecision } from '#store/ports/deliveries.ts'
import type { HealthSignal } from './health.ts'

/** The parts of an answer that the rules use. */
export interface AnswerHead {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export type AttemptOutcome =
  | { readonly kind: 'answered'; readonly head: AnswerHead }
  /** No answer came; `failure` says why in plain words. */
  | { readonly kind: 'silent'; readonly failure: string }

export interface Consequences {
  readonly decision: DeliveryDecision
  readonly signal: HealthSignal
  /** Why the attempt counts as a failure, in plain words; null: it succeeded. */
  readonly failure: string | null
  /** Nothing is sent to the endpoint before this instant (`Retry-After`); null: no wait was demanded. */
  readonly holdUntil: number | null
}

export interface Circumstances {
  /** Attempts of the delivery, including this one. */
  readonly attempts: number
  /** Seconds before each attempt (`WEBHOOK_RETRY_SCHEDULE`); as many attempts are made as it has entries. */
  readonly schedule: readonly number[]
  /** At the end of the attempt. */
  readonly now: Millis
  /** From 0 up to 1. */
  readonly random: () => number
}

/** The share by which a wait varies, so that deliveries that failed together are not repeated together. */
export const jitter = 0.1
/** The receiver works and demands a wait. */
const busy = [429, 502, 503, 504]
/** Answer header by which a receiver ends one delivery. */
const controlHeader = 'webhook-delivery'
const abort = 'abort-message'

export function decide(outcome: AttemptOutcome, circumstances: Circumstances): Consequences {
  if (outcome.kind === 'silent') {
    const { failure } = outcome
    return { decision: retry(circumstances, null), signal: 'failed', failure, holdUntil: null }
  }
  const { status, headers } = outcome.head
  if (status >= 200 && status < 300) {
    return { decision: { kind: 'succeeded' }, signal: 'succeeded', failure: null, holdUntil: null }
  }
  const over = { decision: { kind: 'exhausted' }, holdUntil: null } as const
  if (status === 410) {
    return { ...over, signal: 'gone', failure: 'the endpoint answered 410: it is gone' }
  }
  if (
    String(headers[controlHeader] ?? '')
      .trim()
      .toLowerCase() === abort
  ) {
    return {
      ...over,
      signal: 'answered',
      failure: `the endpoint answered ${status} and asked for no other attempt`,
    }
  }
  const holdUntil = busy.includes(status) ? readHold(outcome.head, circumstances.now) : null
  const failure =
    status >= 300 && status < 400
      ? `the endpoint answered ${status}: redirects are not followed, set the final address`
      : `the endpoint answered ${status}`
  return { decision: retry(circumstances, holdUntil), signal: 'failed', failure, holdUntil }
}

/** At most a day from now; null: the header is absent or unreadable. */
function readHold({ headers }: AnswerHead, now: Millis): Millis | null {
  const seconds = readRetryAfter(headers, now)
  return seconds === null ? null : now + seconds * 1000
}

function retry(circumstances: Circumstances, holdUntil: Millis | null): DeliveryDecision {
  const { attempts, schedule, now, random } = circumstances
  const seconds = schedule[attempts]
  if (seconds === undefined) return { kind: 'exhausted' }
  const waitMs = Math.round(seconds * 1000 * (1 + jitter * (2 * random() - 1)))
  return { kind: 'retry', dueAt: Math.max(now + waitMs, holdUntil ?? 0) }
}
