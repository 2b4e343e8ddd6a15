/**
 * Programs that read SimpleFIN: a setup token that is exchanged once, and the credentials that it gave. The
 * store has hashes alone. Instants are milliseconds since the epoch.
 */
import type { ConnectionId, ProgramId, UserId } from '#kernel/ids.ts'
import type { UserAccessRow } from './users.ts'

export interface ProgramRow {
  readonly id: ProgramId
  readonly userId: UserId
  readonly name: string
  /** What it may see; null: every connection, later ones too. */
  readonly connections: readonly ConnectionId[] | null
  readonly createdAt: number
  /** When its setup token ends. */
  readonly setupUntil: number
  readonly claimedAt: number | null
  readonly lastUsedAt: number | null
  readonly revokedAt: number | null
  /** When a setup token that was spent was first presented again: somebody else may have it. */
  readonly repeatedAt: number | null
}

export interface NewProgram
  extends Pick<ProgramRow, 'userId' | 'name' | 'connections' | 'createdAt' | 'setupUntil'> {
  /** SHA-256 of the setup token's secret. */
  readonly setupHash: Uint8Array
}

/** What a request needs to know; one indexed read. */
export interface ProgramCaller extends UserAccessRow {
  readonly programId: ProgramId
  readonly connections: readonly ConnectionId[] | null
}

/** The largest number of programs that are kept for one user, ended ones included. */
export const maxPrograms = 50

export interface ProgramStore {
  /** Null when the user is gone or being deleted; 'full' with `maxPrograms` not ended. Old ended ones go. */
  create(program: NewProgram): Promise<ProgramRow | 'full' | null>
  list(userId: UserId): Promise<readonly ProgramRow[]>
  /** The user of a program; null: there is none. */
  get(id: ProgramId): Promise<ProgramRow | null>
  /**
   * Spends a setup token: of two calls at once one gets the row. 'repeated' when it is presented again for
   * the first time, which is noted; null when it is unknown, has ended, was revoked, or was noted before.
   */
  claim(claim: {
    readonly setupHash: Uint8Array
    /** SHA-256 of `user:password`. */
    readonly accessHash: Uint8Array
    readonly at: number
  }): Promise<ProgramRow | { readonly repeated: ProgramRow } | null>
  /** Null when it is unknown or revoked. */
  findCaller(accessHash: Uint8Array): Promise<ProgramCaller | null>
  /** Revoking again keeps the first time; null when there is no such program. */
  revoke(id: ProgramId, at: number): Promise<(ProgramRow & { readonly wasRevoked: boolean }) | null>
  /** Stores the last use; called at most once a minute. */
  touch(id: ProgramId, at: number): Promise<void>
}
