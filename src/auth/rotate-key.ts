/**
 * Gives a key a new secret (reading R43): same name, limits and expiry. The secret before it stays good for
 * as long as its owner chooses, so that programs are changed one after another. The new one appears only in
 * the reply.
 */
import { z } from 'zod'
import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseInput } from '#contract/input.ts'
import type { KeyId } from '#kernel/ids.ts'
import { hourMs } from '#kernel/time.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import type { AuthActionOptions } from './action-options.ts'
import { mintKey } from './keys.ts'

const maxOverlapHours = 720
const overlap = `must be a whole number of hours from 0 to ${maxOverlapHours}`

export const RotateKeyInput = z.strictObject({
  overlapHours: z.int(overlap).min(0, overlap).max(maxOverlapHours, overlap).default(24),
})

/**
 * The stored row and the new secret. `overlapHours` 0: former secrets are refused at once.
 * @throws ApiError `invalid_params`, `key_not_found` also for a key that has ended.
 */
export type RotateKey = (
  by: By,
  id: KeyId,
  input: unknown,
) => Promise<{ readonly row: KeyRow; readonly key: string }>

/** The action that gives a key a new secret; the former one stays good for the hours that were asked for. */
export function makeRotateKey(options: AuthActionOptions): RotateKey {
  return async (by, id, raw) => {
    const { overlapHours } = parseInput(RotateKeyInput, raw)
    const { key, prefix, hash } = mintKey()
    const at = options.clock.now()
    const formerUntil = at + overlapHours * hourMs
    const row = await options.store.transact(async (tx) => {
      const made = await tx.keys.rotate({ id, prefix, hash, at, formerUntil })
      // Thrown inside the transaction, so that another user's key is not changed.
      if (made === null || !mayActFor(by, made.userId)) throw apiError('key_not_found')
      const { userId, name } = made
      const details = { keyId: id }
      await tx.audit({ at, actor: by.actor, action: 'keys.rotate', userId, details })
      if (by.actor.kind !== 'system') {
        const byOperator = by.actor.kind === 'operator'
        const matter = { kind: 'key-created', name, byOperator, isRotation: true } as const
        await tx.mails.queue({ key: `key:${id}:${prefix}`, userId, matter, at })
      }
      return made
    })
    return { row, key }
  }
}
