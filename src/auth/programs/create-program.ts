/**
 * Makes a setup token for a program that reads SimpleFIN, the same for every door. The token is shown once,
 * spent once, and ends after a day.
 */

import { z } from 'zod'
import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { nameText, parseInput } from '#contract/input.ts'
import type { UserId } from '#kernel/ids.ts'
import { dayMs } from '#kernel/time.ts'
import type { ProgramRow } from '#store/ports/programs.ts'
import type { AuthActionOptions } from '../action-options.ts'
import { findOwnConnections } from '../own-rows.ts'
import { hashSecret, mintSetupSecret } from './tokens.ts'

export const setupLifeMs = dayMs
const maxConnections = 500

export const NewProgramInput = z.strictObject({
  name: nameText(1).default('SimpleFIN'),
  /** Ids; absent: every connection, later ones too. */
  connections: z
    .array(z.string('must be text'))
    .max(maxConnections, `must be at most ${maxConnections}`)
    .min(1, 'must name at least one connection')
    .optional(),
})

/**
 * The stored row and the setup token's secret.
 * @throws ApiError `invalid_params`, `too_many_programs`, `user_not_found`.
 */
export type CreateProgram = (
  by: By,
  userId: UserId,
  input: unknown,
) => Promise<{ readonly row: ProgramRow; readonly secret: string }>

export function makeCreateProgram(options: AuthActionOptions): CreateProgram {
  return async (by, userId, raw) => {
    const { name, connections } = parseInput(NewProgramInput, raw)
    if (!mayActFor(by, userId)) throw apiError('user_not_found')
    const secret = mintSetupSecret()
    const at = options.clock.now()
    const row = await options.store.transact(async (tx) => {
      const made = await tx.programs.create({
        userId,
        name,
        connections:
          connections === undefined
            ? null
            : await findOwnConnections(tx, userId, { field: 'connections', ids: connections }),
        setupHash: hashSecret(secret),
        createdAt: at,
        setupUntil: at + setupLifeMs,
      })
      if (made === null) throw apiError('user_not_found')
      if (made === 'full') throw apiError('too_many_programs')
      const facts = { action: 'programs.create', details: { programId: made.id } } as const
      await tx.audit({ at, actor: by.actor, userId, ...facts })
      return made
    })
    return { row, secret }
  }
}
