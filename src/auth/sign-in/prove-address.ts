/**
 * The account of whoever proves by a link that mail to an address reaches them. Until then anybody may have
 * made an account with the address. That one is deleted with everything in it, and the prover gets a new one
 * under another id, so that nothing can be left behind: no access, no connection, no setting, no cached
 * answer and no count of failures. Its plan goes on, because only the operator sets plans.
 */
import type { Visitor } from '#contract/actor.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'
import type { PlanRow, UserRow } from '#store/ports/users.ts'

export interface Proven {
  readonly actor: Visitor
  readonly email: string
  readonly name: string | null
  readonly passwordHash: string
  /** IANA name; absent or null: none was told. */
  readonly timezone?: string | null
  readonly at: number
}

const neverSet: PlanRow = { plan: null, status: 'active', legacyUntil: null, grandfathered: false }

/**
 * Call it in the transaction that uses the link. 'taken', with nothing changed: somebody has proven the
 * address before. The sweep of deletions ends the consents of the earlier account at their providers and
 * deletes its rows.
 */
export async function addProven(
  tx: Pick<StoreRows, 'users' | 'audit'>,
  { actor, email, name, passwordHash, timezone = null, at }: Proven,
): Promise<UserRow | 'taken'> {
  const former = await tx.users.find(email)
  if (former !== null) {
    if (!(await tx.users.disarmUnconfirmed(former.id, at))) return 'taken'
    const { id } = former
    await tx.audit({ at, actor, action: 'users.delete', userId: id, details: {} })
  }
  const { plan, status, legacyUntil, grandfathered } = former ?? neverSet
  const user = await tx.users.create({
    // As it was proven, not as a stranger spelled it: mails to the account go there.
    ...{ email, name, passwordHash, timezone },
    ...{ plan, status, legacyUntil, grandfathered },
    ...{ createdAt: at, emailConfirmedAt: at },
  })
  if (user === 'taken') return 'taken'
  const { id: userId } = user
  await tx.audit({ at, actor, action: 'account.signed-up', userId, details: {} })
  return user
}

/** Before `addProven`, outside of its transaction: many deliveries would exceed a statement's time. */
export async function thinOut(
  store: Pick<Store, 'endpoints' | 'deliveries'>,
  userId: UserId,
): Promise<void> {
  for (const { id } of await store.endpoints.list(userId)) await store.deliveries.deleteEnded(id)
}
