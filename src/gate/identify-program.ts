/**
 * The caller behind the credentials of a program that reads SimpleFIN. Programs ask rarely, so their rows are
 * read for each request, and a change counts at once. Guesses are limited before any lookup, as those of API
 * keys are.
 */

import { type Caller, toCaller } from '#auth/caller.ts'
import { hashSecret } from '#auth/programs/tokens.ts'
import type { ConnectionId, ProgramId } from '#kernel/ids.ts'
import type { ProgramStore } from '#store/ports/programs.ts'
import { guess, type Throttle, toVisitor } from './throttle.ts'
import { makeTouch, type TouchOptions } from './touch.ts'

export interface Program {
  readonly id: ProgramId
  readonly caller: Caller
  /** Null: every connection. */
  readonly connections: ReadonlySet<ConnectionId> | null
}

/**
 * So many characters of what was given are in the name of its window of guesses: the user of credentials, a
 * third of a setup token's secret. Names stay in memory; Redis has keyed hashes of them (docs/storage.md).
 */
export const guessPrefixLength = 16

/**
 * @param credentials `user:password`; null: none that can be read.
 * @returns null where they open nothing.
 * @throws ApiError `rate_limited` for too many guesses; StoreUnavailableError.
 */
export type IdentifyProgram = (
  address: string,
  credentials: string | null,
) => Promise<Program | null>

export interface IdentifyProgramOptions extends TouchOptions {
  readonly programs: Pick<ProgramStore, 'findCaller' | 'touch'>
  readonly throttle: Throttle
}

export function makeIdentifyProgram(options: IdentifyProgramOptions): IdentifyProgram {
  const touch = makeTouch<ProgramId>('program-last-used', options)
  return async (address, credentials) => {
    const visitor = toVisitor(address, (credentials ?? '').slice(0, guessPrefixLength))
    const row = await guess(options.throttle, visitor, async () =>
      credentials === null ? null : options.programs.findCaller(hashSecret(credentials)),
    )
    if (row === null) return null
    touch(row.programId, (at) => options.programs.touch(row.programId, at))
    return {
      id: row.programId,
      connections: row.connections === null ? null : new Set(row.connections),
      caller: toCaller(row, { bucketId: row.programId }),
    }
  }
}
