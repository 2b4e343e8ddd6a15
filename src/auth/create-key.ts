/**
 * Making an API key for somebody, whichever door they came through: a user has at most twenty that are good at once.
 */
import { apiError } from '#contract/errors.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { KeyRow, KeyStore } from '#store/port.ts'
import { mintKey } from './keys.ts'

/** Revoked and expired ones do not count. */
const maxActiveKeys = 20

export interface NewKeyOptions {
  readonly name: string
  /** Milliseconds since the epoch; null: never. */
  readonly expiresAt: number | null
}

/**
 * The row, and the key itself: it is shown once and can never be shown again.
 * @throws ApiError `too_many_keys`, `user_not_found`.
 */
export type CreateKey = (
  userId: UserId,
  options: NewKeyOptions,
) => Promise<{ readonly row: KeyRow; readonly key: string }>

/** Makes the action. Counting and inserting are one transaction of the store. */
export function makeCreateKey(deps: {
  readonly store: { readonly keys: Pick<KeyStore, 'createWithin'> }
  readonly clock: Clock
}): CreateKey {
  return async (userId, options) => {
    const { key, prefix, hash } = mintKey()
    const row = await deps.store.keys.createWithin(
      { userId, ...options, prefix, hash, createdAt: deps.clock.now() },
      maxActiveKeys,
    )
    if (row === null) throw apiError('user_not_found')
    if (row === 'full') throw apiError('too_many_keys')
    return { row, key }
  }
}
