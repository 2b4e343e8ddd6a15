/** What actions on endpoints need. */
import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { DeliveryId, EndpointId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { DeliveryRow } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'

export interface EndpointOptions {
  readonly store: Pick<Store, 'transact' | 'endpoints' | 'deliveries' | 'events' | 'consumers'>
  readonly clock: Clock
  /** `WEBHOOK_ALLOW_PRIVATE`. */
  readonly allowPrivate: boolean
}

/** @throws ApiError `webhook_not_found`, also for another user's endpoint. */
export async function findOwnEndpoint(
  { endpoints }: Pick<StoreRows, 'endpoints'>,
  by: By,
  id: EndpointId,
): Promise<EndpointRow> {
  const row = await endpoints.find(id)
  if (row === null || !mayActFor(by, row.userId)) throw apiError('webhook_not_found')
  return row
}

/** @throws ApiError `invalid_params` for an endpoint whose URL cannot be decrypted. */
export function refuseDamaged({ id, url }: EndpointRow): void {
  if (url !== '') return
  throw apiError('invalid_params', {
    message: `The URL of this endpoint cannot be decrypted, so nothing can be sent to it; remove it with \`tributary webhooks remove ${id}\` and create it again`,
  })
}

/** @throws ApiError `delivery_not_found`, also for another user's delivery. */
export async function findOwnDelivery(
  { deliveries }: Pick<StoreRows, 'deliveries'>,
  by: By,
  id: DeliveryId,
): Promise<DeliveryRow> {
  const row = await deliveries.find(id)
  if (row === null || !mayActFor(by, row.userId)) throw apiError('delivery_not_found')
  return row
}
