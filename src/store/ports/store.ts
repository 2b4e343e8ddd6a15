/**
 * The durable store as one port, with one file per entity beside this one; one implementation on SQLite and
 * PostgreSQL. It holds the connections and the keys to them, never the money data.
 */
import type { AccountStore } from './accounts.ts'
import type { AuditEntry, AuditLog, ExtensionEntry } from './audit.ts'
import type { BeginChange, StoreChange, WorkKind } from './changes.ts'
import type { ConnectionEventStore } from './connection-events.ts'
import type { ConnectionStore } from './connections.ts'
import type { ConsumerStore } from './consumers.ts'
import type { DeliveryStore } from './deliveries.ts'
import type { EndpointStore } from './endpoints.ts'
import type { EventRows, EventStore } from './events.ts'
import type { StoreInspector } from './inspector.ts'
import type { KeyStore } from './keys.ts'
import type { LedgerStore } from './ledgers.ts'
import type { LinkingStore } from './linkings.ts'
import type { LoginStore } from './logins.ts'
import type { MailStore } from './mails.ts'
import type { StoreMark } from './meta.ts'
import type { OAuthStore } from './oauth.ts'
import type { PasskeyStore } from './passkeys.ts'
import type { ProgramStore } from './programs.ts'
import type { ProviderCallStore } from './provider-calls.ts'
import type { SecondFactorStore } from './second-factors.ts'
import type { SessionStore } from './sessions.ts'
import type { SingleUseStore } from './single-use.ts'
import type { SyncStore } from './syncs.ts'
import type { UsageStore } from './usage.ts'
import type { UserStore } from './users.ts'

/** What can be read and written, in one transaction or separately. */
export interface StoreRows {
  readonly users: UserStore
  readonly keys: KeyStore
  readonly programs: ProgramStore
  readonly logins: LoginStore
  readonly connections: ConnectionStore
  readonly accounts: AccountStore
  readonly oauth: OAuthStore
  readonly sessions: SessionStore
  readonly secondFactors: SecondFactorStore
  readonly passkeys: PasskeyStore
  readonly linkings: LinkingStore
  readonly syncs: SyncStore
  readonly ledgers: LedgerStore
  readonly connectionEvents: ConnectionEventStore
  readonly endpoints: EndpointStore
  readonly events: EventRows
  readonly deliveries: DeliveryStore
  readonly consumers: ConsumerStore
  readonly usage: UsageStore
  readonly providerCalls: ProviderCallStore
  readonly mails: MailStore
  readonly singleUse: SingleUseStore
  audit(entry: AuditEntry): Promise<void>
  auditExtension(entry: ExtensionEntry): Promise<void>
}

export interface TransactOptions {
  /**
   * True: when this resolves, others see what was done, but a crash of the machine, or of the server of
   * PostgreSQL, may still undo it; a crash of this process does not. Whatever is committed later without this
   * option, is on disk with everything before it. Absent: it is on disk when this resolves.
   */
  readonly mayBeLost?: boolean
}

export interface Store extends StoreRows {
  readonly events: EventStore
  readonly inspector: StoreInspector
  readonly auditLog: AuditLog
  readonly mark: StoreMark
  /**
   * Runs `work` in one transaction: all writes through `tx` are committed, or none when it throws. After a
   * deadlock `work` runs again, so it must have no other effects, call nothing outside and use no store but
   * `tx`.
   */
  transact<Result>(
    work: (tx: StoreRows) => Promise<Result>,
    options?: TransactOptions,
  ): Promise<Result>
  /**
   * Runs work for somebody who has shown nothing good yet, in a turn of `from`, which names their address. It
   * makes one call of the store after another. Within such work this takes no second turn.
   * @throws StoreUnavailableError when too many wait, or too long; what `work` throws.
   */
  forStranger<Result>(from: string, work: () => Promise<Result>): Promise<Result>
  /**
   * Registers a listener for every committed change of a user's plan, timezone, keys, connections or
   * accounts: changes of this process at once, on PostgreSQL also those of other processes (LISTEN/NOTIFY).
   * Returns a function that unsubscribes.
   */
  onChange(listener: (change: StoreChange) => void): () => void
  /** From now on every change that `onChange` reports begins so. */
  beginChangesWith(begin: BeginChange): void
  /**
   * Registers a listener for committed work: a sync, an event about a connection, a delivery or a mail is
   * due, at once or at a time that was not known before (the next scheduled sync and the retry of a delivery
   * are known to their holder and not announced). Work of this process is announced at once, on PostgreSQL
   * also that of other processes; every kind after the connection for notifications was restored, as
   * notifications may have been missed. It may be called without need. Returns a function that unsubscribes.
   */
  onWork(listener: (kind: WorkKind) => void): () => void
  /**
   * Registers a listener for new events in a user's feed: those of this process at once, on PostgreSQL also
   * those of other processes; `userId` null: perhaps in everybody's. It may be called without need. Returns a
   * function that unsubscribes.
   */
  onFeed(listener: (change: StoreChange) => void): () => void
  /** Resolves when the store answers. */
  ping(): Promise<void>
  close(): Promise<void>
}
