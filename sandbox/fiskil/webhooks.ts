/**
 * The webhooks of the Fiskil emulator: one for each consent that an event is about, signed with the key of
 * the Console, up to five attempts within a quarter of an hour.
 */
import { createHmac } from 'node:crypto'
import type { Clock } from '#kernel/time.ts'
import {
  makeWebhookSender,
  type SentWebhook,
  type WebhookManner,
  type WebhookSender,
} from '../webhook-sender.ts'
import type { SandboxConsent, SandboxPerson } from './world.ts'

/** The signing secret of the demo and the tests; it is used nowhere else. */
export const fiskilDemoWebhookSecret = 'c2FuZGJveC1maXNraWwtd2ViaG9vay1zZWNyZXQ='

export const fiskilWebhookKinds = [
  'consent.received',
  'consent.updated',
  'consent.revoked',
  'banking.accounts.sync.completed',
  'banking.balances.sync.completed',
  'banking.transactions.basic.sync.completed',
  'banking.transactions.recent.sync.completed',
  'banking.transactions.sync.completed',
  'banking.transactions.sync.failed',
  'banking.payees.sync.completed',
  'common.identity.sync.completed',
] as const

export interface FiskilWebhooks {
  readonly sender: WebhookSender
  /** Sends one about each of these consents. */
  send(
    kind: string,
    about: { readonly person: SandboxPerson; readonly consents: readonly SandboxConsent[] },
    manner?: WebhookManner,
  ): readonly SentWebhook[]
}

/** Back-off from one to ten minutes, five attempts in all. */
const retriesMs = [60_000, 120_000, 300_000, 600_000]

export function makeWebhooks({
  clock,
  clientId,
}: {
  readonly clock: Clock
  readonly clientId: string
}): FiskilWebhooks {
  const sender = makeWebhookSender({ clock, retriesMs, timeoutMs: 10_000 })
  const key = Buffer.from(fiskilDemoWebhookSecret, 'base64')
  let made = 0

  function makeBody(kind: string, person: SandboxPerson, consent: SandboxConsent) {
    made += 1
    const publishTime = new Date(clock.now()).toISOString()
    const messageId = String(9_790_000_000_000_000n + BigInt(made))
    return (attempt: number) =>
      JSON.stringify({
        delivery_attempt: attempt,
        publish_time: publishTime,
        message_id: messageId,
        data: {
          event: kind,
          end_user_id: person.endUserId,
          client_id: clientId,
          institution_id: consent.institutionId,
          consent_id: consent.arrangementId,
          ...(kind.startsWith('banking.')
            ? { account_ids: consent.accounts.map(({ body }) => body.account_id) }
            : {}),
        },
      })
  }

  return {
    sender,
    send(kind, { person, consents }, manner) {
      return consents.flatMap((consent) => {
        const bodyOf = makeBody(kind, person, consent)
        const sign = (attempt: number) => {
          const body = bodyOf(attempt)
          const signature = createHmac('sha256', key).update(body).digest('base64')
          return { body, headers: { 'x-fiskil-signature': signature } }
        }
        return sender.send({ kind, sign }, manner) ?? []
      })
    },
  }
}
