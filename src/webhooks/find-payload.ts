/** The body of an event as it was sent, for its owner, while it is kept. */
import type { By } from '#contract/actor.ts'
import type { DeliveryId } from '#kernel/ids.ts'
import { type EndpointOptions, findOwnDelivery } from './endpoint-options.ts'

/**
 * Null: it was destroyed when its retention ended.
 * @throws ApiError `delivery_not_found`
 */
export type FindPayload = (by: By, id: DeliveryId) => Promise<Uint8Array | null>

export function makeFindPayload({ store }: Pick<EndpointOptions, 'store'>): FindPayload {
  return async (by, id) => {
    const { eventId } = await findOwnDelivery(store, by, id)
    return store.events.open(eventId)
  }
}
