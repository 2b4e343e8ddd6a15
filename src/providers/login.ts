/**
 * Whose behalf a call to a provider is on: the login, the connection, and the settings of the call. Every
 * part of the port uses these.
 */
import type { PersonPresent } from '#contract/actor.ts'
import type { ConnectionStatus } from '#contract/resources.ts'
import type { ConnectionId, LoginId, UpstreamId, UserId } from '#kernel/ids.ts'

/** The settings of one call: what aborts it, and its priority. */
export interface CallContext {
  /** Aborted when no caller waits any more or the request's time is over; the provider's call then ends. */
  readonly signal: AbortSignal
  /** Users' requests have priority where a provider limits the whole application. */
  readonly priority: 'user' | 'background'
  /** Called for each of the provider's answers that is no failure of its server. */
  readonly onAnswer?: () => void
  /** Absent: no person is known to be present. Present: what is kept is read anew (reading R36). */
  readonly person?: PersonPresent
  /** What is kept is read anew, although no person is present: credentials are being linked. */
  readonly isAnew?: true
}

/** The same call, for reads that use what is kept. */
export function keepsReadings({ person: _, isAnew: __, ...call }: CallContext): CallContext {
  return call
}

/** The credentials of one person at one provider; several connections may share them. */
export interface Login {
  readonly id: LoginId
  /** Our user; absent: unknown, and then what is kept of it is shared with no other login. */
  readonly userId?: UserId
  /** The person's id there: Fiskil end user, Akahu user, SnapTrade user id. */
  readonly upstreamUserId: string
  /** The decrypted secret; null where the provider needs none of the person's (Fiskil). */
  readonly secret: string | null
  /** The version of the credentials: results obtained with older ones must not affect newer ones. */
  readonly version: number
  /** This installation made it at the provider, and nobody else uses it; absent: it existed there. */
  readonly isOurs?: boolean
}

export interface ConnectionRef {
  readonly id: ConnectionId
  readonly upstreamId: UpstreamId
  readonly status: ConnectionStatus
}
