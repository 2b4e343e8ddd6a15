/**
 * Assembles the actions on users and keys that an operator or a person can make, for the doors that offer
 * them.
 */
import type { ActionParts } from './action-parts.ts'
import { makeCreateKey } from './create-key.ts'
import { makeCreateUser } from './create-user.ts'
import { makeCreateProgram } from './programs/create-program.ts'
import { makeRevokeProgram } from './programs/revoke-program.ts'
import { makeRevokeKey } from './revoke-key.ts'
import { makeSetPlan } from './set-plan.ts'
import { makeSetProfile } from './set-profile.ts'
import type { Invite } from './sign-in/invite.ts'
import { makeResetSecondFactor } from './sign-in/second-factor.ts'
import type { SignIns } from './sign-in/sign-ins.ts'

/** What each action does stands in its file. */
export type UserActions = ReturnType<typeof makeUserActions>

export function makeUserActions(
  deps: ActionParts & {
    readonly signIns: Pick<SignIns, 'hashPassword' | 'setPassword'>
    readonly invite: Invite
  },
) {
  const { hashPassword, setPassword } = deps.signIns
  return {
    createUser: makeCreateUser({ ...deps, hashPassword }),
    invite: deps.invite,
    setPassword,
    setPlan: makeSetPlan(deps),
    setProfile: makeSetProfile(deps),
    resetSecondFactor: makeResetSecondFactor(deps),
    createKey: makeCreateKey(deps),
    revokeKey: makeRevokeKey(deps),
    createProgram: makeCreateProgram(deps),
    revokeProgram: makeRevokeProgram(deps),
  }
}
