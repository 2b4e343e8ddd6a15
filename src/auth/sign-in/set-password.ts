/**
 * Sets the password that a user signs in with. Every session of the user ends, and the account's count of
 * failures is cleared: guesses at the old password say nothing about the new one.
 */

import { z } from 'zod'
import { type Actor, type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseInput } from '#contract/input.ts'
import type { UserId } from '#kernel/ids.ts'
import type { StoreRows } from '#store/ports/store.ts'
import type { AuthActionOptions } from '../action-options.ts'
import { passwordRule } from './given-fields.ts'
import { isAcceptable, type Passwords } from './password.ts'

/** Never repeated in a message, like every refused value. */
export const password = z.string('must be text').refine(isAcceptable, `must have ${passwordRule}`)

export const PasswordInput = z.strictObject({ password })

/** @throws ApiError `invalid_params`, `user_not_found`; PasswordsBusyError. */
export type SetPassword = (by: By, userId: UserId, input: unknown) => Promise<void>

export function makeSetPassword(
  options: AuthActionOptions & {
    readonly passwords: Passwords
    readonly forgive: (userId: UserId) => Promise<void>
  },
): SetPassword {
  return async (by, userId, raw) => {
    const input = parseInput(PasswordInput, raw)
    if (!mayActFor(by, userId)) throw apiError('user_not_found')
    // Hash before the transaction: hashing is slow and would hold the transaction open.
    const hash = await options.passwords.hash(input.password)
    await options.store.transact(async (tx) => {
      const change = { actor: by.actor, userId, hash, at: options.clock.now() }
      if (!(await storePassword(tx, change))) throw apiError('user_not_found')
    })
    await options.forgive(userId)
  }
}

/**
 * Stores the hash and the audit row, and ends every session, inside a transaction. The caller has checked
 * that the actor may do so. False: there is no such user.
 */
export async function storePassword(
  tx: Pick<StoreRows, 'sessions' | 'audit'>,
  change: {
    readonly actor: Actor
    readonly userId: UserId
    readonly hash: string
    readonly at: number
  },
): Promise<boolean> {
  const { actor, userId, hash, at } = change
  if (!(await tx.sessions.setPassword(userId, hash))) return false
  await tx.audit({ at, actor, action: 'users.set-password', userId, details: {} })
  return true
}
