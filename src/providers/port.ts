/**
 * What the house asks of a provider. A union on `category`: a missing capability is visible in the type, so 501 and
 * wrong-category answers come from the union and not from try/catch. Everything here is in our words; knowledge of an
 * upstream (paths, signs, dates, paging) never leaves its folder. Every method throws UpstreamError and nothing else,
 * except the caller's own AbortError.
 */
import type {
  AccountType,
  Balance,
  ConnectionStatus,
  Holding,
  Provider,
  Trade,
  Transaction,
} from '#contract/resources.ts'
import type { AccountId, ConnectionId, LoginId, UpstreamId } from '#kernel/ids.ts'
import type { Micros, Zone } from '#kernel/time.ts'
import type { UpstreamFailure } from './failure.ts'

/** How one call is made: whose patience it uses and how urgent it is. */
export interface CallContext {
  /** Aborted when nobody waits any more or the request's time is over; the provider's call ends with it. */
  readonly signal: AbortSignal
  /** Users' requests go first where a provider limits the whole application. */
  readonly priority: 'user' | 'background'
}

/** The credentials of one person at one provider; several connections may share them. */
export interface Login {
  readonly id: LoginId
  /** Who they are there: Fiskil end user, Akahu user, SnapTrade user id. */
  readonly upstreamUserId: string
  /** The secret, opened; null where the provider needs none of the person's (Fiskil). */
  readonly secret: string | null
}

export interface ConnectionRef {
  readonly id: ConnectionId
  readonly upstreamId: UpstreamId
  readonly status: ConnectionStatus
}

export interface AccountRef {
  readonly id: AccountId
  readonly connectionId: ConnectionId
  readonly upstreamId: UpstreamId
  readonly name: string
  readonly currency: string
}

/** What the provider knows of one link to one institution. */
export interface DiscoveredConnection {
  readonly upstreamId: UpstreamId
  readonly institutionId: string
  readonly institutionName: string
  readonly institutionLogo: string | null
  readonly status: ConnectionStatus
  /** ISO 8601 UTC, or null when the provider does not say. */
  readonly lastRefreshedAt: string | null
  /** Null when the provider does not tell them at present (consent gone): what we have stays. */
  readonly accounts: readonly DiscoveredAccount[] | null
}

export interface DiscoveredAccount {
  readonly upstreamId: UpstreamId
  /** The id it had before the provider moved it, if it did (Akahu `_migrated`). */
  readonly previousUpstreamId: UpstreamId | null
  readonly name: string
  readonly type: AccountType
  /** Already masked: `xxxx1234` or null. A full number never leaves the adapter. */
  readonly accountNumber: string | null
  /** Null when the provider could not tell it this time: what we have stays, else the default of reading R24b. */
  readonly currency: string | null
}

/** What an operator hands over to adopt a consent that exists at the provider. */
export type Credentials =
  | { readonly provider: 'fiskil'; readonly endUserId: string }
  | { readonly provider: 'akahu'; readonly userToken: string }
  | {
      readonly provider: 'snaptrade'
      readonly snaptradeUserId: string
      readonly userSecret: string
    }

/** What a provider answered when it was asked how it is. */
export interface ProbeReply {
  /** Its own time, in milliseconds since the epoch; null when its answer tells none. */
  readonly theirTimeMs: number | null
  /** Why it does not serve us, e.g. `misconfigured` when it refuses our app's credentials; null when it does. */
  readonly failure: UpstreamFailure | null
}

interface AdapterBase {
  readonly provider: Provider
  /** Who these credentials belong to, and what of them is secret. Rejects credentials that do not work. */
  identify(
    credentials: Credentials,
    call: CallContext,
  ): Promise<{ readonly upstreamUserId: string; readonly secret: string | null }>
  /**
   * Every connection of this login with its accounts, one per institution and login there. A connection of ours that is
   * absent from the answer is gone at the provider.
   */
  discover(login: Login, call: CallContext): Promise<readonly DiscoveredConnection[]>
  /** Ends the consent at the provider; safe to repeat. `last`: no other connection of ours uses this login. */
  revoke(
    login: Login,
    connection: ConnectionRef,
    options: { readonly last: boolean },
    call: CallContext,
  ): Promise<void>
  /**
   * Called when a read found nothing at all: resolves when the emptiness can be believed, throws `consent_lost` or
   * `preparing` when it cannot (reading R20b).
   */
  confirmEmpty(login: Login, connection: ConnectionRef, call: CallContext): Promise<void>
  /**
   * Asks whether the provider is there and accepts our app's credentials, with calls that need no person. A refusal is
   * part of the reply; only when no answer came at all it throws UpstreamError.
   */
  probe?(call: CallContext): Promise<ProbeReply>
  /** Closes its connection pool. */
  close(): Promise<void>
}

