/**
 * SnapTrade's webhooks (docs/providers/snaptrade.md, Webhooks): verifies signature and age, then translates
 * the event into notices. The deprecated `webhookSecret` in a body is not read.
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
  type WebhookFields,
} from '../webhook-body.ts'
import { toCanonicalJson } from './canonical.ts'

export interface SnapTradeWebhookOptions {
  readonly consumerKey: string
  readonly clock: Clock
  /** Receives what is outside the known lists. */
  readonly odd: (what: string) => void
}

/**
 * Retries begin after half an hour, and whether they get a new time is not known: an hour would lose them.
 */
const maxAgeMs = dayMs
const keyLifeMs = 7 * dayMs

const changes: ReadonlyMap<string, 'accounts' | 'rows' | 'holdings'> = new Map([
  ['CONNECTION_ADDED', 'accounts'],
  ['CONNECTION_UPDATED', 'accounts'],
  ['NEW_ACCOUNT_AVAILABLE', 'accounts'],
  ['ACCOUNT_REMOVED', 'accounts'],
  ['ACCOUNT_TRANSACTIONS_INITIAL_UPDATE', 'rows'],
  ['ACCOUNT_TRANSACTIONS_UPDATED', 'rows'],
  ['ACCOUNT_HOLDINGS_UPDATED', 'holdings'],
])

const statuses: ReadonlyMap<string, 'active' | 'invalidated' | 'revoked'> = new Map([
  ['CONNECTION_BROKEN', 'invalidated'],
  ['CONNECTION_FIXED', 'active'],
  ['CONNECTION_DELETED', 'revoked'],
])

/** Known; they concern the portal, users as a whole, or orders. */
const ignored: ReadonlySet<string> = new Set([
  'CONNECTION_ATTEMPTED',
  'CONNECTION_FAILED',
  'USER_REGISTERED',
  'USER_DELETED',
  'TRADE_DETECTION',
  'TRADE_UPDATE',
])

export function makeSnapTradeWebhooks(options: SnapTradeWebhookOptions): WebhookReceiver {
  const { clock, consumerKey } = options
  return {
    async receive({ header, body }) {
      const signature = header('signature')
      if (signature === undefined) return { kind: 'refused', reason: 'unsigned' }
      const text = readWebhookText(body)
      if (!isSigned(consumerKey, { body, text, signature })) {
        return { kind: 'refused', reason: 'forged' }
      }
      const fields = text === null ? null : readWebhookFields(text)
      const at = readTime(fields?.eventTimestamp)
      if (fields === null || at === null) return { kind: 'refused', reason: 'unreadable' }
      if (Math.abs(clock.now() - at) > maxAgeMs) return { kind: 'refused', reason: 'too_old' }
      const id = readShortText(fields.webhookId)
      return {
        kind: 'accepted',
        key: digestOf(id ?? body),
        keyLifeMs,
        notices: toNotices(options, fields, at),
      }
    },
  }
}

interface Signed {
  readonly body: Uint8Array
  readonly text: string | null
  readonly signature: string
}

/** The canonical form is signed; whether bodies arrive in it is open, so the raw bytes are tried first. */
function isSigned(key: string, { body, text, signature }: Signed): boolean {
  if (isBase64Of(createHmac('sha256', key).update(body).digest(), signature)) return true
  const canonical = text === null ? null : toCanonicalJson(text)
  if (canonical === null) return false
  return isBase64Of(createHmac('sha256', key).update(canonical).digest(), signature)
}

function toNotices(
  { odd }: SnapTradeWebhookOptions,
  fields: WebhookFields,
  at: number,
): readonly WebhookNotice[] {
  const type = readShortText(fields.eventType) ?? ''
  const change = toChange(type, at)
  if (change === null) {
    if (!ignored.has(type)) odd('unknown webhook')
    return []
  }
  const upstreamUserId = readShortText(fields.userId)
  if (upstreamUserId === null) {
    odd('webhook without a person')
    return []
  }
  const connection = readShortText(fields.brokerageAuthorizationId)
  const account = readShortText(fields.accountId)
  const isStatus = change.kind === 'status'
  return [
    {
      login: { upstreamUserId },
      connection: connection === null ? null : upstreamId(connection),
      // Another id may be the renewal of a known one; a status belongs only to its own connection.
      institutionId: isStatus ? null : readShortText(fields.brokerageId),
      account: account === null ? null : upstreamId(account),
      refreshedAt: null,
      // A status without a connection id applies to no connection.
      change: isStatus && connection === null ? { kind: 'consent' } : change,
    },
  ]
}

function toChange(type: string, at: number): WebhookChange | null {
  const status = statuses.get(type)
  if (status !== undefined) return { kind: 'status', status, at }
  const kind = changes.get(type)
  return kind === undefined ? null : { kind }
}

function readTime(value: unknown): number | null {
  const at = typeof value === 'string' ? parseInstant(value) : null
  return at === null ? null : toMillis(at)
}
