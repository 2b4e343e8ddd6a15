/**
 * Changes of an existing endpoint: rotate its secret, enable, disable, remove. Each is one transaction with
 * its audit row; enabling or disabling again changes nothing and makes none. Other users' endpoints are not
 * found.
 */
import type { By } from '#contract/actor.ts'
import { parseInput } from '#contract/input.ts'
import type { EndpointId } from '#kernel/ids.ts'
import { hourMs } from '#kernel/time.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import type { StoreRows } from '#store/ports/store.ts'
import { RotateInput } from './endpoint-input.ts'
import { type EndpointOptions, findOwnEndpoint, refuseDamaged } from './endpoint-options.ts'
import { wellAgain } from './health.ts'
import { endLedgerIfUnused } from './own-ledger.ts'
import { mintSecret } from './sign.ts'

/** @throws ApiError `invalid_params`, `webhook_not_found`. */
export type RotateEndpoint = (
  by: By,
  id: EndpointId,
  input: unknown,
) => Promise<{
  readonly row: EndpointRow
  readonly secret: string
  /** Until then events are also signed with the former secret; null: only with the new one. */
  readonly previousUntil: number | null
}>
/** @throws ApiError `webhook_not_found`. */
export type ChangeEndpoint = (by: By, id: EndpointId) => Promise<EndpointRow>
/** @throws ApiError `webhook_not_found`. */
export type RemoveEndpoint = (by: By, id: EndpointId) => Promise<void>

/** Replaces the secret. The former one also signs for some hours, so that the receiver can change over. */
export function makeRotateEndpoint(options: EndpointOptions): RotateEndpoint {
  return async (by, id, raw) => {
    const { overlapHours } = parseInput(RotateInput, raw)
    const secret = mintSecret()
    const at = options.clock.now()
    const until = overlapHours === 0 ? null : at + overlapHours * hourMs
    return options.store.transact(async (tx) => {
      const row = await findOwnEndpoint(tx, by, id)
      refuseDamaged(row)
      const previousUntil = await tx.endpoints.rotate(id, secret, until)
      await note(tx, { by, at, action: 'webhooks.rotate', row })
      return { row, secret, previousUntil }
    })
  }
}

/** Makes the endpoint healthy: waiting deliveries are sent at once, missed ones only by a replay. */
export function makeEnableEndpoint(options: EndpointOptions): ChangeEndpoint {
  return (by, id) =>
    options.store.transact(async (tx) => {
      const row = await findOwnEndpoint(tx, by, id)
      await tx.endpoints.setHealth(id, wellAgain)
      const isNews = row.health !== 'healthy' || row.failures > 0
      if (isNews) await note(tx, { by, at: options.clock.now(), action: 'webhooks.enable', row })
      return { ...row, ...wellAgain }
    })
}

/** Stops sending; events accepted meanwhile become `missed` and can be replayed. */
export function makeDisableEndpoint(options: EndpointOptions): ChangeEndpoint {
  return (by, id) =>
    options.store.transact(async (tx) => {
      const row = await findOwnEndpoint(tx, by, id)
      const change = { ...wellAgain, health: 'disabled', disabledReason: 'owner' } as const
      await tx.endpoints.setHealth(id, change)
      const isNews = row.health !== 'disabled' || row.disabledReason !== 'owner'
      const details = { endpointId: id, reason: 'owner' }
      const entry = { action: 'webhooks.disable', userId: row.userId, details } as const
      if (isNews) await tx.audit({ at: options.clock.now(), actor: by.actor, ...entry })
      return { ...row, ...change }
    })
}

/**
 * Deletes the endpoint with its deliveries; with the user's last endpoint or consumer the ledger ends
 * (reading R34b).
 */
export function makeRemoveEndpoint(options: EndpointOptions): RemoveEndpoint {
  return async (by, id) => {
    await findOwnEndpoint(options.store, by, id)
    await options.store.deliveries.deleteEnded(id)
    return options.store.transact(async (tx) => {
      const row = await findOwnEndpoint(tx, by, id)
      // Lock the ledger before counting endpoints, so that a concurrent creation runs before or after.
      await tx.ledgers.readKey(row.userId)
      await tx.endpoints.delete(id)
      await endLedgerIfUnused(tx, row.userId)
      await note(tx, { by, at: options.clock.now(), action: 'webhooks.remove', row })
    })
  }
}

interface Change {
  readonly by: By
  readonly at: number
  readonly action: 'webhooks.enable' | 'webhooks.remove' | 'webhooks.rotate'
  readonly row: EndpointRow
}

function note(tx: Pick<StoreRows, 'audit'>, { by, at, action, row }: Change): Promise<void> {
  const details = { endpointId: row.id }
  return tx.audit({ at, actor: by.actor, action, userId: row.userId, details })
}
