/**
 * Assembles the actions on users and keys that an operator or a person can make, for the doors that offer
 * them.
 */
import type { Clock } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'
import { type CreateKey, makeCreateKey } from './create-key.ts'
import { type CreateUser, makeCreateUser } from './create-user.ts'
import { type CreateProgram, makeCreateProgram } from './programs/create-program.ts'
import { makeRevokeProgram, type RevokeProgram } from './programs/revoke-program.ts'
import { makeRevokeKey, type RevokeKey } from './revoke-key.ts'
import { makeSetPlan, type SetPlan } from './set-plan.ts'
import { makeSetProfile, type SetProfile } from './set-profile.ts'
import type { Invite } from './sign-in/invite.ts'
import { makeResetSecondFactor, type ResetSecondFactor } from './sign-in/second-factor.ts'
import type { SetPassword } from './sign-in/set-password.ts'
import type { SignIns } from './sign-in/sign-ins.ts'

export interface UserActions {
  readonly createUser: CreateUser
  readonly invite: Invite
  readonly setPassword: SetPassword
  readonly setPlan: SetPlan
  readonly setProfile: SetProfile
  readonly resetSecondFactor: ResetSecondFactor
  readonly createKey: CreateKey
  readonly revokeKey: RevokeKey
  readonly createProgram: CreateProgram
  readonly revokeProgram: RevokeProgram
}

export function makeUserActions(deps: {
  readonly store: Pick<Store, 'transact'>
  readonly clock: Clock
  readonly signIns: Pick<SignIns, 'hashPassword' | 'setPassword'>
  readonly invite: Invite
}): UserActions {
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
