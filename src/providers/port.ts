/**
 * The port to a provider. A union on `category`: a missing capability is visible in the type, so 501 and
 * wrong-category answers follow from the union instead of try/catch. Types here use our own terms; knowledge
 * of an upstream (paths, signs, dates, paging) never leaves its folder. Every method throws only
 * UpstreamError or the caller's own AbortError.
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
import type { AccountId, ConnectionId, UpstreamId, UserId } from '#kernel/ids.ts'
import type { Secret } from '#kernel/secret.ts'
import type { Micros, Millis, Zone } from '#kernel/time.ts'
import type { IdentifyOwner, OperatorWords, RevokeOptions } from './credentials.ts'
import type { DataAge } from './data-age.ts'
import type { UpstreamFailure } from './failure.ts'
import type { Linking } from './linking.ts'
import type { CallContext, ConnectionRef, Login } from './login.ts'
import type { PendingReading, RowSettling, TransactionDetails } from './row-details.ts'

export type { DataAge } from './data-age.ts'
export type { CallContext, ConnectionRef, Login } from './login.ts'
export type { TransactionDetails } from './row-details.ts'

export interface AccountRef {
  readonly id: AccountId
  readonly connectionId: ConnectionId
  readonly upstreamId: UpstreamId
  readonly name: string
  readonly currency: string
}

/** What the provider knows about one connection to one institution. */
export interface DiscoveredConnection {
  readonly upstreamId: UpstreamId
  readonly institutionId: string
  /** Null when the provider omits it this time, as with the logo; the stored value stays. */
  readonly institutionName: string | null
  readonly institutionLogo: string | null
  readonly status: ConnectionStatus
  /** ISO 8601 UTC, or null when the provider does not report it. */
  readonly lastRefreshedAt: string | null
  /** When the consent ends: ISO 8601 UTC; null or absent when the provider does not report it. */
  readonly consentExpiresAt?: string | null
  /** Null when the provider currently lists none (consent lost); the stored accounts stay. */
  readonly accounts: readonly DiscoveredAccount[] | null
}

export interface DiscoveredAccount {
  readonly upstreamId: UpstreamId
  /** The id before the provider moved the account, if it did (Akahu `_migrated`). */
  readonly previousUpstreamId: UpstreamId | null
  readonly name: string
  readonly type: AccountType
  /** Masked: `xxxx1234`. Null when omitted: the stored value stays. Full numbers stay in the adapter. */
  readonly accountNumber: string | null
  /** Null when omitted this time; the stored value stays, otherwise the default of reading R24b applies. */
  readonly currency: string | null
  /** Fields that the provider omitted: stored values stay, a new account uses the values here. */
  readonly assumed?: readonly ('name' | 'type')[]
}

export interface ProbeReply {
  /** The provider's own time; null when its answer has none. */
  readonly theirTimeMs: Millis | null
  /** Why it cannot serve us, e.g. `misconfigured` when it refuses our app's credentials; null when it can. */
  readonly failure: UpstreamFailure | null
  /** For operators, in place of a general sentence: which key was accepted, and what to know of it. */
  readonly note?: string | null
  /** What is left to do before people can link, a sentence for operators; null or absent: nothing. */
  readonly nextStep?: string | null
  /** The return addresses that the provider accepts, where it tells them. */
  readonly returnUrls?: readonly string[]
}

/** A read that found nothing: these rows of these accounts. */
export interface EmptyAnswer {
  readonly what: 'transactions' | 'holdings'
  /** Those without any. */
  readonly accounts: readonly AccountRef[]
  /** All accounts of the read. */
  readonly among: readonly AccountRef[]
}

export interface WebhookRequest {
  /** A header by its name in lower case. */
  header(name: string): string | undefined
  /** As received: signatures are computed over these bytes. */
  readonly body: Uint8Array
}

