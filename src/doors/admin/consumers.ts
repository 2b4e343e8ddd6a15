/** Consumers of events in the admin API. */
import { byOperator } from '#contract/actor.ts'
import { toIso } from '#kernel/time.ts'
import type { AdminHandlers } from './handler.ts'
import type { AdminDoorOptions } from './options.ts'
import { findUser } from './subjects.ts'
import type { consumerCalls } from './table/consumers.ts'

export function makeConsumerHandlers(
  options: AdminDoorOptions,
): AdminHandlers<keyof typeof consumerCalls> {
  const { store, webhooks } = options
  return {
    async listConsumers({ user }) {
      const { id: userId } = await findUser(options, user)
      const rows = await store.consumers.list(userId)
      return {
        data: rows.map(({ id, name, createdAt, askedAt, waiting }) => ({
          id,
          name,
          createdAt: toIso(createdAt),
          lastAskedAt: toIso(askedAt),
          waiting,
        })),
      }
    },
    async removeConsumer({ consumer }) {
      await webhooks.removeConsumer(byOperator, consumer)
      return undefined
    },
  }
}
