/**
 * Consumers of fetched events (reading R42): made by their first request, listed and removed by their owner.
 * With a user's first consumer or endpoint their ledger begins, and a sync of every connection is due
 * (reading R34b); with the last of both it ends.
 */
import { type By, bySystem, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { ConsumerId, UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { ConsumerBounds, ConsumerState } from '#store/ports/consumers.ts'
import type { Store } from '#store/ports/store.ts'
import { beginLedger, endLedgerIfUnused } from './own-ledger.ts'

/**
 * One sight cannot count those of others (reading R43), so it has places of its own. All of them together are
 * bounded as well: narrow keys can be made and revoked without end, and their consumers stay.
 */
const bounds: ConsumerBounds = { ofSight: 20, inAll: 100 }

export interface ConsumerOptions {
  readonly store: Pick<Store, 'transact' | 'consumers'>
  readonly clock: Clock
}

/** @throws ApiError `too_many_consumers`, `invalid_token` when the user is gone. */
export type FindConsumer = (userId: UserId, name: string) => Promise<ConsumerState>
/** @throws ApiError `consumer_not_found`, also for another user's. */
export type RemoveConsumer = (by: By, id: ConsumerId) => Promise<void>

/** The user's consumer of this name, made where there is none. */
export function makeFindConsumer({ store, clock }: ConsumerOptions): FindConsumer {
  return async (userId, name) =>
    (await store.consumers.find(userId, name)) ?? create({ store, clock }, userId, name)
}

function create(
  { store, clock }: ConsumerOptions,
  userId: UserId,
  name: string,
): Promise<ConsumerState> {
  const at = clock.now()
  return store
    .transact(async (tx) => {
      const isFirst = (await tx.ledgers.readKey(userId)) === null
      await beginLedger(tx, userId)
      const made = await tx.consumers.create({ userId, name, createdAt: at }, bounds)
      if (made === 'too_many_of_sight') throw apiError('too_many_consumers')
      if (made === 'too_many') throw apiError('too_many_consumers', { message: tooManyInAll })
      // Any key may make another, and may see less than these connections.
      for (const { id } of isFirst ? await tx.connections.list(userId) : []) {
        await tx.syncs.request(id, { at, reason: 'operator' })
      }
      const details = { consumerId: made.consumer.id }
      await tx.audit({ at, ...bySystem, action: 'consumers.create', userId, details })
      return made
    })
    .catch((error: unknown) => {
      throw error instanceof OwnerGoneError ? apiError('invalid_token', { cause: error }) : error
    })
}

const tooManyInAll = `At most ${bounds.inAll} consumers of events per user, those of narrow keys included; remove one on the page /events, or ask by the name of an existing one`

/** What it has not acknowledged is no longer kept for it. */
export function makeRemoveConsumer({ store, clock }: ConsumerOptions): RemoveConsumer {
  return (by, id) =>
    store.transact(async (tx) => {
      const row = await tx.consumers.get(id)
      if (row === null || !mayActFor(by, row.userId)) throw apiError('consumer_not_found')
      const { userId } = row
      // Locked before consumers are counted, so that a concurrent creation runs before or after.
      await tx.ledgers.readKey(userId)
      await tx.consumers.delete(id)
      await endLedgerIfUnused(tx, userId)
      const about = { userId, details: { consumerId: id } }
      await tx.audit({ at: clock.now(), actor: by.actor, action: 'consumers.remove', ...about })
    })
}
