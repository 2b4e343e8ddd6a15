/** Assembles the actions on users and keys of operators and persons, for the doors that offer them. */
import type { Store } from '#store/ports/store.ts'
import type { AuthActionOptions } from './action-options.ts'
import { makeCreateKey } from './create-key.ts'
import { makeCreateUser } from './create-user.ts'
import { makeCreateProgram } from './programs/create-program.ts'
import { makeRevokeProgram } from './programs/revoke-program.ts'
import { makeRemind } from './remind.ts'
import { makeRevokeKey } from './revoke-key.ts'
import { makeRotateKey } from './rotate-key.ts'
import { makeSetPlan } from './set-plan.ts'
import { makeSetProfile } from './set-profile.ts'
import { type Invite, makeWithdrawInvitation } from './sign-in/invite.ts'
import { makeResetSecondFactor } from './sign-in/second-factor.ts'
import type { SignIns } from './sign-in/sign-ins.ts'

/** What each action does stands in its file. */
export type UserActions = ReturnType<typeof makeUserActions>

export function makeUserActions(
  options: AuthActionOptions & {
    readonly signIns: Pick<SignIns, 'hashPassword' | 'setPassword'>
    readonly invite: Invite
    readonly store: Pick<Store, 'connections'>
  },
) {
  const { hashPassword, setPassword } = options.signIns
  return {
    createUser: makeCreateUser({ ...options, hashPassword }),
    invite: options.invite,
    withdrawInvitation: makeWithdrawInvitation(options),
    remind: makeRemind(options),
    setPassword,
    setPlan: makeSetPlan(options),
    setProfile: makeSetProfile(options),
    resetSecondFactor: makeResetSecondFactor(options),
    createKey: makeCreateKey(options),
    rotateKey: makeRotateKey(options),
    revokeKey: makeRevokeKey(options),
    createProgram: makeCreateProgram(options),
    revokeProgram: makeRevokeProgram(options),
  }
}
