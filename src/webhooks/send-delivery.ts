/**
 * One attempt of one delivery: decrypts the payload, signals and sends it, evaluates the answer, and stores
 * attempt, delivery and health in one transaction, with the audit rows of warnings to the owner.
 */

import type { EventId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { ClaimedEndpoint, DueDelivery } from '#store/ports/deliveries.ts'
import type { EndpointRow, EndpointSecrets } from '#store/ports/endpoints.ts'
import type { SealedBody } from '#store/ports/events.ts'
import { SealError } from '#store/seal.ts'
import { toReplay } from './envelope.ts'
import type { DeliverOptions } from './options.ts'
import type { Message, Posted } from './post.ts'
import type { ReadBody } from './read-body.ts'
import { type Consequences, decide } from './retry-policy.ts'
import type { SaveAttempt } from './save-attempt.ts'
import { secretsAt, signatureHeaders } from './sign.ts'
import { toSnippet } from './snippet.ts'

export interface Claim {
  readonly lease: ClaimedEndpoint['lease']
  readonly endpoint: EndpointRow
  readonly secrets: EndpointSecrets
  /** Aborted when the lease is lost. */
  readonly lost: AbortSignal
}

export interface SendDeliveryOptions extends DeliverOptions {
  readonly saveAttempt: SaveAttempt
  readonly readBody: ReadBody
}

interface Payload {
  readonly delivery: DueDelivery
  /** Absent: it is destroyed, or its key is missing. */
  readonly body: SealedBody | undefined
}

export interface SendResult {
  /** With the endpoint and its secrets after the attempt; null: these cannot be decrypted any more. */
  readonly claim: Claim | null
  /** See `Consequences`. */
  readonly holdUntil: Millis | null
  /** See `RecordedState`. */
  readonly next: DueDelivery | null
}

/**
 * Null: the lease is lost or the delivery was deleted, and nothing was stored.
 * @throws the errors of the store.
 */
export async function sendDelivery(
  options: SendDeliveryOptions,
  claim: Claim,
  payload: Payload,
): Promise<SendResult | null> {
  const { delivery } = payload
  const at = options.clock.now()
  const body = await openBody(options, payload)
  if (body === null)
    return save(options, claim, { ...payload, at, posted: nothingToSend, secrets: [] })
  const secrets = secretsAt(claim.secrets, at)
  const message = toMessage(claim.endpoint, { id: delivery.eventId, at, body }, secrets)
  const posted = await options.post(message, claim.lost)
  if (claim.lost.aborted) return null
  const signatures = message.headers['webhook-signature']?.split(' ') ?? []
  const hidden = [...secrets, ...signatures]
  return save(options, claim, { ...payload, at, posted, secrets: hidden })
}

function toMessage(
  { url }: EndpointRow,
  sent: { readonly id: EventId; readonly at: number; readonly body: Uint8Array },
  secrets: readonly string[],
): Message {
  const { id, at, body } = sent
  const headers = signatureHeaders({ id, timestamp: Math.floor(at / 1000), body }, secrets)
  return { url, headers: { ...headers }, body }
}

/** The bytes to send; null: the payload is missing or cannot be decrypted. */
async function openBody(
  { report }: DeliverOptions,
  { delivery, body }: Payload,
): Promise<Uint8Array | null> {
  try {
    const opened = (await body?.open()) ?? null
    return opened !== null && delivery.isReplay ? toReplay(opened) : opened
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    report.failed('webhook-payload', error)
    return null
  }
}

const nothingToSend: Posted = {
  outcome: {
    kind: 'silent',
    failure: 'the payload of the event no longer exists; nothing was sent',
  },
  durationMs: 0,
  answer: null,
}

interface Attempted extends Payload {
  readonly at: number
  readonly posted: Posted
  /** Texts that must not be stored with the answer. */
  readonly secrets: readonly string[]
}

async function save(
  options: SendDeliveryOptions,
  claim: Claim,
  attempted: Attempted,
): Promise<SendResult | null> {
  const { delivery, body, at, posted } = attempted
  const consequences = toConsequences(options, attempted)
  const { outcome, durationMs, answer } = posted
  const status = outcome.kind === 'answered' ? outcome.head.status : null
  const attempt = {
    at,
    status,
    failure: consequences.failure,
    durationMs,
    response: answer === null ? null : toSnippet(answer, attempted.secrets, options.redact),
  }
  const { decision, failure, signal, holdUntil } = consequences
  const endpointId = claim.endpoint.id
  const { lease } = claim
  const result = { lease, deliveryId: delivery.id, attempt, body, decision, signal, holdUntil }
  const kept = await options.saveAttempt({ endpointId, ...result })
  if (kept === null) return null
  const { endpoint, secrets, status: state, next, warnings } = kept
  // Not the decision: the endpoint may have been disabled during the attempt.
  const ended = state === 'pending' ? 'retry' : state
  const lagMs = delivery.attempts === 0 ? Math.max(0, at - delivery.createdAt) : null
  options.report.attempt({ endpointId, outcome: ended, status, failure, durationMs, lagMs })
  for (const warning of warnings) options.report.warning({ endpointId, warning })
  return { claim: secrets === null ? null : { ...claim, endpoint, secrets }, holdUntil, next }
}

function toConsequences(options: DeliverOptions, { delivery, posted }: Attempted): Consequences {
  const { outcome } = posted
  if (posted === nothingToSend && outcome.kind === 'silent') {
    // It shows nothing about the endpoint, and no later attempt can succeed.
    const { failure } = outcome
    return { decision: { kind: 'exhausted' }, signal: 'answered', failure, holdUntil: null }
  }
  return decide(outcome, {
    attempts: delivery.attempts + 1,
    schedule: options.schedule,
    now: options.clock.now(),
    random: options.random ?? Math.random,
  })
}
