/**
 * Creates a user at an operator's request; self-service sign-up is in sign-in/. Without a plan, the default
 * plan of this installation applies.
 */

import { z } from 'zod'
import type { By, Operator, System } from '#contract/actor.ts'
import { isEmail, maxEmailLength, tidyEmail } from '#contract/email.ts'
import { apiError } from '#contract/errors.ts'
import { oneOf, parseInput } from '#contract/input.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { AuthActionOptions } from './action-options.ts'
import { planNames, planStatuses } from './set-plan.ts'
import { password } from './sign-in/set-password.ts'
import { timezone } from './timezone.ts'

const email = z
  .string('must be text')
  .transform(tidyEmail)
  .pipe(
    z
      .string()
      .max(maxEmailLength, {
        error: `must have at most ${maxEmailLength} characters`,
        abort: true,
      })
      .refine(isEmail, 'must be an e-mail address'),
  )

export const NewUserInput = z
  .strictObject({
    email,
    password: password.optional(),
    timezone: timezone.nullable().default(null),
    plan: oneOf(planNames).optional(),
    status: oneOf(planStatuses).optional(),
  })
  .refine((input) => input.plan !== undefined || (input.status ?? 'active') === 'active', {
    path: ['status'],
    message: 'needs a plan beside it, unless it is active',
  })

/** @throws ApiError `invalid_params`, `email_taken`; PasswordsBusyError. */
export type CreateUser = (by: By<Operator | System>, input: unknown) => Promise<UserRow>

export function makeCreateUser(
  options: AuthActionOptions & { readonly hashPassword: (password: string) => Promise<string> },
): CreateUser {
  return async ({ actor }, raw) => {
    const input = parseInput(NewUserInput, raw)
    // Hash before the transaction: hashing is slow and would hold the transaction open.
    const passwordHash =
      input.password === undefined ? null : await options.hashPassword(input.password)
    const at = options.clock.now()
    return options.store.transact(async (tx) => {
      const user = await tx.users.create({
        email: input.email,
        passwordHash,
        timezone: input.timezone,
        plan: input.plan ?? null,
        status: input.status ?? 'active',
        legacyUntil: null,
        grandfathered: false,
        createdAt: at,
        // The operator vouches for the address.
        emailConfirmedAt: at,
      })
      if (user === 'taken') throw apiError('email_taken')
      const { id } = user
      await tx.audit({
        at,
        actor,
        action: 'users.create',
        userId: id,
        details: {},
      })
      return user
    })
  }
}
