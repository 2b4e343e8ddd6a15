/**
 * Handles a webhook in the order of its steps: the limit of its address, the body, a place, the signature,
 * the effect.
 * src/connections decides what a webhook means; the answer shows only whether it was received.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ReceiveWebhook, WebhookOutcome } from '#connections/receive-webhook.ts'
import { type ApiError, apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import { type Reservation, type Throttle, toVisitor } from '#gate/throttle.ts'
import { toAddressGroup } from '#kernel/addresses.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { WebhookRecord } from '#telemetry/request-record.ts'
import { ClientDisconnected, clientAddress, type IsTrustedProxy } from '../client.ts'
import { answerError, answerJson } from '../json-answer.ts'
import type { Body } from '../listener/received-body.ts'
import { readBody } from '../listener/request-body.ts'
import { toApiError } from '../refusal.ts'
import { type AddressPlaces, makeAddressPlaces } from './address-places.ts'

export interface WebhookLaneOptions {
  readonly receive: ReceiveWebhook
  /** Counts what is refused, by address. */
  readonly throttle: Throttle
  readonly isTrustedProxy: IsTrustedProxy
  readonly observe: (record: WebhookRecord) => void
  /** How long a body may take; for tests. */
  readonly bodyDeadlineMs?: number
}

interface Lane extends WebhookLaneOptions {
  readonly places: AddressPlaces
}

/** At most 16 MiB of bodies; a provider sends a few at a time. */
const placeLimits = { inAll: 256, ofAddress: 64 }
/** Providers send from servers with fast connections. */
const defaultBodyDeadlineMs = 5000
const busyRetrySeconds = 5
/** No token begins like this, so these windows are separate from those of callers (`toVisitor`). */
const windowName = ' provider webhook'

/** The outcome and the answer. */
interface Ending {
  readonly outcome: WebhookRecord['outcome']
  /** Null: it was received. */
  readonly error: ApiError | null
}

/** Makes the handler of one webhook; it never rejects. */
export function makeWebhookLane(options: WebhookLaneOptions) {
  const lane: Lane = { ...options, places: makeAddressPlaces(placeLimits) }
  return async (provider: Provider, request: IncomingMessage, response: ServerResponse) => {
    const startedAt = performance.now()
    const ending = await judge(lane, provider, request)
    answer(request, response, ending.error)
    lane.observe({
      door: 'provider-webhooks',
      provider,
      outcome: ending.outcome,
      status: ending.error?.status ?? 200,
      durationMs: performance.now() - startedAt,
      // A refusal is the sender's fault; a failure is ours, and its cause is logged.
      error: ending.outcome === 'failed' ? ending.error : null,
    })
  }
}

async function judge(lane: Lane, provider: Provider, request: IncomingMessage): Promise<Ending> {
  const address = clientAddress(request, lane.isTrustedProxy)
  const group = toAddressGroup(address)
  try {
    // Before the body and the signature, so that a forged webhook costs only one count.
    const reservation = await lane.throttle.reserve(toVisitor(address, windowName))
    if (!reservation.allowed) {
      return refuse('limited', 'rate_limited', toRetrySeconds(reservation.retryMs))
    }
    const body = await readInTime(lane, request)
    const ending = await receive(lane, { provider, request, group }, body)
    settle(reservation, ending.outcome)
    return ending
  } catch (error) {
    return { outcome: 'failed', error: toApiError(error) }
  }
}

/**
 * The outcomes that cost the address a point: no provider sends such a webhook, or nothing shows who sent it.
 */
const costly: readonly WebhookRecord['outcome'][] = [
  'unsigned',
  'forged',
  'unverified',
  'too_large',
  'too_slow',
]

function settle(
  reservation: Reservation & { readonly allowed: true },
  outcome: WebhookRecord['outcome'],
): void {
  if (costly.includes(outcome)) reservation.keep()
  else reservation.giveBack()
}

async function readInTime(
  { bodyDeadlineMs = defaultBodyDeadlineMs }: Lane,
  request: IncomingMessage,
): Promise<Body | 'too_slow'> {
  const late = Promise.withResolvers<'too_slow'>()
  const timer = setTimeout(() => late.resolve('too_slow'), bodyDeadlineMs)
  const body = readBody(request)
  try {
    return await Promise.race([body, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

interface Sent {
  readonly provider: Provider
  readonly request: IncomingMessage
  /** The group that its address counts in. */
  readonly group: string
}

/** Only a complete body takes a place. */
async function receive(lane: Lane, sent: Sent, body: Body | 'too_slow'): Promise<Ending> {
  if (body === 'too_large') {
    const message = 'Request body over 64 KiB'
    return { outcome: 'too_large', error: apiError('body_too_large', { message }) }
  }
  if (body === 'too_slow') return refuse('too_slow', 'request_timeout')
  if (body instanceof ClientDisconnected) return refuse('gone', 'client_disconnected')
  const release = lane.places.take(sent.group)
  if (release === null) return refuse('busy', 'service_unavailable', busyRetrySeconds)
  const header = (name: string) => {
    const value = sent.request.headers[name]
    return typeof value === 'string' ? value : undefined
  }
  try {
    return toEnding(await lane.receive(sent.provider, { header, body }))
  } catch (error) {
    if (error instanceof UpstreamError) {
      return refuse('unverified', 'service_unavailable', busyRetrySeconds)
    }
    return { outcome: 'failed', error: toApiError(error) }
  } finally {
    release()
  }
}

function toEnding(outcome: WebhookOutcome): Ending {
  switch (outcome) {
    case 'unsigned':
    case 'forged':
      return refuse(outcome, 'invalid_signature')
    case 'under_way':
      return refuse(outcome, 'service_unavailable', busyRetrySeconds)
    case 'too_old':
    case 'unreadable':
      return { outcome, error: apiError('invalid_params', { details: [problems[outcome]] }) }
    default:
      return { outcome, error: null }
  }
}

const problems = {
  too_old: 'body: the event is more than 24 hours from now',
  unreadable: 'body: must be a JSON object with the fields of an event',
} as const

function refuse(
  outcome: WebhookRecord['outcome'],
  name: Parameters<typeof apiError>[0],
  retryAfterSeconds?: number,
): Ending {
  const options = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  return { outcome, error: apiError(name, options) }
}

function answer(request: IncomingMessage, response: ServerResponse, error: ApiError | null): void {
  // A body that was not read completely is not read further: the connection ends with the answer.
  if (!request.complete) response.shouldKeepAlive = false
  if (response.destroyed) return
  if (error === null) answerJson(response, 200, { received: true })
  else answerError(response, error)
}
