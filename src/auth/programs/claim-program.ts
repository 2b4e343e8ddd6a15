/**
 * Exchanges a setup token for credentials, once. The first time that a spent one is presented again is noted,
 * because somebody else may have it: its owner sees that on the page.
 */

import { type By, bySystem, type Visitor } from '#contract/actor.ts'
import type { AuthActionOptions } from '../action-options.ts'
import { hashSecret, mintAccess } from './tokens.ts'

export interface ProgramAccess {
  readonly user: string
  readonly password: string
}

/** Null: the token is unknown, spent, revoked, or has ended. */
export type ClaimProgram = (by: By<Visitor>, secret: string) => Promise<ProgramAccess | null>

export function makeClaimProgram(options: AuthActionOptions): ClaimProgram {
  return async (by, secret) => {
    const { user, password, hash } = mintAccess()
    const at = options.clock.now()
    return options.store.transact(async (tx) => {
      const claimed = await tx.programs.claim({
        setupHash: hashSecret(secret),
        accessHash: hash,
        at,
      })
      if (claimed === null) return null
      const isRepeated = 'repeated' in claimed
      const row = isRepeated ? claimed.repeated : claimed
      await tx.audit({
        at,
        actor: isRepeated ? by.actor : bySystem.actor,
        action: isRepeated ? 'programs.repeat' : 'programs.claim',
        userId: row.userId,
        details: { programId: row.id },
      })
      return isRepeated ? null : { user, password }
    })
  }
}
