/** Revokes an API key: every process refuses it from then on. Twice keeps the first time, one audit row. */

import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { KeyId } from '#kernel/ids.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import type { AuthActionOptions } from './action-options.ts'

/** @throws ApiError `key_not_found`. */
export type RevokeKey = (by: By, id: KeyId) => Promise<KeyRow>

export function makeRevokeKey(options: AuthActionOptions): RevokeKey {
  return (by, id) =>
    options.store.transact(async (tx) => {
      const at = options.clock.now()
      const row = await tx.keys.revoke(id, at)
      // Thrown inside the transaction, so that another user's key is not changed.
      if (row === null || !mayActFor(by, row.userId)) throw apiError('key_not_found')
      const { wasRevoked, ...key } = row
      const entry = { action: 'keys.revoke', userId: key.userId, details: { keyId: id } } as const
      if (!wasRevoked) await tx.audit({ at, actor: by.actor, ...entry })
      return key
    })
}
