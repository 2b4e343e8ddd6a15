/** What operators ask about the store as a whole; no request of a caller uses it. */

import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, EndpointId, LoginId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { StoredStatus } from './connections.ts'
import type { DisabledReason, EndpointHealth } from './endpoints.ts'

export interface StoreCondition {
  readonly engine: 'sqlite' | 'postgres'
  readonly version: string
  /** Names of the applied migrations, in order. */
  readonly migrations: readonly string[]
  /**
   * How many of them this code does not know, because a newer version migrated the store since it was opened.
   */
  readonly unknownMigrations: number
  /** False where a pooler in front of the server changes the session between transactions by now. */
  readonly keepsSession: boolean
  /** The server's own time; null where the store has no clock of its own. */
  readonly theirTimeMs: Millis | null
}

/** A connection that needs action by its person or the provider, and its owner. */
export interface TroubledConnection {
  readonly id: ConnectionId
  readonly email: string
  readonly provider: Provider
  readonly institutionName: string
  readonly loginId: LoginId
  readonly status: Exclude<StoredStatus, 'active'>
}

/** An active connection that cannot be read, as far as the store or the caller knows. */
export interface FailingConnection extends Omit<TroubledConnection, 'status'> {
  /** How its syncs have failed since the last one that succeeded; null: the last one did. */
  readonly syncs: {
    /** Why the newest run failed; null: its row is gone. */
    readonly failure: { readonly code: string; readonly message: string } | null
    /** When the first of these runs began; null: its row is gone. */
    readonly since: Millis | null
  } | null
}

/** A login that some connection uses, and its owner. */
export interface UsedLogin {
  readonly id: LoginId
  readonly provider: Provider
  readonly email: string
}

/** Who is linked at one provider. */
export interface ProviderUse {
  readonly provider: Provider
  readonly userCount: number
  /** The addresses of the first of them, in alphabetical order. */
  readonly emails: readonly string[]
  /** Without those that are being deleted. */
  readonly connectionCount: number
  /** The newest refresh of a connection; null: none yet. */
  readonly refreshedAt: Millis | null
}

export interface StaleConnection {
  readonly id: ConnectionId
  readonly email: string
  readonly institutionName: string
  readonly lastRefreshedAt: Millis
}

/**
 * An endpoint that receives nothing, or only the oldest delivery, although its owner did not ask for that.
 */
export interface TroubledEndpoint {
  readonly id: EndpointId
  readonly email: string
  readonly health: Extract<EndpointHealth, 'paused' | 'disabled'>
  /** The start of the time in which all attempts have failed. */
  readonly failingSince: Millis | null
  readonly disabledReason: Exclude<DisabledReason, 'owner'> | null
}

/** An endpoint that nothing can be sent to, since this part of its row cannot be decrypted. */
export interface DamagedEndpoint {
  readonly id: EndpointId
  readonly email: string
  readonly part: 'url' | 'secret'
}

/** A lease that no process would hold so long. */
export type StuckLease =
  | {
      readonly kind: 'sync'
      readonly id: ConnectionId
      readonly startedAt: Millis
      readonly leaseUntil: Millis
    }
  | { readonly kind: 'endpoint'; readonly id: EndpointId; readonly leaseUntil: Millis }

export interface StuckBounds {
  readonly now: Millis
  /** A sync run that started before and is still under way is stuck. */
  readonly startedBefore: Millis
  /** A lease that ends later was taken by a process whose clock was ahead. */
  readonly heldBeyond: number
  /** The most findings of each kind. */
  readonly limit: number
}

/** Where the keys of events are. */
export interface KeyPlace {
  /** The path of the file, or the name of the schema. */
  readonly place: string
  /** Who may read it beside this service, in plain words; null: nobody. */
  readonly exposure: string | null
}

/** An active connection, without anything that names its owner or its accounts. */
export interface LinkedConnection {
  readonly id: ConnectionId
  readonly userId: UserId
  readonly loginId: LoginId
}

/** A column with values that no version of this service writes. */
export interface DamagedColumn {
  readonly table: string
  readonly column: string
  readonly count: number
  /** The first of these rows: the name of its key, and its value. */
  readonly key: 'id' | 'rowid'
  readonly first: string
}

/** What operators ask about the store as a whole; no request of a caller uses it. */
export interface StoreInspector {
  /** Checks with a write that changes nothing that the store accepts writes. */
  examine(): Promise<StoreCondition>
  /** Rows sealed under a key other than the first; counted up to `limit` per table. */
  countAged(limit: number): Promise<number>
  countConnections(): Promise<Readonly<Record<StoredStatus, number>>>
  /** The providers at which somebody is linked, unordered; at most `limit` of their people are named. */
  listUse(limit: number): Promise<readonly ProviderUse[]>
  /** The newest active connections of a provider, at most `limit`. */
  listLinked(query: {
    readonly provider: Provider
    readonly limit: number
  }): Promise<readonly LinkedConnection[]>
  /** Active connections of a provider last refreshed before an instant, the oldest first, at most `limit`. */
  listStale(query: {
    readonly provider: Provider
    readonly before: Millis
    readonly limit: number
  }): Promise<readonly StaleConnection[]>
  /** Connections that are not `active`, by age; at most `limit`. */
  listTroubled(limit: number): Promise<readonly TroubledConnection[]>
  /** Active connections whose last sync failed, and those of `also`, by age; at most `limit`. */
  listFailing(query: {
    readonly also: readonly ConnectionId[]
    readonly limit: number
  }): Promise<readonly FailingConnection[]>
  /** Logins of connections that are not being deleted, by id; at most `limit`. */
  listUsedLogins(limit: number): Promise<readonly UsedLogin[]>
  /** Paused endpoints and those that were not disabled by their owner, by age; at most `limit`. */
  listTroubledEndpoints(limit: number): Promise<readonly TroubledEndpoint[]>
  /** Opens the first `limit` endpoints that are not disabled. */
  listDamagedEndpoints(limit: number): Promise<readonly DamagedEndpoint[]>
  listStuckLeases(bounds: StuckBounds): Promise<readonly StuckLease[]>
  /**
   * `withoutLedger` counts users who have an endpoint or a consumer and no ledger (reading R34b): syncs make
   * no events for them. `unusedLedgers` belong to users with neither.
   */
  countLedgerMismatches(): Promise<{
    readonly withoutLedger: number
    readonly unusedLedgers: number
  }>
  /**
   * When the newest run began that a webhook of the provider asked for; a provider
   * without such a run is absent. Looks at the newest 20,000 runs that have ended.
   */
  findProviderRuns(): Promise<Partial<Record<Provider, Millis>>>
  /** Not of deliveries and events, which may be too many to look through. */
  listDamaged(): Promise<readonly DamagedColumn[]>
  /** Checks that the keys of events can be read and written. @throws StoreUnavailableError */
  examineKeys(): Promise<KeyPlace>
}
