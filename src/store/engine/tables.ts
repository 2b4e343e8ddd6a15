/**
 * The tables of the durable store as the queries see them; they must match `migrations/`. Instants are
 * written as `Date` and read as milliseconds on both engines (see their codecs).
 */

import { type ColumnType, type Generated, type Kysely, type RawBuilder, sql } from 'kysely'
import type { AccountType, Provider } from '#contract/resources.ts'
import type {
  AccountId,
  ConnectionId,
  KeyId,
  LoginId,
  SessionId,
  UpstreamId,
  UserId,
} from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { StoredStatus } from '../ports/connections.ts'
import type { OAuthModel } from '../ports/oauth.ts'
import type { PlanName, PlanStatus } from '../ports/users.ts'
import type { DashboardTables } from './dashboard-tables.ts'
import type { EventTables } from './event-tables.ts'

type Moment = ColumnType<number, Date, Date>
type MomentOrNull = ColumnType<number | null, Date | null, Date | null>

export interface Tables extends EventTables, DashboardTables {
  readonly schema_migrations: { number: number; name: string; checksum: string }
  readonly meta: { name: string; value: string }
  readonly users: {
    id: UserId
    email: string
    email_lower: string
    timezone: string | null
    plan: PlanName | null
    plan_status: PlanStatus
    legacy_until: MomentOrNull
    grandfathered: boolean
    epoch: number
    created_at: Moment
    /** A PHC string; null: this user cannot sign in with a password. */
    password_hash: string | null
    name: string | null
    /** Set by the first step of a deletion, and never cleared. */
    deleting_at: MomentOrNull
    email_confirmed_at: MomentOrNull
    /** The page of money reads balances without a press. */
    show_balances: Generated<boolean>
  }
  readonly sessions: {
    id: SessionId
    user_id: UserId
    hash: Uint8Array
    created_at: Moment
    signed_in_at: Moment
    last_seen_at: Moment
    /** The network address and the `User-Agent` of the sign-in. */
    address: string | null
    agent: string | null
  }
  readonly api_keys: {
    id: KeyId
    user_id: UserId
    name: string
    prefix: string
    hash: Uint8Array
    created_at: Moment
    expires_at: MomentOrNull
    revoked_at: MomentOrNull
    last_used_at: MomentOrNull
    /** What a narrow key may see, with commas between; null: no limit of this kind. */
    scopes: string | null
    connection_ids: string | null
    account_ids: string | null
    addresses: string | null
    /** Until when secrets from before a rotation are good. */
    former_until: MomentOrNull
  }
  /** `migrations/0022_narrow_keys.sql`. */
  readonly former_key_hashes: {
    hash: Uint8Array
    key_id: KeyId
    replaced_at: Moment
    valid_until: Moment
  }
  readonly logins: {
    id: LoginId
    user_id: UserId
    provider: Provider
    upstream_user_id: string
    secret: Uint8Array | null
    secret_key: string | null
    /** Grows whenever the credentials are saved, and when consents of the login come or go. */
    version: ColumnType<number, number | undefined, number>
    /** This installation made it at the provider. */
    is_ours: Generated<boolean>
    /** Nothing uses it, and it is being ended: no link begins with it. */
    is_ending: Generated<boolean>
  }
  readonly connections: {
    id: ConnectionId
    user_id: UserId
    login_id: LoginId
    provider: Provider
    upstream_id: UpstreamId
    institution_id: string
    institution_name: string
    institution_logo: string | null
    status: StoredStatus
    last_refreshed_at: MomentOrNull
    created_at: Moment
    /** The time of the newest status that was reported or learnt. */
    status_at: MomentOrNull
    /** Its end at the provider was asked for, where the connection is being deleted. */
    ends_at_provider: Generated<boolean>
    /** When the consent ends, as the provider reported it. */
    consent_expires_at: MomentOrNull
    /** The consent was renewed, and its accounts were not listed since. */
    is_renewed: Generated<boolean>
    /** Accounts that arrive until then may be stored ones under new ids. */
    renewed_until: MomentOrNull
    /** The owner's own name for it. */
    label: string | null
    /** The end of the consent that was announced last, and how many days before. */
    told_expires_at: MomentOrNull
    told_days: number | null
  }
  readonly accounts: {
    id: AccountId
    connection_id: ConnectionId
    user_id: UserId
    upstream_id: UpstreamId
    name: string
    type: AccountType
    account_number: string | null
    currency: string
    hidden: boolean
  }
  readonly oauth_grants: {
    id: Uint8Array
    user_id: UserId
    client_id: string
    created_at: Moment
    expires_at: Moment
    payload: Uint8Array
    payload_key: string
    last_used_at: MomentOrNull
  }
  readonly oauth_rows: {
    id: Uint8Array
    model: OAuthModel
    grant_id: Uint8Array | null
    origin: Uint8Array | null
    created_at: Moment
    expires_at: Moment
    used_at: MomentOrNull
    payload: Uint8Array
    payload_key: string
  }
  readonly audit: {
    id: string
    at: Moment
    actor: string
    action: string
    user_id: UserId | null
    subject: string
    /** A JSON object; null: a version before migration 0018 wrote the entry. */
    details: string | null
    /** The network address of the person who acted. */
    address: string | null
  }
}

/** The root handle, or one transaction, inside which only its own may be used: SQLite has a single writer. */
export type Db = Kysely<Tables>

/** An instant as a value that both engines accept. */
export function moment(ms: Millis): Date {
  return new Date(ms)
}

/** As `moment`; null stays null. */
export function momentOrNull(ms: Millis | null): Date | null {
  return ms === null ? null : new Date(ms)
}

/** True for rows whose instant in `column` is before `ms`; it can use an index of that column. */
export function isBefore(column: string, ms: Millis): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(column)} < ${moment(ms)})`
}

/** As `isBefore`, and true for an unknown instant. No index serves it: another condition selects rows. */
export function isUnsetOrBefore(column: string, ms: Millis): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(column)} is null or ${sql.ref(column)} < ${moment(ms)})`
}

/** True for rows whose instant in `column` differs or is unknown. It cannot use an index. */
export function isNot(column: string, ms: Millis): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(column)} is null or ${sql.ref(column)} <> ${moment(ms)})`
}

/** True for rows whose instant in `column` is `ms` or earlier: a range of an index on that column. */
export function isDue(column: string, ms: Millis): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(column)} <= ${moment(ms)})`
}

/** True for rows whose instant in `column` is after `ms`. */
export function isAfter(column: string, ms: Millis): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(column)} > ${moment(ms)})`
}
