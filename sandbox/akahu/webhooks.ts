/**
 * The webhooks of the Akahu emulator: those that a person's token requested, sent with their `state` and
 * signed by a key that can rotate; and the list of sent webhooks, which the app may read. One repetition
 * after a minute, because Akahu's schedule is not documented.
 */
import { generateKeyPairSync, type KeyObject, sign as makeSignature } from 'node:crypto'
import { type Clock, dayMs } from '#kernel/time.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import {
  makeWebhookSender,
  type SentWebhook,
  type WebhookManner,
  type WebhookSender,
} from '../webhook-sender.ts'
import type { AkahuPerson } from './people.ts'
import { digest } from './rows.ts'
import { itemReply, itemsReply, refusal } from './wire.ts'

export const hookTypes = ['TOKEN', 'ACCOUNT', 'TRANSACTION'] as const

/** A requested webhook, as `GET /webhooks` lists it. */
export interface AkahuHook {
  readonly _id: string
  readonly type: string
  readonly state: string
  readonly url: string
  readonly created_at: string
  readonly updated_at: string
  last_called_at?: string
}

/** The fields of one event besides those that every event has. */
export type HookFields = Readonly<Record<string, unknown>>

export interface AkahuWebhooks {
  readonly sender: WebhookSender
  /** Sends the event to every one of the person's hooks of this type. */
  send(
    person: AkahuPerson,
    occurrence: { readonly type: string; readonly code: string; readonly fields?: HookFields },
    manner?: WebhookManner,
  ): readonly SentWebhook[]
  /** Ends all hooks of a person, and sends each an event about it. */
  cancel(person: AkahuPerson): void
  /** Ends them without an event. */
  forget(person: AkahuPerson): void
  hooksOf(person: AkahuPerson): readonly AkahuHook[]
  /** From now on a new key signs; the former ones can still be read. */
  rotateKey(): void
  /** `GET /webhooks`, `POST /webhooks`, `DELETE /webhooks/{id}`, by a person. */
  answerPerson(
    request: EmulatorRequest,
    person: AkahuPerson,
    path: readonly string[],
  ): EmulatorReply
  /** `GET /keys/{id}` and `GET /webhook-events`, by the app; null: another path. */
  answerApp(request: EmulatorRequest, parts: readonly string[]): EmulatorReply | null
}

/** An event of type `ACCOUNT`. */
export function tellAccount(
  webhooks: AkahuWebhooks,
  person: AkahuPerson,
  code: string,
  fields: HookFields,
): readonly SentWebhook[] {
  return webhooks.send(person, { type: 'ACCOUNT', code, fields })
}

const cancelled = 'WEBHOOK_CANCELLED'
const maxHooks = 100
const firstKeyId = 3

interface HookState {
  readonly clock: Clock
  readonly sender: WebhookSender
  /** By the person's id at Akahu: a reset of the sandbox keeps them. */
  readonly hooks: Map<string, AkahuHook[]>
  keyId: number
  made: number
}

export function makeWebhooks(clock: Clock): AkahuWebhooks {
  const sender = makeWebhookSender({ clock, retriesMs: [60_000], timeoutMs: 5000 })
  const state: HookState = { clock, sender, hooks: new Map(), keyId: firstKeyId, made: 0 }
  const hooksOf = (person: AkahuPerson) => state.hooks.get(person.user._id) ?? []
  const tell = (
    hook: AkahuHook,
    code: string,
    how: { fields?: HookFields; manner?: WebhookManner },
  ) => {
    const body = JSON.stringify({
      webhook_type: hook.type,
      webhook_code: code,
      state: hook.state,
      ...how.fields,
    })
    hook.last_called_at = new Date(clock.now()).toISOString()
    const signed = sign(state, body)
    const kind = code === cancelled ? code : `${hook.type}_${code}`
    return sender.send({ kind, hookId: hook._id, sign: () => signed }, how.manner) ?? []
  }
  return {
    sender,
    hooksOf,
    send: (person, { type, code, fields = {} }, manner = {}) =>
      hooksOf(person)
        .filter((hook) => hook.type === type)
        .flatMap((hook) => tell(hook, code, { fields, manner })),
    cancel(person) {
      const hooks = hooksOf(person)
      state.hooks.delete(person.user._id)
      for (const hook of hooks) tell(hook, cancelled, {})
    },
    forget: (person) => void state.hooks.delete(person.user._id),
    rotateKey() {
      state.keyId += 1
    },
    answerPerson(request, person, path) {
      const [id] = path
      if (path.length > 1) return notFound()
      if (request.method === 'GET' && id === undefined) return itemsReply(hooksOf(person))
      if (request.method === 'POST' && id === undefined) return addHook(state, person, request.body)
      if (request.method === 'DELETE' && id !== undefined) return dropHook(state, person, id)
      return notFound()
    },
    answerApp(request, [noun, id, ...rest]) {
      if (request.method !== 'GET' || rest.length > 0) return null
      if (noun === 'keys' && id !== undefined) return showKey(state, id)
      if (noun === 'webhook-events' && id === undefined) return listSent(state, request.query)
      return null
    },
  }
}

