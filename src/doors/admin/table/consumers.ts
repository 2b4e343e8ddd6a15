/** Rows of consumers of events in the table of the admin API. */
import { z } from 'zod'
import { type AdminCall, list, time } from './call.ts'

const Consumer = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    createdAt: time,
    lastAskedAt: time.meta({ description: 'To the minute.' }),
    waiting: z.int().min(0).meta({ description: 'Kept events that it has not acknowledged.' }),
  })
  .meta({ id: 'EventConsumer', description: 'Who fetches events from /v1/events, by name.' })

export const consumerCalls = {
  listConsumers: {
    route: 'GET /admin/users/{user}/consumers',
    command: 'consumers list',
    summary: 'list who fetches the events of a user, with the events that wait',
    reply: list(Consumer),
    errors: ['user_not_found'],
  },
  removeConsumer: {
    route: 'DELETE /admin/consumers/{consumer}',
    command: 'consumers remove',
    summary: 'remove a consumer of events',
    description: 'A request by its name makes another one, which begins with the next event.',
    reply: null,
    errors: ['consumer_not_found'],
    audit: ['consumers.remove'],
  },
} as const satisfies Readonly<Record<string, AdminCall>>
