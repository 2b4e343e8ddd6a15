/**
 * Sends accepted events again: one delivery, or every event of a time range, while their payloads are stored
 * (reading R33). A replay is sent at once, outside the order of its connection, with the same id and rows.
 */
import type { By } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseInput } from '#contract/input.ts'
import type { DeliveryId, EndpointId } from '#kernel/ids.ts'
import type { DeliveryRow } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { ReplayInput } from './endpoint-input.ts'
import { type EndpointOptions, findOwnDelivery, findOwnEndpoint } from './endpoint-options.ts'

/** Pending at one endpoint, those of the call included. */
export const maxReplayed = 10_000

/**
 * The new delivery; where three replays of its event are pending, the newest of them.
 * @throws ApiError `delivery_not_found`, `webhook_disabled`, `payload_shredded`.
 */
export type ReplayDelivery = (by: By, id: DeliveryId) => Promise<DeliveryRow>

/**
 * Replays every event that was accepted from `from` on and before `to`; returns their number.
 * @throws ApiError `invalid_params`, `webhook_not_found`, `webhook_disabled`, `payload_shredded`.
 */
export type ReplayRange = (by: By, id: EndpointId, input: unknown) => Promise<number>

export function makeReplayDelivery({ store, clock }: EndpointOptions): ReplayDelivery {
  return (by, id) =>
    store.transact(async (tx) => {
      const row = await findOwnDelivery(tx, by, id)
      refuseDisabled(await findOwnEndpoint(tx, by, row.endpointId))
      const at = clock.now()
      const made = await tx.deliveries.replay(id, at)
      if (made === null) throw apiError('payload_shredded')
      const { userId, endpointId } = row
      await tx.audit({
        at,
        actor: by.actor,
        action: 'webhooks.replay',
        userId,
        details: { endpointId },
      })
      return findOwnDelivery(tx, by, made)
    })
}

/** All or nothing: when one payload was shredded, the call fails and nothing is sent. */
export function makeReplayRange({ store, clock }: EndpointOptions): ReplayRange {
  return async (by, id, raw) => {
    const { from, to } = parseInput(ReplayInput, raw)
    if (from > to) {
      throw apiError('invalid_params', { details: ['from: must not be after to'] })
    }
    return store.transact(async (tx) => {
      const row = await findOwnEndpoint(tx, by, id)
      refuseDisabled(row)
      const at = clock.now()
      const range = { from, to, at, limit: maxReplayed }
      const { replayed, shredded, isTooMany } = await tx.deliveries.replayRange(id, range)
      if (shredded > 0) {
        const what = shredded === 1 ? '1 event of this time' : `${shredded} events of this time`
        const message = `The payloads of ${what} were destroyed when their retention ended (EVENT_RETENTION_HOURS); nothing was sent`
        throw apiError('payload_shredded', { message })
      }
      if (isTooMany) {
        const details = [
          `from: more than ${maxReplayed} replays would be pending; choose a shorter time, or wait until earlier replays are sent`,
        ]
        throw apiError('invalid_params', { details })
      }
      const about = { userId: row.userId, details: { endpointId: id } }
      // The entry says that events were sent.
      if (replayed > 0) await tx.audit({ at, actor: by.actor, action: 'webhooks.replay', ...about })
      return replayed
    })
  }
}

function refuseDisabled({ health }: EndpointRow): void {
  if (health === 'disabled') throw apiError('webhook_disabled')
}
