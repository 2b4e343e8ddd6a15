/** Written by scripts/sdk.ts from docs/openapi.json: change the contract, not this file. */

/** Exact decimal text. `new Decimal(text)` of a decimal library takes it; a float would lose digits. */
export type DecimalString = string & { readonly __decimal?: never }

/** Stable codes of errors. */
export type ErrorCode =
  | 'account_not_found'
  | 'connection_not_found'
  | 'from_too_old'
  | 'insufficient_scope'
  | 'invalid_date_range'
  | 'invalid_params'
  | 'invalid_token'
  | 'missing_authorization'
  | 'not_found'
  | 'professional_required'
  | 'too_many_accounts'
  | 'too_many_consumers'
  | 'upstream_bad_request'
  | 'upstream_breaker_open'
  | 'wrong_endpoint_for_category'
  | (string & {})

/** A link to one institution through one provider. */
export interface Connection {
  /** Id of the connection. */
  readonly id: string
  /** Who supplies the data: AU banking, NZ banking, brokerage, Up (an AU bank). */
  readonly provider: Provider
  /** What kind of institution the connection leads to. */
  readonly category: ConnectionCategory
  /** Opaque id of the institution at the provider. */
  readonly institutionId: string
  /** Display name of the institution. */
  readonly institutionName: string
  /** URL of a logo. */
  readonly institutionLogo: string | null
  /** active; invalidated (consent or credentials expired: reconnect); pending_mfa (awaiting a second factor); revoked (consent withdrawn). */
  readonly status: ConnectionStatus
  /** Last successful refresh as the provider reports it; where it reports none, our last successful read. Null when nothing is known. */
  readonly lastRefreshedAt: string | null
  /** When the connection was made. */
  readonly createdAt: string
  /** By kind of data, those that the connection has. Only with `include=freshness`. */
  readonly freshness?: Freshness
  /** When the consent ends; null: the provider does not say. Only with `include=freshness`. */
  readonly consentExpiresAt?: string | null
}

/** Who supplies the data: AU banking, NZ banking, brokerage, Up (an AU bank). */
export type Provider =
  | 'fiskil'
  | 'akahu'
  | 'snaptrade'
  | 'up'
  | 'simplefin'
  | 'enablebanking'
  | (string & {})

/** What kind of institution the connection leads to. */
export type ConnectionCategory =
  | 'banking'
  | 'brokerage'
  | (string & {})

/** active; invalidated (consent or credentials expired: reconnect); pending_mfa (awaiting a second factor); revoked (consent withdrawn). */
export type ConnectionStatus =
  | 'active'
  | 'invalidated'
  | 'pending_mfa'
  | 'revoked'
  | (string & {})

/** By kind of data, those that the connection has. Only with `include=freshness`. */
export interface Freshness {
  /** How fresh one kind of data is. */
  readonly balances?: KindFreshness
  /** How fresh one kind of data is. */
  readonly transactions?: KindFreshness
  /** How fresh one kind of data is. */
  readonly holdings?: KindFreshness
  /** How fresh one kind of data is. */
  readonly trades?: KindFreshness
}

/** How fresh one kind of data is. */
export interface KindFreshness {
  /** When the institution last updated it, as the provider says; null: it does not. */
  readonly asOf: string | null
  /** When this service last read it by itself; null: it reads it when you ask. */
  readonly readAt: string | null
  /** When the last background read failed; null: it did not. */
  readonly failedAt: string | null
  /** Why a background read failed. */
  readonly error: ReadError | null
  /** When this service reads it by itself again; null: not planned. */
  readonly nextReadAt: string | null
}

/** Why a background read failed. */
export interface ReadError {
  /** Why, as a code. */
  readonly code: string
  /** Why, in a sentence. */
  readonly message: string
}

