/** Webhooks as a test sends them itself: signed with the sandbox's own secrets, or not. */
import { createHmac } from 'node:crypto'
import { request } from 'undici'
import type { ConnectionId } from '#kernel/ids.ts'
import { fiskilDemoWebhookSecret } from '#sandbox/fiskil/index.ts'
import { demoCredentials } from '#sandbox/snaptrade/index.ts'
import type { Service } from '#tests/support/service.ts'

export interface Posted {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
  readonly body: any
}

export const pathOf = (provider: string) => `/providers/${provider}/webhook`

export async function post(
  service: Service,
  provider: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<Posted> {
  const answer = await request(service.baseUrl + pathOf(provider), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, headers: answer.headers, body: JSON.parse(text) }
}

export function signFiskil(body: string): Readonly<Record<string, string>> {
  const key = Buffer.from(fiskilDemoWebhookSecret, 'base64')
  return { 'x-fiskil-signature': createHmac('sha256', key).update(body).digest('base64') }
}

export function signSnapTrade(body: string): Readonly<Record<string, string>> {
  const { consumerKey } = demoCredentials
  return { signature: createHmac('sha256', consumerKey).update(body).digest('base64') }
}

let messages = 0

/** A webhook of Fiskil about a person's consent, with a message id of its own. */
export function fiskilBody(event: string, data: Readonly<Record<string, unknown>> = {}): string {
  messages += 1
  return JSON.stringify({
    delivery_attempt: 1,
    publish_time: '2026-11-21T02:00:00Z',
    message_id: `message-${messages}`,
    data: { event, end_user_id: 'eu_sandbox_healthy', client_id: 'client', ...data },
  })
}

/** A webhook of SnapTrade, by default with the service's current time. */
export function snapTradeBody(service: Service, fields: Readonly<Record<string, unknown>>): string {
  messages += 1
  return JSON.stringify({
    webhookId: `webhook-${messages}`,
    eventTimestamp: new Date(service.clock.now()).toISOString(),
    userId: service.sandbox.snaptrade.people.healthy.userId,
    ...fields,
  })
}

/** Ends what is due, so that only what is requested from now on is. */
export async function endSyncs({ app, clock }: Service): Promise<void> {
  await requestedSyncs({ app, clock })
}

/** The connections whose sync a provider requested since the last look; in no process does one run. */
export async function requestedSyncs({
  app,
  clock,
}: Pick<Service, 'app' | 'clock'>): Promise<ConnectionId[]> {
  const now = clock.now()
  const { syncs } = app.store
  const claimed = await syncs.claimDue({ now, leaseMs: 60_000, limit: 1000 })
  for (const { runId } of claimed) {
    const counts = { newCount: 0, updatedCount: 0, chunks: 0, rowsReadAt: null, ledgerFrom: null }
    const outcome = { kind: 'succeeded', ...counts } as const
    await syncs.finish(runId, { outcome, endedAt: now, nextDueAt: now + 365 * 86_400_000 })
  }
  return claimed.filter(({ reason }) => reason === 'provider').map((sync) => sync.connectionId)
}

/** What the metrics count for a provider and an outcome. */
export async function countOf(service: Service, provider: string, outcome: string) {
  const text = await service.metrics.text()
  const line = `tributary_provider_webhooks_total{provider="${provider}",outcome="${outcome}"} `
  const found = text.split('\n').find((one) => one.startsWith(line))
  return Number(found?.slice(line.length) ?? 0)
}
