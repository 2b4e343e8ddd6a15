/** Rows of webhook endpoints and their deliveries in the table of the admin API. */
import { z } from 'zod'
import { EventType } from '#contract/events.ts'
import { makeEndpointInput, ReplayInput, RotateInput } from '#webhooks/endpoint-input.ts'
import { pageCursor, pageFields, pageRows } from '../paging.ts'
import { type AdminCall, body, list, pageOf, query, time } from './call.ts'

const place = { id: z.uuid(), url: z.string(), events: z.array(EventType) }
const state = {
  skipEmpty: z.boolean(),
  pending: z.boolean().meta({ description: 'Events of banks have pending rows, too.' }),
  health: z.enum(['healthy', 'degraded', 'paused', 'disabled']),
  failures: z.int().min(0),
  failingSince: time.nullable(),
  disabledReason: z.enum(['owner', 'gone', 'failing']).nullable().meta({
    description: '`gone`: it answered 410.',
  }),
  createdAt: time,
}

const Endpoint = z
  .strictObject({ ...place, ...state })
  .meta({ id: 'Endpoint', description: 'An endpoint without its secret.' })

const NewEndpoint = z
  .strictObject({ ...place, secret: z.string(), ...state })
  .meta({ id: 'NewEndpoint', description: 'The secret is never shown again.' })

const RotatedEndpoint = z
  .strictObject({ ...place, secret: z.string(), previousSecretUntil: time.nullable() })
  .meta({
    id: 'RotatedEndpoint',
    description: 'The new secret, and until when events are also signed with the former one.',
  })

const Attempt = z
  .strictObject({
    at: time,
    status: z.int().nullable().meta({ description: 'Of the answer; null where none came.' }),
    durationMs: z.int().min(0),
    failure: z.string().nullable().meta({ description: 'Why it failed, in words.' }),
    response: z.string().nullable().meta({
      description:
        'The first KiB of the answer without secrets; null once the payload is destroyed.',
    }),
  })
  .meta({ id: 'Attempt', description: 'One attempt to deliver an event.' })

const delivery = {
  id: z.uuid(),
  eventId: z.uuid(),
  status: z.enum(['pending', 'succeeded', 'exhausted', 'missed']).meta({
    description: '`missed`: the endpoint was disabled.',
  }),
  isReplay: z.boolean(),
  createdAt: time,
  nextAttemptAt: time.nullable(),
  attempts: z.array(Attempt),
}

const Delivery = z
  .strictObject(delivery)
  .meta({ id: 'Delivery', description: 'One event for one endpoint, with its attempts.' })

const Replayed = z.strictObject({ ...delivery, replayed: z.literal(1) }).meta({
  id: 'ReplayedDelivery',
  description:
    'The new delivery; where three replays of its event are pending, the newest of them.',
})

const changes = ['webhook_not_found'] as const

export const webhookCalls = {
  createWebhook: {
    route: 'POST /admin/users/{user}/webhooks',
    command: 'webhooks create',
    summary: 'create an endpoint that events are sent to; its secret is shown only once',
    description:
      'A user has at most 20. Where private addresses are refused, `details` names `WEBHOOK_ALLOW_PRIVATE`.',
    input: body(makeEndpointInput(false), {
      url: { value: 'URL', help: 'https, at most 2,048 characters' },
      events: { help: 'some of these; those of syncs when absent' },
      skipEmpty: { help: 'no events of syncs without new or changed rows' },
      pending: { help: 'pending rows of banks, too' },
    }),
    status: 201,
    reply: NewEndpoint,
    errors: ['user_not_found', 'too_many_webhooks'],
    audit: ['webhooks.create'],
  },
  listWebhooks: {
    route: 'GET /admin/users/{user}/webhooks',
    command: 'webhooks list',
    summary: 'list the endpoints of a user, without their secrets',
    description: 'The oldest first.',
    reply: list(Endpoint),
    errors: ['user_not_found'],
  },
  rotateWebhook: {
    route: 'POST /admin/webhooks/{webhook}/rotate',
    command: 'webhooks rotate',
    summary: 'replace the secret of an endpoint; the new one is shown only once',
    input: body(RotateInput, {
      overlapHours: {
        value: 'N',
        help: 'hours in which the former secret signs too, 0 to 168; 24 when absent',
      },
    }),
    reply: RotatedEndpoint,
    errors: changes,
    audit: ['webhooks.rotate'],
  },
  enableWebhook: {
    route: 'POST /admin/webhooks/{webhook}/enable',
    command: 'webhooks enable',
    summary: 'resume sending to an endpoint',
    reply: Endpoint,
    errors: changes,
    audit: ['webhooks.enable'],
  },
  disableWebhook: {
    route: 'POST /admin/webhooks/{webhook}/disable',
    command: 'webhooks disable',
    summary: 'stop sending to an endpoint',
    reply: Endpoint,
    errors: changes,
    audit: ['webhooks.disable'],
  },
  testWebhook: {
    route: 'POST /admin/webhooks/{webhook}/test',
    command: 'webhooks test',
    summary: 'send a test event and show the answer',
    description: 'It answers once the first attempt is made, at the latest after 20 seconds.',
    reply: Delivery,
    errors: ['webhook_not_found', 'webhook_disabled'],
    audit: ['webhooks.test'],
  },
  listDeliveries: {
    route: 'GET /admin/webhooks/{webhook}/deliveries',
    command: 'webhooks deliveries',
    summary: 'list the deliveries of an endpoint with their answers, newest first',
    input: query(z.strictObject({ limit: pageRows(100), cursor: pageCursor }), pageFields(100)),
    reply: pageOf(Delivery),
    errors: changes,
  },
  replayWebhook: {
    route: 'POST /admin/webhooks/{webhook}/replay',
    command: 'webhooks replay',
    summary: 'send every event of a time range again, while the payloads are stored',
    input: body(ReplayInput, {
      from: { value: 'ISO', help: 'accepted from this instant on' },
      to: { value: 'ISO', help: 'and before this one' },
    }),
    reply: z.strictObject({ replayed: z.int().min(0) }),
    errors: ['webhook_not_found', 'webhook_disabled', 'payload_shredded'],
    audit: ['webhooks.replay'],
  },
  replayDelivery: {
    route: 'POST /admin/deliveries/{delivery}/replay',
    command: 'webhooks replay',
    summary: 'send one delivery again, while its payload is stored',
    reply: Replayed,
    errors: ['delivery_not_found', 'webhook_disabled', 'payload_shredded'],
    audit: ['webhooks.replay'],
  },
  removeWebhook: {
    route: 'DELETE /admin/webhooks/{webhook}',
    command: 'webhooks remove',
    summary: 'delete an endpoint with its deliveries',
    reply: null,
    errors: changes,
    audit: ['webhooks.remove'],
  },
} as const satisfies Readonly<Record<string, AdminCall>>
