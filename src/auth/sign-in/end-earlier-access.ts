/**
 * What ends when a mailed link proves for the first time who has the address of an account. Until then anybody may have made
 * the account with it, and their keys, agents and webhook endpoints would outlive the new password and read what its owner links.
 */
import type { Visitor } from '#contract/actor.ts'
import type { UserId } from '#kernel/ids.ts'
import type { AuditAction } from '#store/ports/audit.ts'
import type { StoreRows } from '#store/ports/store.ts'

interface Proven {
  readonly actor: Visitor
  readonly userId: UserId
  readonly at: number
}

/** Every end has its audit row. Call it in the transaction of the new password. */
export async function endEarlierAccess(
  tx: Pick<StoreRows, 'keys' | 'oauth' | 'endpoints' | 'audit'>,
  { actor, userId, at }: Proven,
): Promise<void> {
  const note = (action: AuditAction, subject: string) =>
    tx.audit({ at, actor, action, userId, subject })
  for (const { id, revokedAt } of await tx.keys.list(userId)) {
    if (revokedAt !== null) continue
    await tx.keys.revoke(id, at)
    await note('keys.revoke', id)
  }
  for (const { grantId, clientId } of await tx.oauth.listAgents(userId, at)) {
    await tx.oauth.deleteGrant(grantId)
    await note('agent.disconnected', clientId)
  }
  for (const { id, health, warnedDays } of await tx.endpoints.list(userId)) {
    if (health === 'disabled') continue
    const change = { health: 'disabled', disabledReason: 'owner', warnedDays } as const
    await tx.endpoints.setHealth(id, { ...change, failures: 0, failingSince: null })
    await note('webhooks.disable', id)
  }
}
