/**
 * Creates a webhook endpoint; only this answer contains its secret. With a user's first endpoint their ledger
 * begins (reading R34b) and a sync of every connection is due, so that the first events report the existing
 * rows soon.
 */
import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseInput } from '#contract/input.ts'
import type { UserId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { makeEndpointInput } from './endpoint-input.ts'
import type { EndpointOptions } from './endpoint-options.ts'
import { beginLedger } from './own-ledger.ts'
import { mintSecret } from './sign.ts'

/** The largest number of endpoints per user, including disabled ones. */
export const maxEndpoints = 20

/**
 * The stored row and its secret.
 * @throws ApiError `invalid_params`, `too_many_webhooks`, `user_not_found`.
 */
export type CreateEndpoint = (
  by: By,
  userId: UserId,
  input: unknown,
) => Promise<{ readonly row: EndpointRow; readonly secret: string }>

export function makeCreateEndpoint({
  store,
  clock,
  allowPrivate,
}: EndpointOptions): CreateEndpoint {
  const EndpointInput = makeEndpointInput(allowPrivate)
  return async (by, userId, raw) => {
    const input = parseInput(EndpointInput, raw)
    if (!mayActFor(by, userId)) throw apiError('user_not_found')
    const secret = mintSecret()
    const at = clock.now()
    const row = await store
      .transact(async (tx) => {
        await beginLedger(tx, userId)
        const made = await tx.endpoints.create(
          { ...input, userId, secret, createdAt: at },
          maxEndpoints,
        )
        if (made === 'too_many') throw apiError('too_many_webhooks')
        for (const { id } of await tx.connections.list(userId)) {
          await tx.syncs.request(id, { at, reason: 'operator' })
        }
        const details = { endpointId: made.id }
        await tx.audit({ at, actor: by.actor, action: 'webhooks.create', userId, details })
        return made
      })
      .catch((error: unknown) => {
        throw error instanceof OwnerGoneError ? apiError('user_not_found', { cause: error }) : error
      })
    return { row, secret }
  }
}