/** A bank or brokerage account. */
export interface Account {
  /** Id of the account. */
  readonly id: string
  /** Id of the connection. */
  readonly connectionId: string
  /** Who supplies the data: AU banking, NZ banking, brokerage, Up (an AU bank). */
  readonly provider: Provider | null
  /** Account name. */
  readonly name: string
  /** Kind of account. */
  readonly type: AccountType
  /** Display name of the institution. */
  readonly institutionName: string | null
  /** Always masked: `xxxx` and the last four characters. */
  readonly accountNumber: string | null
  /** ISO 4217 currency code (brokerages: also the code of a coin). */
  readonly currency: string
  /** By kind of data, those that the connection has. Only with `include=freshness`. */
  readonly freshness?: Freshness
  /** When the consent ends; null: the provider does not say. Only with `include=freshness`. */
  readonly consentExpiresAt?: string | null
}

/** Kind of account. */
export type AccountType =
  | 'transaction'
  | 'savings'
  | 'credit-card'
  | 'loan'
  | 'investment'
  | 'term-deposit'
  | 'other'
  | (string & {})

/** Where this page stands in the whole list. */
export interface Pagination {
  /** Exact when hasMore is false; null when unknown. */
  readonly total: number | null
  /** Effective page size: clamped from the request, or the rows of a page that was cut short (0 when the page cap came before any). The next page begins at offset + limit. */
  readonly limit: number
  /** Offset that produced the page. */
  readonly offset: number
  /** True if there is at least one more page: test this, not total. */
  readonly hasMore: boolean
}

/** Balances of one account; all three null when the provider does not return them. */
export interface Balance {
  /** Id of the account. */
  readonly accountId: string
  /** Current balance; negative when in debit. Exact decimal text: parse it as a decimal, never as a float. */
  readonly currentBalance: DecimalString | null
  /** Available balance. Exact decimal text: parse it as a decimal, never as a float. */
  readonly availableBalance: DecimalString | null
  /** ISO 4217 currency code (brokerages: also the code of a coin). */
  readonly currency: string | null
}

/** A bank transaction: posted, or pending where that was asked for. */
export interface Transaction {
  /** Opaque id at the provider: any text, not a UUID. Of a pending row `pending_…`. */
  readonly id: string
  /** Id of the account. */
  readonly accountId: string
  /** Account name. */
  readonly accountName: string
  /** `posted`; with `includePending=true` also `pending`. */
  readonly status: string
  /** The day in the user's time zone. */
  readonly date: string
  /** The raw ISO 8601 timestamp of the provider. */
  readonly datetime: string | null
  /** As the bank wrote it. */
  readonly description: string
  /** Negative for debit, positive for credit. Exact decimal text: parse it as a decimal, never as a float. */
  readonly amount: DecimalString
  /** Only with `include=currency`, where the amount is in another currency than the account's. */
  readonly currency?: string
  /** Matches the sign of amount. */
  readonly direction: 
  | 'credit'
  | 'debit'
  | (string & {})
  /** Category key, see /v1/categories. */
  readonly category: 
  | 'BANK_FEES'
  | 'ENTERTAINMENT'
  | 'FOOD_AND_DRINK'
  | 'GOVERNMENT_AND_NON_PROFIT'
  | 'HOME_IMPROVEMENT'
  | 'INCOME'
  | 'LOAN_PAYMENTS'
  | 'MEDICAL'
  | 'MERCHANDISE'
  | 'PERSONAL_CARE'
  | 'RENT_AND_UTILITIES'
  | 'SERVICES'
  | 'TRANSFER_IN'
  | 'TRANSFER_OUT'
  | 'TRANSPORTATION'
  | 'TRAVEL'
  | (string & {}) | null
  /** Merchant, where known. */
  readonly merchantName: string | null
  /** MCC, where known. */
  readonly merchantCategoryCode: string | null
  /** The day of the posting; null: the provider does not say. Only with `includePending=true`. */
  readonly postDate?: string | null
  /** The time of the posting as sent; null: only a day, or nothing. Only with `includePending=true`. */
  readonly postDatetime?: string | null
  /** The day from which it counts; null: the provider does not say. Only with `includePending=true`. */
  readonly valueDate?: string | null
  /** The time from which it counts as sent; null likewise. Only with `includePending=true`. */
  readonly valueDatetime?: string | null
  /** Of a posted row: the id of the pending row that it replaced, where the provider says so or exactly one fits. Only with `includePending=true`. */
  readonly supersedes?: string
}

