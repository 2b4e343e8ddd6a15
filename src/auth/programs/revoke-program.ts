/** Ends a program's access: every process refuses it from then on. Ending twice keeps the first time. */

import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { ProgramId } from '#kernel/ids.ts'
import type { ProgramRow } from '#store/ports/programs.ts'
import type { AuthActionOptions } from '../action-options.ts'

/** @throws ApiError `program_not_found`. */
export type RevokeProgram = (by: By, id: ProgramId) => Promise<ProgramRow>

export function makeRevokeProgram(options: AuthActionOptions): RevokeProgram {
  return (by, id) =>
    options.store.transact(async (tx) => {
      const at = options.clock.now()
      const row = await tx.programs.revoke(id, at)
      // Thrown inside the transaction, so that another user's program is not changed.
      if (row === null || !mayActFor(by, row.userId)) throw apiError('program_not_found')
      const { wasRevoked, ...program } = row
      const facts = { action: 'programs.revoke', details: { programId: id } } as const
      if (!wasRevoked) await tx.audit({ at, actor: by.actor, userId: program.userId, ...facts })
      return program
    })
}
