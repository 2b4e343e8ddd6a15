/**
 * Webhook endpoints and their deliveries in the admin API. A secret is only in the answer that creates it; every change
 * of an endpoint is an action of the webhooks room.
 */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { byOperator } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { EmptyInput, parseInput } from '#contract/input.ts'
import { toIso } from '#kernel/time.ts'
import type { AttemptRow, DeliveryRow } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import type { AdminDoorDeps } from './deps.ts'
import { pageCursor, pageRows, parseQuery, toPage } from './paging.ts'
import { findUser, readDeliveryId, readEndpointId } from './subjects.ts'

interface UserPath {
  Params: { user: string }
}
interface WebhookPath {
  Params: { webhook: string }
}
interface DeliveryPath {
  Params: { delivery: string }
}

const DeliveriesQuery = z.strictObject({ limit: pageRows(100), cursor: pageCursor })

/** Adds `/admin/users/U/webhooks`, `/admin/webhooks/W` and `/admin/deliveries/D`. */
export function addWebhookRoutes(
  admin: FastifyInstance,
  deps: Pick<AdminDoorDeps, 'store' | 'webhooks'>,
): void {
  const { store, webhooks } = deps

  admin.get<UserPath>('/users/:user/webhooks', async ({ params }) => {
    const user = await findUser(deps, params.user)
    return { data: (await store.endpoints.list(user.id)).map(toEndpoint) }
  })

  admin.post<UserPath>('/users/:user/webhooks', async (request, reply) => {
    const user = await findUser(deps, request.params.user)
    const { row, secret } = await webhooks.createEndpoint(byOperator, user.id, request.body)
    const { id, url, events, ...rest } = toEndpoint(row)
    return reply.code(201).send({ id, url, events, secret, ...rest })
  })

  admin.delete<WebhookPath>('/webhooks/:webhook', async ({ params }, reply) => {
    await webhooks.removeEndpoint(byOperator, readEndpointId(params.webhook))
    return reply.code(204).send()
  })

  admin.post<WebhookPath>('/webhooks/:webhook/rotate', async (request) => {
    const id = readEndpointId(request.params.webhook)
    const { row, secret, previousUntil } = await webhooks.rotateEndpoint(
      byOperator,
      id,
      request.body,
    )
    const { url, events } = row
    return { id, url, events, secret, previousSecretUntil: moment(previousUntil) }
  })

  addSwitches(admin, deps)
  addDeliveryRoutes(admin, deps)
}

function addSwitches(admin: FastifyInstance, { webhooks }: Pick<AdminDoorDeps, 'webhooks'>): void {
  admin.post<WebhookPath>('/webhooks/:webhook/enable', async (request) => {
    const id = readEndpointId(request.params.webhook)
    parseInput(EmptyInput, request.body)
    return toEndpoint(await webhooks.enableEndpoint(byOperator, id))
  })

  admin.post<WebhookPath>('/webhooks/:webhook/disable', async (request) => {
    const id = readEndpointId(request.params.webhook)
    parseInput(EmptyInput, request.body)
    return toEndpoint(await webhooks.disableEndpoint(byOperator, id))
  })
}

function addDeliveryRoutes(
  admin: FastifyInstance,
  { store, webhooks }: Pick<AdminDoorDeps, 'store' | 'webhooks'>,
): void {
  admin.post<WebhookPath>('/webhooks/:webhook/test', async (request) => {
    const id = readEndpointId(request.params.webhook)
    parseInput(EmptyInput, request.body)
    return toDelivery(await webhooks.testEndpoint(byOperator, id))
  })

  admin.get<WebhookPath>('/webhooks/:webhook/deliveries', async (request) => {
    const id = readEndpointId(request.params.webhook)
    const { limit, cursor } = parseQuery(DeliveriesQuery, request.query)
    if ((await store.endpoints.find(id)) === null) throw apiError('webhook_not_found')
    const after = cursor === undefined ? null : cursor.order
    const rows = await store.deliveries.list(id, { after, limit: limit + 1 })
    const place = ({ position, id: last }: DeliveryRow) => ({ order: position, id: last })
    return toPage(rows, limit, { row: toDelivery, place })
  })

  admin.post<WebhookPath>('/webhooks/:webhook/replay', async (request) => {
    const id = readEndpointId(request.params.webhook)
    return { replayed: await webhooks.replayRange(byOperator, id, request.body) }
  })

  admin.post<DeliveryPath>('/deliveries/:delivery/replay', async (request) => {
    const id = readDeliveryId(request.params.delivery)
    parseInput(EmptyInput, request.body)
    const row = await webhooks.replayDelivery(byOperator, id)
    return { ...toDelivery(row), replayed: 1 }
  })
}

const moment = (ms: number | null) => (ms === null ? null : toIso(ms))

function toEndpoint(row: EndpointRow) {
  return {
    id: row.id,
    url: row.url,
    events: row.events,
    skipEmpty: row.skipEmpty,
    health: row.health,
    failures: row.failures,
    failingSince: moment(row.failingSince),
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
    nextAttemptAt: moment(row.dueAt),
    attempts: row.attempts.map(toAttempt),
  }
}

function toAttempt({ at, status, durationMs, failure, response }: AttemptRow) {
  return { at: toIso(at), status, durationMs, failure, response }
}
