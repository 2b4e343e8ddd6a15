/**
 * Sets the name and the time zone of a user, and whether the page of money reads balances at once. A new zone
 * makes earlier cached answers invalid (reading R10): days in them are those of the former zone.
 */

import { z } from 'zod'
import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { nameText, parseInput } from '#contract/input.ts'
import type { UserId } from '#kernel/ids.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { AuthActionOptions } from './action-options.ts'
import { timezone } from './timezone.ts'

/** Fields that are absent stay as they are; an empty name removes it. */
export const ProfileInput = z.strictObject({
  name: nameText(0)
    .transform((text) => (text === '' ? null : text))
    .nullable()
    .optional(),
  timezone: timezone.optional(),
})

/** What a person chooses alone. */
const OwnInput = ProfileInput.extend({
  showsBalances: z.boolean('must be true or false').optional(),
})

/** @throws ApiError `invalid_params`, `user_not_found`. */
export type SetProfile = (by: By, userId: UserId, input: unknown) => Promise<UserRow>

/** What does not change is not written and makes no audit row. */
export function makeSetProfile(options: AuthActionOptions): SetProfile {
  return async (by, userId, raw) => {
    const input = parseInput(OwnInput, raw)
    if (!mayActFor(by, userId)) throw apiError('user_not_found')
    return options.store.transact(async (tx) => {
      let user = await tx.users.find(userId)
      if (user === null) throw apiError('user_not_found')
      const at = options.clock.now()
      if (input.name !== undefined && input.name !== user.name) {
        user = await tx.users.setName(userId, input.name)
        if (user === null) throw apiError('user_not_found')
        const about = { action: 'account.set-name', userId, details: {} } as const
        await tx.audit({ at, actor: by.actor, ...about })
      }
      if (input.timezone !== undefined && input.timezone !== user.timezone) {
        user = await tx.users.setTimezone(userId, input.timezone)
        if (user === null) throw apiError('user_not_found')
        const details = { timezone: input.timezone }
        await tx.audit({ at, actor: by.actor, action: 'account.set-timezone', userId, details })
      }
      if (input.showsBalances !== undefined && input.showsBalances !== user.showsBalances) {
        user = await tx.users.setShowsBalances(userId, input.showsBalances)
        if (user === null) throw apiError('user_not_found')
        const details = { showsBalances: input.showsBalances }
        await tx.audit({
          at,
          actor: by.actor,
          action: 'account.set-shows-balances',
          userId,
          details,
        })
      }
      return user
    })
  }
}