/** Both bounds inclusive, in microseconds; null: no bound ("provider default"). */
export interface TimeWindow {
  readonly from: Micros | null
  readonly to: Micros | null
}

export interface RowsQuery {
  readonly login: Login
  readonly connection: ConnectionRef
  /** The accounts wanted: all of the connection's, or the one asked for. */
  readonly accounts: readonly AccountRef[]
  /** Exactly one account was asked for: ask the provider for that one alone. */
  readonly scoped: boolean
  readonly window: TimeWindow
  /** The user's zone: dates are seen in it, day-only rows count at the first instant of their day in it (R16a). */
  readonly zone: Zone
}

/** Where a page stands at the provider; plain data, so that a walk can be resumed later by another request. */
export type PageCursor = string

/** What can be told of a row without mapping it. */
export interface RowHead {
  /** Identity for leaving out a row that the provider sends twice within one read; unique over all its accounts. */
  readonly id: string
  readonly account: AccountRef
  /** When it counts for `from` and `to`. */
  readonly time: Micros
}

/**
 * One page of the provider, parsed but not mapped: rows outside the window asked for are only counted.
 * `head` and `map` throw `malformed` for rows that cannot be read (reading R23).
 */
export interface RowPage<Row> {
  /** Rows on the page, of whatever account and status. */
  readonly length: number
  /** The next page; null at the end. */
  readonly next: PageCursor | null
  /** Further cursors after `next` that are already known (numbered pages), so that several can be fetched at once. */
  readonly ahead: readonly PageCursor[]
  /** Rows that belong to the query's connection, pending ones included: they prove that consent lives. */
  readonly ownRows: number
  /** The body as it came: kept for later windows of the same walk, opened again with `openPage`. */
  readonly body: Uint8Array
  /** Null for rows that are not wanted: pending, or of an account that was not asked for. */
  head(index: number): RowHead | null
  map(index: number): Row
}

/** Reads pages of rows. `cursor` null is the first page. */
export interface RowReader<Page> {
  /** The provider's own page size: the "1000" of the page cap (reading R17). */
  readonly pageSize: number
  read(query: RowsQuery, cursor: PageCursor | null, call: CallContext): Promise<Page>
  /** Parses a body that `read` returned earlier for the same query and cursor. */
  open(query: RowsQuery, cursor: PageCursor | null, body: Uint8Array): Page
}

export interface BalanceQuery {
  readonly login: Login
  readonly accounts: readonly { readonly account: AccountRef; readonly connection: ConnectionRef }[]
}

/** Balances in the provider's order; accounts that the provider does not mention are simply absent. */
export type BalanceReader = (query: BalanceQuery, call: CallContext) => Promise<readonly Balance[]>

export interface BankingAdapter extends AdapterBase {
  readonly category: 'banking'
  /** Absent: the provider has none (501). */
  readonly balances?: BalanceReader
  readonly transactions: RowReader<RowPage<Transaction>>
}

/** A trade whose id is still the bare one: the resource numbers identical fills (reading R24a). */
export interface TradePage extends RowPage<Trade> {
  /** The id built from the mapped fields, without a number behind it; unreadable parts as they were sent. */
  tradeKey(index: number): string
}

export interface HoldingsQuery {
  readonly login: Login
  readonly connection: ConnectionRef
  readonly account: AccountRef
}

export interface BrokerageAdapter extends AdapterBase {
  readonly category: 'brokerage'
  holdings(query: HoldingsQuery, call: CallContext): Promise<readonly Holding[]>
  /** Newest first. Always asked with exactly one account: the provider knows activities per account only. */
  readonly trades: RowReader<TradePage>
}

export type Adapter = BankingAdapter | BrokerageAdapter

/** The adapters that are configured; an absent one means its credentials are not set. */
export type Adapters = Partial<Record<Provider, Adapter>>

/** What adapters tell the operators: turned into log lines, metrics and alerts by the composition root. */
export interface UpstreamReport {
  /** One HTTP exchange with a provider is over. `route` is a template, never a URL with ids or secrets. */
  exchange(event: {
    readonly provider: Provider
    readonly route: string
    /** HTTP status; 'error' when no complete answer came; 'aborted' when nobody waited any more. */
    readonly outcome: number | 'error' | 'aborted'
    readonly durationMs: number
  }): void
  /** Something only the operator can mend (reading R20a). */
  alert(event: { readonly provider: Provider; readonly detail: string }): void
  /** A value outside the known lists was seen, e.g. an unknown category; counted, never logged with its row. */
  oddity(event: { readonly provider: Provider; readonly what: string }): void
}
