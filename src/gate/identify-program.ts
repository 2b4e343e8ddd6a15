/**
 * The caller behind the credentials of a program that reads SimpleFIN. Programs ask rarely, so their rows are
 * read for each request, and a change counts at once. Guesses are limited before any lookup, as those of API
 * keys are.
 */

import { type Caller, toCaller } from '#auth/caller.ts'
import { hashSecret } from '#auth/programs/tokens.ts'
import type { ConnectionId, ProgramId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { ProgramStore } from '#store/ports/programs.ts'
import { guess, type Throttle, toVisitor } from './throttle.ts'

export interface Program {
  readonly id: ProgramId
  readonly caller: Caller
  /** Null: every connection. */
  readonly connections: ReadonlySet<ConnectionId> | null
}

const touchEveryMs = 60_000
/** The digest of a secret, as a part of the name of its window of guesses. */
export const shownPrefix = 16

/**
 * @param credentials `user:password`; null: none that can be read.
 * @returns null where they open nothing.
 * @throws ApiError `rate_limited` for too many guesses; StoreUnavailableError.
 */
export type IdentifyProgram = (
  address: string,
  credentials: string | null,
) => Promise<Program | null>

export function makeIdentifyProgram(options: {
  readonly programs: Pick<ProgramStore, 'findCaller' | 'touch'>
  readonly throttle: Throttle
  readonly clock: Clock
  readonly onBackgroundFailure: (task: string, error: unknown) => void
}): IdentifyProgram {
  const touched = new Map<ProgramId, number>()
  return async (address, credentials) => {
    const visitor = toVisitor(address, (credentials ?? '').slice(0, shownPrefix))
    const row = await guess(options.throttle, visitor, async () =>
      credentials === null ? null : options.programs.findCaller(hashSecret(credentials)),
    )
    if (row === null) return null
    const now = options.clock.now()
    if (now - (touched.get(row.programId) ?? Number.NEGATIVE_INFINITY) >= touchEveryMs) {
      // Bounded by what is touched within a minute.
      for (const [id, at] of touched) if (now - at >= touchEveryMs) touched.delete(id)
      touched.set(row.programId, now)
      options.programs
        .touch(row.programId, now)
        .catch((error: unknown) => options.onBackgroundFailure('program-last-used', error))
    }
    return {
      id: row.programId,
      connections: row.connections === null ? null : new Set(row.connections),
      caller: toCaller(row, { bucketId: row.programId }),
    }
  }
}