/** What a webhook reports. Rows and amounts are never taken from webhooks: they are read afterwards. */
export type WebhookChange =
  /** The consent, its status, or the list of accounts changed in a way that the webhook does not say. */
  | { readonly kind: 'consent' | 'accounts' }
  /** The consent took this status at this time. */
  | {
      readonly kind: 'status'
      readonly status: Extract<ConnectionStatus, 'active' | 'invalidated' | 'revoked'>
      readonly at: Millis
    }
  /** There are newer data of this kind. */
  | { readonly kind: 'balances' | 'holdings' | 'rows' }
  /** This secret of a login was revoked at the provider, and every consent with it. */
  | { readonly kind: 'secret_revoked'; readonly secret: Secret<string> }
  /** The provider sends no more webhooks about the login (`WebhookReceiver.listen`). */
  | { readonly kind: 'cancelled' }

/** One change at one login of ours, or at one that we do not know. */
export interface WebhookNotice {
  /** The text that `listen` sent along, or the person's id at the provider. */
  readonly login: { readonly reference: string } | { readonly upstreamUserId: string }
  /** Null: every connection of the login. */
  readonly connection: UpstreamId | null
  /** Fallback if no connection has that id: match by institution; null: no fallback. */
  readonly institutionId: string | null
  /** Null: the webhook names no account, or the account does not matter. */
  readonly account: UpstreamId | null
  /** When the provider last read the institution; null: not reported. */
  readonly refreshedAt: Millis | null
  readonly change: WebhookChange
}

export type WebhookVerdict =
  | {
      readonly kind: 'accepted'
      /** Equal for a repetition of the same webhook. */
      readonly key: string
      /** How long repetitions are recognised, in milliseconds. */
      readonly keyLifeMs: number
      /** Empty for events about data that we do not serve, and for unknown events. */
      readonly notices: readonly WebhookNotice[]
    }
  | { readonly kind: 'refused'; readonly reason: 'unsigned' | 'forged' | 'too_old' | 'unreadable' }

export interface KnownLogins {
  /** Whether this is the reference of a login of ours (`WebhookReceiver.listen`). */
  has(reference: string): Promise<boolean>
}

export interface WebhookReceiver {
  /**
   * Verifies a webhook and translates it. Before its signature is verified nothing of its body is used,
   * except to decide whether a signing key is fetched for it.
   * @param logins those of this provider; absent: none is known.
   * @throws UpstreamError when the provider's signing key is needed and cannot be read; the webhook may be
   *   genuine.
   */
  receive(request: WebhookRequest, logins?: KnownLogins): Promise<WebhookVerdict>
  /**
   * Asks the provider to send webhooks about this login, with the login's id as the reference of its notices.
   * May be repeated. Absent: the provider sends them for every login by itself.
   */
  listen?(login: Login, call: CallContext): Promise<void>
}

/** What is left of the requests that a provider allows in one window. */
export interface CallsLeft {
  readonly calls: number
  readonly left: number
  readonly windowSeconds: number
  readonly resetSeconds: number
  /** The budget is that of the whole installation, not of this person's key. */
  readonly isShared: boolean
}

interface AdapterBase extends OperatorWords {
  readonly provider: Provider
  /** The source of the refresh time: `reported` by the provider, or `reads`: our own successful ones. */
  readonly freshness: 'reported' | 'reads'
  identify: IdentifyOwner
  /**
   * Every connection of this login with its accounts, one per institution and login there. A stored
   * connection that is missing from the result no longer exists at the provider.
   */
  discover(login: Login, call: CallContext): Promise<readonly DiscoveredConnection[]>
  /** Ends the consent at the provider; may be repeated. */
  revoke(
    login: Login,
    connection: ConnectionRef,
    options: RevokeOptions,
    call: CallContext,
  ): Promise<void>
  /** True where `revoke` leaves a consent that others may use, unless that is asked for. Absent: never. */
  leavesConsent?(login: Login): boolean
  /**
   * Ends a login that this installation made there (`Linking`), with everything it holds at the provider: for
   * a login without connections, whose person never linked or has gone. It cannot be undone, and may be
   * repeated. A personal key is left alone. Absent: a login leaves nothing there.
   */
  endLogin?(login: Login, call: CallContext): Promise<void>
  /**
   * Called when a read found nothing: resolves when the empty result can be trusted, throws `consent_lost`,
   * `preparing` or `rejected` when it cannot (reading R20b). Without `asked` only the consent is checked.
   */
  confirmEmpty(
    login: Login,
    connection: ConnectionRef,
    call: CallContext,
    asked?: EmptyAnswer,
  ): Promise<void>
  /** What is left for this login, without counting. Absent: no limit; null: none for this login. */
  callsLeft?(login: Login): Promise<CallsLeft | null>
  /**
   * The login's connections whose consent the provider reports as active (reading R20b). Absent where rows
   * prove that (Fiskil, Up); others keep serving old rows after a consent is lost.
   */
  listAlive?(login: Login, call: CallContext): Promise<readonly UpstreamId[]>
  /**
   * Checks that the provider is reachable and accepts our app's credentials, with calls that need no person.
   * A refusal is part of the reply; it throws UpstreamError only when there was no answer.
   */
  probe?(call: CallContext): Promise<ProbeReply>
  /** Absent: the provider sends none, or what verifies them is not configured. */
  readonly webhooks?: WebhookReceiver
  /** How a person gives consent in a browser; absent: people link by keys of their own or not at all. */
  readonly linking?: Linking
  /** Closes the connection pool. */
  close(): Promise<void>
}

