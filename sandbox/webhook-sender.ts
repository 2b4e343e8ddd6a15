/**
 * Sends an emulator's webhooks: at once and in order, repeated until they are accepted, on the schedule of
 * its provider. A command can make it send one late, twice, after the next one, or with a wrong signature. It
 * depends on no provider: each makes its own bodies and signatures.
 */
import { request as httpsRequest } from 'node:https'
import { request as httpRequest } from '#kernel/node-http.ts'
import type { Clock } from '#kernel/time.ts'

export interface SignedWebhook {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export interface OutgoingWebhook {
  /** The provider's name of what happened. */
  readonly kind: string
  /** The provider's id of the request for it; absent when the provider sends it without a request. */
  readonly hookId?: string
  /** The body and headers of an attempt, counted from 1. */
  sign(attempt: number): SignedWebhook
}

/** How a webhook is sent; at once, once and well signed when absent. */
export interface WebhookManner {
  readonly lateMs?: number
  readonly twice?: boolean
  /** It waits until the next webhook was sent. */
  readonly afterNext?: boolean
  /** Its signature is of another body. */
  readonly forged?: boolean
}

/** The result of a webhook. */
export interface SentWebhook {
  readonly kind: string
  readonly hookId: string | null
  readonly madeAt: number
  /** The body of the latest attempt; the first one's before any. */
  body: string
  state: 'waiting' | 'taken' | 'given_up'
  /** The status of each attempt; null when there was no answer. */
  readonly statuses: (number | null)[]
  lastAttemptAt: number | null
}

export interface WebhookSender {
  /** The address to send to; null: nothing is sent, and nothing is remembered. */
  target: string | null
  /** Returns the record, which is updated as it is sent; null without a target. */
  send(webhook: OutgoingWebhook, manner?: WebhookManner): SentWebhook | null
  /** The latest webhooks, the oldest first. */
  readonly sent: readonly SentWebhook[]
  /** Sends what is due by the clock. */
  flush(): void
  /** Resolves when nothing is in flight; webhooks that are due later are not waited for. */
  settled(): Promise<void>
  /** Drops the webhooks that are due later. */
  reset(): void
  close(): Promise<void>
}

export interface WebhookSenderOptions {
  readonly clock: Clock
  /** Milliseconds before each further attempt; after the last one a refused webhook is dropped. */
  readonly retriesMs: readonly number[]
  /** How long an answer may take. */
  readonly timeoutMs: number
}

interface Waiting {
  readonly webhook: OutgoingWebhook
  readonly manner: WebhookManner
  readonly record: SentWebhook
  /** Milliseconds since the epoch; null: when the next one was sent. */
  dueAt: number | null
  attempt: number
}

interface SenderState extends WebhookSenderOptions {
  target: string | null
  readonly sent: SentWebhook[]
  waiting: Waiting[]
  /** Sends one after another, as they were made. */
  line: Promise<void>
  readonly stopping: AbortController
}

const maxRemembered = 1_000
const maxWaiting = 1_000
/** How often the clock is checked for due webhooks. */
const tickMs = 500

export function makeWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const state: SenderState = {
    ...options,
    target: null,
    sent: [],
    waiting: [],
    line: Promise.resolve(),
    stopping: new AbortController(),
  }
  const timer = setInterval(() => flush(state), tickMs)
  timer.unref()
  return {
    get target() {
      return state.target
    },
    set target(address) {
      state.target = address
    },
    sent: state.sent,
    send: (webhook, manner = {}) => take(state, webhook, manner),
    flush: () => flush(state),
    async settled() {
      let line: Promise<void> | null = null
      while (line !== state.line) {
        line = state.line
        await line
      }
    },
    reset() {
      state.waiting = []
    },
    async close() {
      clearInterval(timer)
      state.waiting = []
      state.stopping.abort()
      await state.line
    },
  }
}

function take(
  state: SenderState,
  webhook: OutgoingWebhook,
  manner: WebhookManner,
): SentWebhook | null {
  if (state.target === null) return null
  const now = state.clock.now()
  const record: SentWebhook = {
    kind: webhook.kind,
    hookId: webhook.hookId ?? null,
    madeAt: now,
    body: webhook.sign(1).body,
    state: 'waiting',
    statuses: [],
    lastAttemptAt: null,
  }
  state.sent.push(record)
  if (state.sent.length > maxRemembered) state.sent.shift()
  const dueAt = manner.afterNext === true ? null : now + (manner.lateMs ?? 0)
  const entry: Waiting = { webhook, manner, record, dueAt, attempt: 1 }
  const held = state.waiting.filter((one) => one.dueAt === null)
  wait(state, entry)
  if (entry.dueAt !== null) for (const one of held) one.dueAt = entry.dueAt
  flush(state)
  return record
}

function wait(state: SenderState, entry: Waiting): void {
  state.waiting.push(entry)
  if (state.waiting.length > maxWaiting) state.waiting.shift()
}

function flush(state: SenderState): void {
  const now = state.clock.now()
  const isDue = ({ dueAt }: Waiting) => dueAt !== null && dueAt <= now
  const due = state.waiting.filter(isDue)
  state.waiting = state.waiting.filter((entry) => !isDue(entry))
  // A held-back webhook is sent after the one that it waits for.
  const inOrder = due.toSorted(
    (one, other) => Number(one.manner.afterNext === true) - Number(other.manner.afterNext === true),
  )
  for (const entry of inOrder) {
    state.line = state.line.then(() => deliver(state, entry))
  }
}

async function deliver(state: SenderState, entry: Waiting): Promise<void> {
  const { record, manner } = entry
  const times = manner.twice === true && entry.attempt === 1 ? 2 : 1
  for (let time = 0; time < times; time += 1) {
    const status = await post(state, entry)
    if (state.stopping.signal.aborted) return
    record.statuses.push(status)
    record.lastAttemptAt = state.clock.now()
    if (status !== null && status >= 200 && status <= 299) record.state = 'taken'
  }
  if (record.state === 'taken') return
  const wait = state.retriesMs[entry.attempt - 1]
  if (wait === undefined) {
    record.state = 'given_up'
    return
  }
  state.waiting.push({ ...entry, dueAt: state.clock.now() + wait, attempt: entry.attempt + 1 })
}

/** The status; null when there was no answer in time. */
function post(
  state: SenderState,
  { webhook, manner, record, attempt }: Waiting,
): Promise<number | null> {
  const { body, headers } = webhook.sign(attempt)
  record.body = body
  const sent = manner.forged === true ? `${body.slice(0, -1)},"forged":true}` : body
  const { target, timeoutMs, stopping } = state
  if (target === null) return Promise.resolve(null)
  return new Promise((resolve) => {
    const open = target.startsWith('https:') ? httpsRequest : httpRequest
    const outgoing = open(target, {
      method: 'POST',
      // One connection per webhook: a service that stops must not wait for a kept-alive one.
      agent: false,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(sent),
        ...headers,
      },
      signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(timeoutMs)]),
    })
    outgoing.on('response', (response) => {
      response.resume()
      response.on('close', () => resolve(response.complete ? (response.statusCode ?? null) : null))
    })
    outgoing.on('error', () => resolve(null))
    outgoing.end(sent)
  })
}