/** A position in a brokerage account. */
export interface Holding {
  /** Opaque id. */
  readonly id: string
  /** Id of the account. */
  readonly accountId: string
  /** Account name. */
  readonly accountName: string
  /** Ticker. */
  readonly symbol: string
  /** Name of the security. */
  readonly name: string | null
  /** Exchange, as the provider names it. */
  readonly exchange: string | null
  /** ISO 4217 currency code (brokerages: also the code of a coin). */
  readonly currency: string
  /** Units held; fractional allowed, negative when short. Exact decimal text: parse it as a decimal, never as a float. */
  readonly quantity: DecimalString
  /** Average cost per unit. Exact decimal text: parse it as a decimal, never as a float. */
  readonly averagePrice: DecimalString | null
  /** Price per unit. Exact decimal text: parse it as a decimal, never as a float. */
  readonly currentPrice: DecimalString | null
  /** Quantity times price. Exact decimal text: parse it as a decimal, never as a float. */
  readonly marketValue: DecimalString | null
  /** Gain not yet realised. Exact decimal text: parse it as a decimal, never as a float. */
  readonly unrealizedPnl: DecimalString | null
}

/** An executed trade or another movement of a brokerage account. */
export interface Trade {
  /** Deterministic and opaque; the format is not a stable contract. */
  readonly id: string
  /** Id of the account. */
  readonly accountId: string
  /** Account name. */
  readonly accountName: string
  /** Ticker; of cash movements the currency. */
  readonly symbol: string
  /** Name of the security. */
  readonly name: string | null
  /** Kind of trade. */
  readonly type: TradeType
  /** Units, with the sign of the provider. Exact decimal text: parse it as a decimal, never as a float. */
  readonly quantity: DecimalString
  /** Price per unit. Exact decimal text: parse it as a decimal, never as a float. */
  readonly price: DecimalString
  /** ISO 4217 currency code (brokerages: also the code of a coin). */
  readonly currency: string
  /** Total, with the sign of the provider. Exact decimal text: parse it as a decimal, never as a float. */
  readonly totalAmount: DecimalString
  /** Fees. Exact decimal text: parse it as a decimal, never as a float. */
  readonly fees: DecimalString | null
  /** YYYY-MM-DD or a full ISO date-time, depending on the broker. */
  readonly tradeDate: string
  /** Same formats as tradeDate. */
  readonly settlementDate: string | null
  /** As the broker wrote it. */
  readonly description: string | null
}

/** Kind of trade. */
export type TradeType =
  | 'buy'
  | 'sell'
  | 'dividend'
  | 'split'
  | 'transfer'
  | 'fee'
  | 'interest'
  | 'other'
  | (string & {})

/** The event after a sync of a bank. */
export interface TransactionsSynced {
  /** Id of the event, the same in every attempt and in a replay. */
  readonly id: string
  readonly object: 'event'
  readonly type: 'transactions.synced'
  /** Changes when a field changes its meaning, not when one is added. */
  readonly api_version: '2026-11-01'
  /** Epoch seconds. */
  readonly created: number
  readonly data: {
    /** Rows that no earlier event had. */
    readonly new: readonly TransactionEvent[]
    /** Rows of which a field has changed. */
    readonly updated: readonly TransactionEvent[]
    /** Pending rows that no earlier event had. Only for endpoints that ask for pending rows. */
    readonly pending?: readonly PendingTransactionEvent[]
    /** Ids of announced rows that are not pending any more: posted, or ended. Only for endpoints that ask for pending rows. */
    readonly removed_pending?: readonly string[]
  }
  /** The sync and the place of this event in it. */
  readonly metadata: EventMetadata
}

