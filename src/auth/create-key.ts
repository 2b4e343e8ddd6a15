/**
 * Creates an API key for a user, the same for every door. A person or an operator gives a user at most twenty
 * active keys; the demo of sandbox mode adds its own whatever their number is. The key itself appears only in
 * the reply that creates it.
 */

import { z } from 'zod'
import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { instant, nameText, parseInput } from '#contract/input.ts'
import type { UserId } from '#kernel/ids.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import type { AuthActionOptions } from './action-options.ts'
import { findKeyLimits, keyLimitFields } from './key-limits.ts'
import { hasKeyExpired, type MintedKey, mintKey } from './keys.ts'

/** Revoked and expired keys do not count. */
const maxActiveKeys = 20

export const NewKeyInput = z.strictObject({
  name: nameText(1).default('API key'),
  expires: instant.nullable().default(null),
  ...keyLimitFields,
})

/**
 * The stored row and the key itself. `minted`: the demo's own key; absent: a random one.
 * @throws ApiError `invalid_params`, `too_many_keys`, `user_not_found`.
 */
export type CreateKey = (
  by: By,
  userId: UserId,
  input: unknown,
  minted?: MintedKey,
) => Promise<{ readonly row: KeyRow; readonly key: string }>

/** Counting, inserting and the audit row are one transaction: parallel requests cannot exceed the maximum. */
export function makeCreateKey(options: AuthActionOptions): CreateKey {
  return async (by, userId, raw, minted = mintKey()) => {
    const { name, expires, ...limits } = parseInput(NewKeyInput, raw)
    const at = options.clock.now()
    if (hasKeyExpired(expires, at)) {
      throw apiError('invalid_params', { details: ['expires: must lie in the future'] })
    }
    if (!mayActFor(by, userId)) throw apiError('user_not_found')
    const { key, prefix, hash } = minted
    const most = by.actor.kind === 'system' ? Number.POSITIVE_INFINITY : maxActiveKeys
    const row = await options.store.transact(async (tx) => {
      const made = await tx.keys.createWithin(
        {
          ...{ userId, name, expiresAt: expires, prefix, hash, createdAt: at },
          ...(await findKeyLimits(tx, userId, limits)),
        },
        most,
      )
      if (made === null) throw apiError('user_not_found')
      if (made === 'full') throw apiError('too_many_keys')
      const details = { keyId: made.id }
      await tx.audit({ at, actor: by.actor, action: 'keys.create', userId, details })
      if (by.actor.kind !== 'system') {
        const byOperator = by.actor.kind === 'operator'
        const matter = { kind: 'key-created', name, byOperator } as const
        await tx.mails.queue({ key: `key:${made.id}`, userId, matter, at })
      }
      return made
    })
    return { row, key }
  }
}
