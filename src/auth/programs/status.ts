/** What a program's access is worth. */
import type { ProgramRow } from '#store/ports/programs.ts'

/** `waiting`: its setup token was not exchanged yet. `expired`: it never was, and is no longer accepted. */
export type ProgramStatus = 'waiting' | 'active' | 'expired' | 'revoked'

export function toProgramStatus(
  { revokedAt, claimedAt, setupUntil }: Pick<ProgramRow, 'revokedAt' | 'claimedAt' | 'setupUntil'>,
  now: number,
): ProgramStatus {
  if (revokedAt !== null) return 'revoked'
  if (claimedAt !== null) return 'active'
  return setupUntil <= now ? 'expired' : 'waiting'
}
