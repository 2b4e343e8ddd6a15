/** The body of an event as it was sent, for its owner, while it is kept. */
import type { By } from '#contract/actor.ts'
import type { DeliveryId } from '#kernel/ids.ts'
import { SealError } from '#store/seal.ts'
import { type EndpointOptions, findOwnDelivery } from './endpoint-options.ts'

/**
 * Null: it was destroyed when its retention ended. 'damaged': it cannot be decrypted.
 * @throws ApiError `delivery_not_found`
 */
export type FindPayload = (by: By, id: DeliveryId) => Promise<Uint8Array | 'damaged' | null>

export function makeFindPayload({ store }: Pick<EndpointOptions, 'store'>): FindPayload {
  return async (by, id) => {
    const { eventId } = await findOwnDelivery(store, by, id)
    try {
      return await store.events.open(eventId)
    } catch (error) {
      if (error instanceof SealError) return 'damaged'
      throw error
    }
  }
}