/** A posted bank transaction in an event. */
export interface TransactionEvent {
  /** Id of the transaction, as in /v1/transactions. */
  readonly id: string
  readonly object: 'transaction'
  /** In the smallest unit of the currency, negative for debits. It has every digit and may exceed 2^53: do not parse it as a float. As text. */
  readonly amount: DecimalString
  /** Currency code in lower case. */
  readonly currency: string
  readonly status: 'posted'
  /** The bank's text. */
  readonly description: string
  /** Matches the sign of amount. */
  readonly direction: 
  | 'debit'
  | 'credit'
  | (string & {})
  /** Kind of transaction, as the provider names it; the values are not enumerated. */
  readonly class: string
  /** Id of the account, as in /v1/accounts. */
  readonly account_id: string
  /** Display name of the account. */
  readonly account_name: string
  /** Display name of the account. */
  readonly account: string
  /** The day in the user's time zone. */
  readonly local_date: string
  /** ISO 8601: when it was made. */
  readonly transaction_date: string
  /** ISO 8601: when it was posted. */
  readonly post_date: string
  /** Merchant, where known. */
  readonly merchant_name: string | null
  /** Category key, see /v1/categories. */
  readonly category: 
  | 'BANK_FEES'
  | 'ENTERTAINMENT'
  | 'FOOD_AND_DRINK'
  | 'GOVERNMENT_AND_NON_PROFIT'
  | 'HOME_IMPROVEMENT'
  | 'INCOME'
  | 'LOAN_PAYMENTS'
  | 'MEDICAL'
  | 'MERCHANDISE'
  | 'PERSONAL_CARE'
  | 'RENT_AND_UTILITIES'
  | 'SERVICES'
  | 'TRANSFER_IN'
  | 'TRANSFER_OUT'
  | 'TRANSPORTATION'
  | 'TRAVEL'
  | (string & {}) | null
  /** MCC, where known. */
  readonly merchant_category_code: string | null
  /** Reference, where the provider has one. */
  readonly reference: string | null
  /** Further text of the bank, where there is one. */
  readonly extended_description: string | null
}

/** A pending bank transaction in an event. */
export interface PendingTransactionEvent {
  /** Id of the pending row, as in /v1/transactions with includePending=true. */
  readonly id: string
  readonly object: 'transaction'
  /** In the smallest unit of the currency, negative for debits. It has every digit and may exceed 2^53: do not parse it as a float. As text. */
  readonly amount: DecimalString
  /** Currency code in lower case. */
  readonly currency: string
  readonly status: 'pending'
  /** The bank's text. */
  readonly description: string
  /** Matches the sign of amount. */
  readonly direction: 
  | 'debit'
  | 'credit'
  | (string & {})
  /** Kind of transaction, as the provider names it; the values are not enumerated. */
  readonly class: string
  /** Id of the account, as in /v1/accounts. */
  readonly account_id: string
  /** Display name of the account. */
  readonly account_name: string
  /** Display name of the account. */
  readonly account: string
  /** The day in the user's time zone. */
  readonly local_date: string
  /** ISO 8601: when it was made. */
  readonly transaction_date: string
  /** Null: it has not been posted. */
  readonly post_date: string | null
  /** Merchant, where known. */
  readonly merchant_name: string | null
  /** Category key, see /v1/categories. */
  readonly category: 
  | 'BANK_FEES'
  | 'ENTERTAINMENT'
  | 'FOOD_AND_DRINK'
  | 'GOVERNMENT_AND_NON_PROFIT'
  | 'HOME_IMPROVEMENT'
  | 'INCOME'
  | 'LOAN_PAYMENTS'
  | 'MEDICAL'
  | 'MERCHANDISE'
  | 'PERSONAL_CARE'
  | 'RENT_AND_UTILITIES'
  | 'SERVICES'
  | 'TRANSFER_IN'
  | 'TRANSFER_OUT'
  | 'TRANSPORTATION'
  | 'TRAVEL'
  | (string & {}) | null
  /** MCC, where known. */
  readonly merchant_category_code: string | null
  /** Reference, where the provider has one. */
  readonly reference: string | null
  /** Further text of the bank, where there is one. */
  readonly extended_description: string | null
}

/** The sync and the place of this event in it. */
export interface EventMetadata {
  /** The sync that found the rows. Null in a test event, in a replay and in an event about a connection. */
  readonly sync_run_id: string | null
  /** New rows of the whole sync, in all of its chunks. */
  readonly new_count: number
  /** Changed rows of the whole sync, in all of its chunks. */
  readonly updated_count: number
  /** Number of this chunk, from 1. */
  readonly chunk: number
  /** Chunks of the sync. */
  readonly total_chunks: number
}