/** Both bounds inclusive, in microseconds; null: no bound ("provider default"). */
export interface TimeWindow {
  readonly from: Micros | null
  readonly to: Micros | null
  /** True when no upper bound was requested, so that `to` is the current time (`day-time.ts`). */
  readonly isOpen?: boolean
}

export interface RowsQuery {
  /** The owner of the rows: ids that are made of a row's content are the owner's alone (reading R37). */
  readonly userId: UserId
  readonly login: Login
  readonly connection: ConnectionRef
  /** The requested accounts: all of the connection's, or a single one. */
  readonly accounts: readonly AccountRef[]
  /** Exactly one account was requested, so the provider is asked for that one only. */
  readonly scoped: boolean
  readonly window: TimeWindow
  /** The user's zone: dates are shown in it, and a row of a day counts at its first instant there (R16a). */
  readonly zone: Zone
  /** Pending rows are wanted: `among` posted ones, or as a list alone (reading R39). */
  readonly pending?: 'among' | 'alone'
}

/** The position of a page at the provider; plain data, so that another request can read on later. */
export type PageCursor = string

/** What is known about a row without mapping it. */
export interface RowHead {
  /**
   * Identifies a row that the provider sends twice within one read; unique over all its accounts. It need not
   * be the public id.
   */
  readonly id: string
  readonly account: AccountRef
  /** The time that is compared with `from` and `to`. */
  readonly time: Micros
}

/**
 * One page of the provider, parsed but not mapped: rows outside the requested window are only counted. `head`
 * and `map` throw `malformed` for rows that cannot be read (reading R23).
 */
export interface RowPage<Row> {
  /** Rows on the page, of any account and status. */
  readonly length: number
  /** The next page; null at the end. */
  readonly next: PageCursor | null
  /** Further cursors after `next` that are known (numbered pages), to read several pages at once. */
  readonly ahead: readonly PageCursor[]
  /** The provider's own count of all rows of any kind; null where it gives none (cursors). */
  readonly total: number | null
  /** Rows of the query's connection, including pending ones: they prove that its consent is active. */
  readonly ownRows: number
  /** Absent: the page was read for this query just now. */
  readonly age?: DataAge
  /** The body as received: held for later windows of the same query, and parsed again with `open`. */
  readonly body: Uint8Array
  /** Null for rows that are not wanted: pending, or of an account that was not requested. */
  head(index: number): RowHead | null
  map(index: number): Row
  /** Called where rows of the page came before: reports those of one id that differ (reading R23). */
  noteRepeated?(): void
}

