/** Narrow keys of a user of the running service. */
import { byOperator } from '#contract/actor.ts'
import type { KeyScope } from '#contract/key-scopes.ts'
import type { Service, ServiceUser } from '#tests/support/service.ts'

export interface NarrowLimits {
  readonly scopes?: readonly KeyScope[]
  readonly connectionIds?: readonly string[]
  readonly accountIds?: readonly string[]
  readonly addresses?: readonly string[]
}

/** Another key of the same user, with these limits. */
export async function addNarrowKey(
  { app, clock }: Service,
  user: ServiceUser,
  limits: NarrowLimits,
): Promise<ServiceUser> {
  const { id, store } = { id: user.id, store: app.store }
  const made = await app.actions.createKey(byOperator, id, limits)
  // Twenty are active at most, and a test makes many.
  const kept = [user.keyId, made.row.id]
  const others = (await store.keys.list(id)).filter(
    (row) => row.revokedAt === null && !kept.includes(row.id),
  )
  for (const { id: keyId } of others.slice(16)) await store.keys.revoke(keyId, clock.now())
  return { id, key: made.key, keyId: made.row.id }
}