/** The event after a sync of a broker. */
export interface TradesSynced {
  /** Id of the event, the same in every attempt and in a replay. */
  readonly id: string
  readonly object: 'event'
  readonly type: 'trades.synced'
  /** Changes when a field changes its meaning, not when one is added. */
  readonly api_version: '2026-11-01'
  /** Epoch seconds. */
  readonly created: number
  readonly data: {
    /** Rows that no earlier event had. */
    readonly new: readonly TradeEvent[]
    /** Rows of which a field has changed. */
    readonly updated: readonly TradeEvent[]
  }
  /** The sync and the place of this event in it. */
  readonly metadata: EventMetadata
}

/** A trade in an event. */
export interface TradeEvent {
  /** Id of the trade, as in /v1/trades; opaque. */
  readonly id: string
  readonly object: 'trade'
  /** Id of the account, as in /v1/accounts. */
  readonly account_id: string
  /** Display name of the account. */
  readonly account_name: string
  /** Ticker. */
  readonly symbol: string
  /** Name of the security. */
  readonly name: string | null
  /** Kind of trade. */
  readonly type: TradeType
  /** Number of units. Exact decimal text: parse it as a decimal, never as a float. */
  readonly quantity: DecimalString
  /** Price per unit. Exact decimal text: parse it as a decimal, never as a float. */
  readonly price: DecimalString
  /** Currency code in upper case. */
  readonly currency: string
  /** Total amount. Exact decimal text: parse it as a decimal, never as a float. */
  readonly total_amount: DecimalString
  /** Fees. Exact decimal text: parse it as a decimal, never as a float. */
  readonly fees: DecimalString | null
  /** YYYY-MM-DD or a full ISO datetime, depending on the broker. */
  readonly trade_date: string
  /** As trade_date. */
  readonly settlement_date: string | null
  /** The broker's text. */
  readonly description: string | null
}

/** A connection is new. */
export interface ConnectionLinked {
  /** Id of the event, the same in every attempt and in a replay. */
  readonly id: string
  readonly object: 'event'
  readonly type: 'connection.linked'
  /** Changes when a field changes its meaning, not when one is added. */
  readonly api_version: '2026-11-01'
  /** Epoch seconds. */
  readonly created: number
  /** A connection in an event, as the change left it. */
  readonly data: ConnectionEvent
  /** The sync and the place of this event in it. */
  readonly metadata: EventMetadata
}

/** A connection in an event, as the change left it. */
export interface ConnectionEvent {
  /** Id of the connection, as in /v1/connections. */
  readonly id: string
  /** Who supplies the data: AU banking, NZ banking, brokerage, Up (an AU bank). */
  readonly provider: Provider
  /** What kind of institution the connection leads to. */
  readonly category: ConnectionCategory
  /** Opaque id of the institution at the provider. */
  readonly institution_id: string
  /** Display name of the institution. */
  readonly institution_name: string
  /** URL of its logo, where there is one. */
  readonly institution_logo: string | null
  /** active; invalidated (consent or credentials expired: reconnect); pending_mfa (awaiting a second factor); revoked (consent withdrawn). */
  readonly status: ConnectionStatus
  /** When it was last refreshed successfully. */
  readonly last_refreshed_at: string | null
  /** When it was linked. */
  readonly created_at: string
}

/** The consent ends in at most 30, 7 or 1 days. */
export interface ConnectionExpiring {
  /** Id of the event, the same in every attempt and in a replay. */
  readonly id: string
  readonly object: 'event'
  readonly type: 'connection.expiring'
  /** Changes when a field changes its meaning, not when one is added. */
  readonly api_version: '2026-11-01'
  /** Epoch seconds. */
  readonly created: number
  /** A connection whose consent ends soon. */
  readonly data: ExpiringConnectionEvent
  /** The sync and the place of this event in it. */
  readonly metadata: EventMetadata
}

