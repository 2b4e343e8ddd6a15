/**
 * The types of the dashboard's tables: `migrations/0015_dashboard.sql`. Instants are written as `Date` and
 * read as milliseconds, as in `tables.ts`.
 */
import type { ColumnType } from 'kysely'
import type { Provider } from '#contract/resources.ts'
import type {
  ConnectionId,
  LoginId,
  MailId,
  PasskeyId,
  ProgramId,
  ProviderCallId,
  SessionId,
  UserId,
} from '#kernel/ids.ts'
import type { UsageRow } from '../ports/usage.ts'

type Moment = ColumnType<number, Date, Date>
type MomentOrNull = ColumnType<number | null, Date | null, Date | null>

export interface DashboardTables {
  readonly link_attempts: {
    /** SHA-256 of the state. */
    id: Uint8Array
    user_id: UserId
    session_id: SessionId
    provider: Provider
    login_id: LoginId | null
    institution_id: string | null
    /** The connection that is to be renewed; null: a new one. */
    connection_id: ConnectionId | null
    created_at: Moment
    expires_at: Moment
    used_at: MomentOrNull
    /** When its consent was read, or when it became certain that there is none. */
    ended_at: MomentOrNull
    /** See `LinkingRow`. */
    outcome: string | null
  }
  readonly second_factors: {
    user_id: UserId
    secret: Uint8Array
    secret_key: string
    created_at: Moment
    /** The newest time step whose code was accepted: no code is accepted twice. */
    last_step: number
  }
  readonly recovery_codes: {
    user_id: UserId
    hash: Uint8Array
    used_at: MomentOrNull
  }
  /** `migrations/0024_passkeys.sql`, as `used_challenges`. */
  readonly passkeys: {
    id: PasskeyId
    user_id: UserId
    credential_id: Uint8Array
    public_key: Uint8Array
    name: string
    sign_count: ColumnType<number | string, number, number>
    /** With commas between them. */
    transports: string
    created_at: Moment
    last_used_at: MomentOrNull
  }
  readonly used_challenges: {
    /** SHA-256 of the challenge. */
    hash: Uint8Array
    user_id: UserId
    expires_at: Moment
  }
  readonly mailed_links: {
    /** SHA-256 of the token. */
    id: Uint8Array
    kind: string
    /** Null: an invitation. */
    user_id: UserId | null
    email: string
    /** The spelling that addresses are compared by. */
    email_lower: string
    created_at: Moment
    expires_at: Moment
    used_at: MomentOrNull
    /** When a newer one of the same kind and address was made. */
    replaced_at: MomentOrNull
  }
  readonly mails: {
    id: MailId
    user_id: UserId | null
    key: string
    kind: string
    created_at: Moment
    /** When it is to be sent next or, while a process sends it, when that one counts as gone; null: done. */
    due_at: MomentOrNull
    attempts: number
    /** What it is about, sealed; null once it is done. */
    payload: Uint8Array | null
    payload_key: string | null
  }
  /** `migrations/0019_programs.sql`. */
  readonly programs: {
    id: ProgramId
    user_id: UserId
    name: string
    /** Ids with commas between them; null: every connection. */
    connections: string | null
    setup_hash: Uint8Array
    setup_until: Moment
    access_hash: Uint8Array | null
    created_at: Moment
    claimed_at: MomentOrNull
    last_used_at: MomentOrNull
    revoked_at: MomentOrNull
    repeated_at: MomentOrNull
  }
  /** Counts from before keys and agents were counted apart; nothing is added any more. */
  readonly usage_days: {
    user_id: UserId
    day: number
    door: UsageRow['door']
    operation: UsageRow['operation']
    result: UsageRow['result']
    requests: number
  }
  /** `migrations/0026_usage_by_reader.sql`. */
  readonly usage_by_reader: DashboardTables['usage_days'] & { reader: string }
  /** `migrations/0027_provider_calls.sql`. */
  readonly provider_calls: { id: ProviderCallId; name: string; at: Moment }
}
