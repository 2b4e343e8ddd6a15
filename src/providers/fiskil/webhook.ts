/**
 * Fiskil's webhooks (docs/providers/fiskil.md, Webhooks): verifies the signature, then translates the event
 * into notices. The status of a consent is never taken from an event: `consent.revoked` is also sent when one
 * expired, and only the list of consents distinguishes the two.
 */
import { createHmac } from 'node:crypto'
import { upstreamId } from '#kernel/ids.ts'
import { type Clock, dayMs, parseInstant, toMillis } from '#kernel/time.ts'
import type { WebhookChange, WebhookNotice, WebhookReceiver } from '../port.ts'
import {
  digestOf,
  isBase64Of,
  readShortText,
  readWebhookFields,
  readWebhookText,
  toFields,
  type WebhookFields,
} from '../webhook-body.ts'

export interface FiskilWebhookOptions {
  /** The signing secret of the Console: Base64 of the key. */
  readonly secret: string
  readonly clock: Clock
  /** Receives what is outside the known lists. */
  readonly odd: (what: string) => void
}

/** Deliveries of one message end within an hour. */
const keyLifeMs = dayMs

const changes: ReadonlyMap<string, WebhookChange> = new Map([
  ['consent.received', { kind: 'consent' }],
  ['consent.updated', { kind: 'consent' }],
  ['consent.revoked', { kind: 'consent' }],
  ['banking.accounts.sync.completed', { kind: 'accounts' }],
  ['banking.balances.sync.completed', { kind: 'balances' }],
  ['banking.transactions.basic.sync.completed', { kind: 'rows' }],
  ['banking.transactions.recent.sync.completed', { kind: 'rows' }],
  ['banking.transactions.sync.completed', { kind: 'rows' }],
])

/** Known events about data that we do not serve. */
const ignored: ReadonlySet<string> = new Set([
  'banking.payees.sync.completed',
  'banking.directdebits.sync.completed',
  'banking.scheduledpayments.sync.completed',
  'banking.products.sync.completed',
  'common.identity.sync.completed',
])

/** Seen in the code of integrators, not in the documentation; our own sync shows whether rows can be read. */
const syncFailed = 'banking.transactions.sync.failed'

export function makeFiskilWebhooks(options: FiskilWebhookOptions): WebhookReceiver {
  const key = Buffer.from(options.secret, 'base64')
  return {
    async receive({ header, body }) {
      const signature = header('x-fiskil-signature')
      if (signature === undefined) return { kind: 'refused', reason: 'unsigned' }
      if (!isSigned(key, body, signature)) return { kind: 'refused', reason: 'forged' }
      const text = readWebhookText(body)
      const fields = text === null ? null : readWebhookFields(text)
      if (fields === null) return { kind: 'refused', reason: 'unreadable' }
      // A repeated delivery has another `delivery_attempt`, but the same id.
      const id = readShortText(fields.message_id)
      return {
        kind: 'accepted',
        // Blanks are not signed: a blank added to the id must not make a repetition look new.
        key: digestOf(withoutBlanks(id === null ? body : Buffer.from(id))),
        keyLifeMs,
        notices: toNotices(options, fields),
      }
    },
  }
}

/**
 * The documentation signs the raw body in one example and the body without blanks and line ends in another.
 */
function isSigned(key: Uint8Array, body: Uint8Array, signature: string): boolean {
  const ofRaw = isBase64Of(createHmac('sha256', key).update(body).digest(), signature)
  const ofBare = isBase64Of(
    createHmac('sha256', key).update(withoutBlanks(body)).digest(),
    signature,
  )
  return ofRaw || ofBare
}

function withoutBlanks(bytes: Uint8Array): Uint8Array {
  return bytes.filter((byte) => byte !== 32 && byte !== 10 && byte !== 13)
}

function toNotices(
  { clock, odd }: FiskilWebhookOptions,
  fields: WebhookFields,
): readonly WebhookNotice[] {
  const data = toFields(fields.data) ?? {}
  const event = readShortText(data.event)
  const change = changes.get(event ?? '')
  if (change === undefined) {
    if (event === syncFailed) odd('transactions sync failed at the bank')
    else if (!ignored.has(event ?? '')) odd('unknown webhook')
    return []
  }
  const upstreamUserId = readShortText(data.end_user_id)
  if (upstreamUserId === null) {
    odd('webhook without a person')
    return []
  }
  const consent = readShortText(data.consent_id)
  return [
    {
      login: { upstreamUserId },
      // Taken to be the arrangement id; a renewed consent may have another one.
      connection: consent === null ? null : upstreamId(consent),
      institutionId: readShortText(data.institution_id),
      account: null,
      refreshedAt: change.kind === 'consent' ? null : readPublished(fields, clock.now()),
      change,
    },
  ]
}

/** When the provider finished reading the bank. */
function readPublished({ publish_time: time }: WebhookFields, nowMs: number): number | null {
  const at = typeof time === 'string' ? parseInstant(time) : null
  return at === null ? null : Math.min(toMillis(at), nowMs)
}