/** Reads pages of rows. `cursor` null is the first page. */
export interface RowReader<Page> {
  /** The provider's own page size, with which the page cap is counted (contract, Limits; reading R17). */
  readonly pageSize: number
  /**
   * Rows that a page after the first repeats of the page before it. 1 where pages are numbered, so that rows
   * which move while they are read show; 0 where a cursor names the next row.
   */
  readonly overlap: 0 | 1
  /**
   * The provider lists rows by account: it is read with exactly one account, and the lists are merged by time
   * (reading R16). Absent at banks that list all accounts at once.
   */
  readonly isByAccount?: true
  read(query: RowsQuery, cursor: PageCursor | null, call: CallContext): Promise<Page>
  /** Parses a body that `read` returned earlier for the same query and cursor. */
  open(query: RowsQuery, cursor: PageCursor | null, body: Uint8Array): Page
}

export interface BalanceQuery {
  readonly login: Login
  readonly accounts: readonly { readonly account: AccountRef; readonly connection: ConnectionRef }[]
}

/** What an answer showed about the consent of one connection, in addition to its balances. */
export interface ConsentState {
  readonly connectionId: ConnectionId
  readonly status: ConnectionStatus
  /** ISO 8601 UTC, or null when the provider does not report it. */
  readonly lastRefreshedAt: string | null
}

export interface BalanceReading {
  /** In the provider's order; accounts that the provider omits are absent. */
  readonly balances: readonly Balance[]
  /** Only for connections whose state is known; an unexplained empty answer shows nothing. */
  readonly consents: readonly ConsentState[]
  /** Absent: the balances were read for this query just now. */
  readonly age?: DataAge
}

export type BalanceReader = (query: BalanceQuery, call: CallContext) => Promise<BalanceReading>

/** Transactions with the fields that only events contain: a sync reads both of every row (reading R23). */
export interface TransactionPage extends RowPage<Transaction> {
  /** Throws `malformed` where a field cannot be read. */
  details(index: number): TransactionDetails
  /** What a row has with `includePending` besides (reading R39). Throws `malformed` likewise. */
  settling(index: number): RowSettling
}

export interface BankingAdapter extends AdapterBase {
  readonly category: 'banking'
  /** Absent: the provider has no balances (501). */
  readonly balances?: BalanceReader
  readonly transactions: RowReader<TransactionPage>
  /**
   * Reads the pending rows of the query's accounts, whatever its window (reading R39); `among`: they stand
   * among the posted ones where `RowsQuery.pending` asks for them, under the ids that they keep.
   */
  readonly pending?: 'among' | ((query: RowsQuery, call: CallContext) => Promise<PendingReading>)
}

/** Trades without the number in their id: the resource numbers identical fills (reading R24a). */
export interface TradePage extends RowPage<Trade> {
  /** The id made from the mapped fields, without a number; unreadable parts as received. */
  tradeKey(index: number): string
}

export interface HoldingsQuery {
  readonly login: Login
  readonly connection: ConnectionRef
  readonly account: AccountRef
}

export interface BrokerageAdapter extends AdapterBase {
  readonly category: 'brokerage'
  /** Returns an empty list unchecked: the caller calls `confirmEmpty` once for all, and reads them again. */
  holdings(query: HoldingsQuery, call: CallContext): Promise<readonly Holding[]>
  /** Newest first. Called with exactly one account, because the provider lists activities by account. */
  readonly trades: RowReader<TradePage>
}

export type Adapter = BankingAdapter | BrokerageAdapter

/** The configured adapters; an absent one has no credentials. */
export type Adapters = Partial<Record<Provider, Adapter>>

/** What adapters report to operators; the composition root turns it into log lines, metrics and alerts. */
export interface UpstreamReport {
  /**
   * Reports a finished HTTP exchange with a provider. `route` is a template, never a URL with ids or secrets.
   */
  exchange(event: {
    readonly provider: Provider
    readonly route: string
    /** HTTP status; 'error' without a complete answer; 'aborted' when no caller waited any more. */
    readonly outcome: number | 'error' | 'aborted'
    readonly durationMs: number
  }): void
  /** Reports what only the operator can fix (reading R20a). */
  alert(event: { readonly provider: Provider; readonly detail: string }): void
  /**
   * Reports a value outside the known lists, e.g. an unknown category; counted, never logged with its row.
   */
  oddity(event: { readonly provider: Provider; readonly what: string }): void
}
