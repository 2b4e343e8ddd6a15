/**
 * Sets a user's plan; what each plan allows is defined in plans.ts. The change applies from the next request
 * on, in every process. Nobody sets their own plan: persons are no actors of this action.
 */

import { z } from 'zod'
import type { By, Operator, System } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { instant, oneOf, parseInput } from '#contract/input.ts'
import type { UserId } from '#kernel/ids.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { AuthActionOptions } from './action-options.ts'

export const planNames = ['developer', 'professional', 'none'] as const
export const planStatuses = ['active', 'trialing', 'past_due', 'canceled'] as const

export const PlanInput = z.strictObject({
  plan: oneOf(planNames),
  status: oneOf(planStatuses),
  legacyUntil: instant.nullable().default(null),
  grandfathered: z.boolean('must be true or false').default(false),
})

/** @throws ApiError `invalid_params`, `user_not_found`. */
export type SetPlan = (
  by: By<Operator | System>,
  userId: UserId,
  input: unknown,
) => Promise<UserRow>

export function makeSetPlan(options: AuthActionOptions): SetPlan {
  return async (by, userId, raw) => {
    const plan = parseInput(PlanInput, raw)
    return options.store.transact(async (tx) => {
      const user = await tx.users.setPlan(userId, plan)
      if (user === null) throw apiError('user_not_found')
      await tx.audit({
        at: options.clock.now(),
        actor: by.actor,
        action: 'plans.set',
        userId,
        details: { plan: plan.plan, status: plan.status },
      })
      return user
    })
  }
}
