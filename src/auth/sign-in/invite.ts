/**
 * Invitations: an operator asks somebody in by a link that is valid for seven days, and whoever has it makes
 * an account with the address that was invited. The address counts as confirmed.
 */
import { z } from 'zod'
import type { By, Operator } from '#contract/actor.ts'
import { isEmail, tidyEmail } from '#contract/email.ts'
import { apiError } from '#contract/errors.ts'
import { parseInput } from '#contract/input.ts'
import type { AuthActionOptions } from '../action-options.ts'
import { type MadeUrl, makeUrl, type SingleUseOptions } from './single-use.ts'

export interface Invitation extends MadeUrl {
  readonly email: string
}

/**
 * An earlier invitation of the address is replaced.
 * @throws ApiError `invalid_params`, `email_taken`, `sign_up_closed`, `rate_limited`.
 */
export type Invite = (by: By<Operator>, input: unknown) => Promise<Invitation>

export interface InviteOptions extends SingleUseOptions {
  readonly signUp: 'open' | 'invite' | 'closed'
}

export const InvitationInput = z.strictObject({
  email: z.string('must be text').transform(tidyEmail).refine(isEmail, 'must be an e-mail address'),
})

export function makeInvite(options: InviteOptions): Invite {
  return async ({ actor }, raw) => {
    const { email } = parseInput(InvitationInput, raw)
    if (options.signUp === 'closed') throw apiError('sign_up_closed')
    const made = await options.store.transact(async (tx) => {
      if ((await tx.users.find(email, { deleting: true })) !== null) throw apiError('email_taken')
      const invited = await makeUrl(options, tx, 'invitation', { userId: null, email })
      if (invited === null) {
        throw apiError('rate_limited', {
          message: 'This address was invited too often today; use the newest invitation',
          retryAfterSeconds: 3600,
        })
      }
      // No address: there is no account yet.
      const entry = { actor, action: 'users.invite', userId: null, details: {} } as const
      await tx.audit({ at: options.clock.now(), ...entry })
      return invited
    })
    options.print?.({ kind: 'invitation', email, ...made })
    return { email, ...made }
  }
}

/**
 * Its link no longer works from then on.
 * @throws ApiError `invitation_not_found`
 */
export type WithdrawInvitation = (by: By<Operator>, email: string) => Promise<void>

export function makeWithdrawInvitation({ store, clock }: AuthActionOptions): WithdrawInvitation {
  return ({ actor }, email) =>
    store.transact(async (tx) => {
      const at = clock.now()
      const isWithdrawn = await tx.singleUse.withdraw('invitation', email, at)
      if (!isWithdrawn) throw apiError('invitation_not_found')
      // No address: there is no account.
      await tx.audit({
        at,
        actor,
        action: 'users.withdraw-invitation',
        userId: null,
        details: {},
      })
    })
}