const notFound = () => refusal(404, 'Not found')

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

/** The same in every emulator of a process: making a pair takes a tenth of a second. */
const pairs = new Map<number, KeyPair>()

function pairOf(id: number): KeyPair {
  const pair = pairs.get(id) ?? generateKeyPairSync('rsa', { modulusLength: 2048 })
  pairs.set(id, pair)
  return pair
}

function sign({ keyId }: HookState, body: string) {
  const signature = makeSignature('sha256', Buffer.from(body), pairOf(keyId).privateKey)
  return {
    body,
    headers: {
      'x-akahu-signature': signature.toString('base64'),
      'x-akahu-signing-key': String(keyId),
    },
  }
}

function showKey({ keyId }: HookState, text: string): EmulatorReply {
  const id = /^\d{1,6}$/.test(text) ? Number(text) : -1
  if (id < firstKeyId || id > keyId) return refusal(404, 'Key not found')
  return itemReply(pairOf(id).publicKey.export({ type: 'pkcs1', format: 'pem' }))
}

function addHook(state: HookState, person: AkahuPerson, text: string): EmulatorReply {
  const { webhook_type: type, state: reference } = readFields(text)
  if (!hookTypes.some((known) => known === type)) return refusal(400, 'Unknown webhook_type')
  if (reference !== undefined && typeof reference !== 'string') {
    return refusal(400, 'state must be text')
  }
  const hooks = state.hooks.get(person.user._id) ?? []
  if (hooks.length >= maxHooks) return refusal(400, 'Too many webhooks')
  state.made += 1
  const now = new Date(state.clock.now()).toISOString()
  const hook: AkahuHook = {
    _id: `hook_${digest(`hook ${state.made} ${person.user._id}`)}`,
    type: String(type),
    state: reference ?? '',
    url: state.sender.target ?? 'https://webhooks.example.test',
    created_at: now,
    updated_at: now,
  }
  state.hooks.set(person.user._id, [...hooks, hook])
  return { status: 200, body: { success: true, item_id: hook._id } }
}

function dropHook(state: HookState, person: AkahuPerson, id: string): EmulatorReply {
  const hooks = state.hooks.get(person.user._id) ?? []
  const left = hooks.filter(({ _id }) => _id !== id)
  if (left.length === hooks.length) return refusal(404, 'Webhook not found')
  state.hooks.set(person.user._id, left)
  return { status: 200, body: { success: true } }
}

const states = { waiting: 'RETRY', taken: 'SENT', given_up: 'FAILED' } as const

/** Those of the last 30 days, or of the range that is asked for. */
function listSent({ sender, clock }: HookState, query: URLSearchParams): EmulatorReply {
  const wanted = query.get('status') ?? 'SENT'
  const from = Date.parse(query.get('start') ?? '') || clock.now() - 30 * dayMs
  const to = Date.parse(query.get('end') ?? '') || clock.now()
  const found = sender.sent
    .map((one, index) => ({ one, index }))
    .filter(({ one }) => states[one.state] === wanted && one.madeAt >= from && one.madeAt <= to)
  return itemsReply(found.map(({ one, index }) => toWire(one, index)))
}

function toWire({ body, state, madeAt, lastAttemptAt, hookId }: SentWebhook, index: number) {
  const iso = (ms: number) => new Date(ms).toISOString()
  return {
    _id: `whevent_${digest(`${index} ${madeAt}`)}`,
    _hook: hookId,
    status: states[state],
    payload: JSON.parse(body),
    created_at: iso(madeAt),
    updated_at: iso(lastAttemptAt ?? madeAt),
    ...(state === 'taken' || lastAttemptAt === null ? {} : { last_failed_at: iso(lastAttemptAt) }),
  }
}

function readFields(text: string): HookFields {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  } catch {
    // Not JSON: it is refused like a body without a type.
    return {}
  }
}