/** A connection whose consent ends soon. */
export interface ExpiringConnectionEvent {
  /** Id of the connection, as in /v1/connections. */
  readonly id: string
  /** Who supplies the data: AU banking, NZ banking, brokerage, Up (an AU bank). */
  readonly provider: Provider
  /** What kind of institution the connection leads to. */
  readonly category: ConnectionCategory
  /** Opaque id of the institution at the provider. */
  readonly institution_id: string
  /** Display name of the institution. */
  readonly institution_name: string
  /** URL of its logo, where there is one. */
  readonly institution_logo: string | null
  /** active; invalidated (consent or credentials expired: reconnect); pending_mfa (awaiting a second factor); revoked (consent withdrawn). */
  readonly status: ConnectionStatus
  /** When it was last refreshed successfully. */
  readonly last_refreshed_at: string | null
  /** When it was linked. */
  readonly created_at: string
  /** When the consent ends, as the provider says. */
  readonly expires_at: string
}

/** Consent or credentials expired: its owner has to reconnect. */
export interface ConnectionInvalidated {
  /** Id of the event, the same in every attempt and in a replay. */
  readonly id: string
  readonly object: 'event'
  readonly type: 'connection.invalidated'
  /** Changes when a field changes its meaning, not when one is added. */
  readonly api_version: '2026-11-01'
  /** Epoch seconds. */
  readonly created: number
  /** A connection in an event, as the change left it. */
  readonly data: ConnectionEvent
  /** The sync and the place of this event in it. */
  readonly metadata: EventMetadata
}

/** The consent was withdrawn. */
export interface ConnectionRevoked {
  /** Id of the event, the same in every attempt and in a replay. */
  readonly id: string
  readonly object: 'event'
  readonly type: 'connection.revoked'
  /** Changes when a field changes its meaning, not when one is added. */
  readonly api_version: '2026-11-01'
  /** Epoch seconds. */
  readonly created: number
  /** A connection in an event, as the change left it. */
  readonly data: ConnectionEvent
  /** The sync and the place of this event in it. */
  readonly metadata: EventMetadata
}

/** It was not active, and is active again. */
export interface ConnectionRestored {
  /** Id of the event, the same in every attempt and in a replay. */
  readonly id: string
  readonly object: 'event'
  readonly type: 'connection.restored'
  /** Changes when a field changes its meaning, not when one is added. */
  readonly api_version: '2026-11-01'
  /** Epoch seconds. */
  readonly created: number
  /** A connection in an event, as the change left it. */
  readonly data: ConnectionEvent
  /** The sync and the place of this event in it. */
  readonly metadata: EventMetadata
}

/** It does not exist any more; `status` is the last one that it had. */
export interface ConnectionRemoved {
  /** Id of the event, the same in every attempt and in a replay. */
  readonly id: string
  readonly object: 'event'
  readonly type: 'connection.removed'
  /** Changes when a field changes its meaning, not when one is added. */
  readonly api_version: '2026-11-01'
  /** Epoch seconds. */
  readonly created: number
  /** A connection in an event, as the change left it. */
  readonly data: ConnectionEvent
  /** The sync and the place of this event in it. */
  readonly metadata: EventMetadata
}

/** One of the sixteen fixed categories. */
export interface Category {
  /** Same as Transaction.category. */
  readonly key: 
  | 'BANK_FEES'
  | 'ENTERTAINMENT'
  | 'FOOD_AND_DRINK'
  | 'GOVERNMENT_AND_NON_PROFIT'
  | 'HOME_IMPROVEMENT'
  | 'INCOME'
  | 'LOAN_PAYMENTS'
  | 'MEDICAL'
  | 'MERCHANDISE'
  | 'PERSONAL_CARE'
  | 'RENT_AND_UTILITIES'
  | 'SERVICES'
  | 'TRANSFER_IN'
  | 'TRANSFER_OUT'
  | 'TRANSPORTATION'
  | 'TRAVEL'
  | (string & {})
  /** Display name. */
  readonly label: string
}

/** What an endpoint receives. */
export type WebhookEvent = TransactionsSynced | TradesSynced | ConnectionLinked | ConnectionExpiring | ConnectionInvalidated | ConnectionRevoked | ConnectionRestored | ConnectionRemoved
