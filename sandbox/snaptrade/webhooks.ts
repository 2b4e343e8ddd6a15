/**
 * The webhooks of the SnapTrade emulator, signed with the consumer key over the canonical body; three
 * attempts, the first repetition after half an hour. The signature is made by code of its own, not by the
 * adapter's.
 */
import { createHmac } from 'node:crypto'
import type { Clock } from '#kernel/time.ts'
import {
  makeWebhookSender,
  type SentWebhook,
  type WebhookManner,
  type WebhookSender,
} from '../webhook-sender.ts'
import { makeUuid } from './securities.ts'
import type { SnapTradeAccount, SnapTradeConnection } from './shapes.ts'
import { toBrokerage } from './wire.ts'

export const connectionKinds = [
  'CONNECTION_ADDED',
  'CONNECTION_UPDATED',
  'CONNECTION_BROKEN',
  'CONNECTION_FIXED',
  'CONNECTION_DELETED',
  'CONNECTION_ATTEMPTED',
  'CONNECTION_FAILED',
] as const

export const accountKinds = [
  'NEW_ACCOUNT_AVAILABLE',
  'ACCOUNT_REMOVED',
  'ACCOUNT_TRANSACTIONS_INITIAL_UPDATE',
  'ACCOUNT_TRANSACTIONS_UPDATED',
  'ACCOUNT_HOLDINGS_UPDATED',
] as const

export const userKinds = ['USER_REGISTERED', 'USER_DELETED'] as const

export interface About {
  readonly userId: string
  readonly connection?: SnapTradeConnection
  readonly account?: SnapTradeAccount
}

export interface SnapTradeWebhooks {
  readonly sender: WebhookSender
  send(kind: string, about: About, manner?: WebhookManner): readonly SentWebhook[]
}

const retriesMs = [30 * 60_000, 60 * 60_000]

export function makeWebhooks({
  clock,
  credentials,
  isSilent,
}: {
  readonly clock: Clock
  readonly credentials: { readonly clientId: string; readonly consumerKey: string }
  /** None are sent about these people. */
  readonly isSilent: (userId: string) => boolean
}): SnapTradeWebhooks {
  const sender = makeWebhookSender({ clock, retriesMs, timeoutMs: 10_000 })
  const { clientId, consumerKey } = credentials
  let made = 0
  return {
    sender,
    send(kind, about, manner) {
      if (isSilent(about.userId)) return []
      made += 1
      const fields = {
        webhookId: makeUuid(`webhook:${made}:${clock.now()}`),
        clientId,
        // As Python prints it: microseconds and an offset.
        eventTimestamp: `${new Date(clock.now()).toISOString().slice(0, -1)}000+00:00`,
        userId: about.userId,
        eventType: kind,
        ...describe(kind, about),
      }
      const signature = createHmac('sha256', consumerKey).update(canonical(fields)).digest('base64')
      const signed = { body: JSON.stringify(fields), headers: { signature } }
      const record = sender.send({ kind, sign: () => signed }, manner)
      return record === null ? [] : [record]
    },
  }
}

function describe(kind: string, { connection, account }: About): Record<string, unknown> {
  return {
    ...(connection === undefined || kind === 'CONNECTION_ATTEMPTED'
      ? {}
      : { brokerageAuthorizationId: connection.id }),
    ...(connection === undefined ? {} : { brokerageId: toBrokerage(connection.brokerage).id }),
    ...(account === undefined ? {} : { accountId: account.id }),
    ...(kind === 'CONNECTION_ATTEMPTED' ? { connectionAttemptedResult: 'SUCCESS' } : {}),
    ...(kind === 'ACCOUNT_HOLDINGS_UPDATED' ? { details: holdingsUpdated } : {}),
  }
}

const success = { success: true, error: null }
const holdingsUpdated = {
  total_value: success,
  positions: success,
  balances: success,
  orders: success,
}

/** Its ids, times and names are ASCII, so that nothing has to be escaped. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`
}
