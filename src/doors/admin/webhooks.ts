/**
 * Webhook endpoints and their deliveries in the admin API. A secret is only in the answer that creates it;
 * every change of an endpoint is an action of the webhooks room.
 */
import { byOperator } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { toIso, toIsoOrNull } from '#kernel/time.ts'
import type { DeliveryRow } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import type { AdminHandlers } from './handler.ts'
import type { AdminDoorOptions } from './options.ts'
import { toPage } from './paging.ts'
import { findUser } from './subjects.ts'
import type { webhookCalls } from './table/webhooks.ts'

export function makeWebhookHandlers(
  options: AdminDoorOptions,
): AdminHandlers<keyof typeof webhookCalls> {
  const { store, webhooks } = options
  return {
    async createWebhook({ user, body }) {
      const { id: userId } = await findUser(options, user)
      const { row, secret } = await webhooks.createEndpoint(byOperator, userId, body)
      const { id, url, events, ...rest } = toEndpoint(row)
      return { id, url, events, secret, ...rest }
    },
    async listWebhooks({ user }) {
      const { id } = await findUser(options, user)
      return { data: (await store.endpoints.list(id)).map(toEndpoint) }
    },
    async rotateWebhook({ webhook: id, body }) {
      const { row, secret, previousUntil } = await webhooks.rotateEndpoint(byOperator, id, body)
      const { url, events } = row
      return { id, url, events, secret, previousSecretUntil: toIsoOrNull(previousUntil) }
    },
    enableWebhook: async ({ webhook }) =>
      toEndpoint(await webhooks.enableEndpoint(byOperator, webhook)),
    disableWebhook: async ({ webhook }) =>
      toEndpoint(await webhooks.disableEndpoint(byOperator, webhook)),
    testWebhook: async ({ webhook }) =>
      toDelivery(await webhooks.testEndpoint(byOperator, webhook)),
    async listDeliveries({ webhook, query: { limit, cursor } }) {
      if ((await store.endpoints.find(webhook)) === null) throw apiError('webhook_not_found')
      const after = cursor === undefined ? null : cursor.order
      const rows = await store.deliveries.list(webhook, { after, limit: limit + 1 })
      const place = ({ position, id }: DeliveryRow) => ({ order: position, id })
      return toPage(rows, limit, { row: toDelivery, place })
    },
    replayWebhook: async ({ webhook, body }) => ({
      replayed: await webhooks.replayRange(byOperator, webhook, body),
    }),
    async replayDelivery({ delivery }) {
      const row = await webhooks.replayDelivery(byOperator, delivery)
      return { ...toDelivery(row), replayed: 1 }
    },
    async removeWebhook({ webhook }) {
      await webhooks.removeEndpoint(byOperator, webhook)
      return undefined
    },
  }
}

function toEndpoint(row: EndpointRow) {
  return {
    id: row.id,
    url: row.url,
    events: row.events,
    skipEmpty: row.skipEmpty,
    pending: row.pending,
    health: row.health,
    failures: row.failures,
    failingSince: toIsoOrNull(row.failingSince),
    disabledReason: row.disabledReason,
    createdAt: toIso(row.createdAt),
  }
}

function toDelivery(row: DeliveryRow) {
  return {
    id: row.id,
    eventId: row.eventId,
    status: row.status,
    isReplay: row.isReplay,
    createdAt: toIso(row.createdAt),
    nextAttemptAt: toIsoOrNull(row.dueAt),
    attempts: row.attempts.map(({ at, status, durationMs, failure, response }) => ({
      at: toIso(at),
      status,
      durationMs,
      failure,
      response,
    })),
  }
}
