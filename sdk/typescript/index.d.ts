/**
 * The client: one method for each operation of the API, and lists that go on over all pages. Rows are as the server
 * sends them: amounts are decimal text.
 */
import { EventFeed } from './events.js';
import { Paged } from './paged.js';
import type { CallOptions, ResponseInfo } from './http.js';
import type { EventsQuery } from './events.js';
export type Account = import('./types.js').Account;
export type Balance = import('./types.js').Balance;
export type Category = import('./types.js').Category;
export type Connection = import('./types.js').Connection;
export type Holding = import('./types.js').Holding;
export type Trade = import('./types.js').Trade;
export type Transaction = import('./types.js').Transaction;
export type WebhookEvent = import('./types.js').WebhookEvent;
/**
 * @import { Pagination } from './types.js'
 * @import { CallOptions, Http, ResponseInfo } from './http.js'
 * @import { EventBatch, EventsQuery } from './events.js'
 */
/** @typedef {import('./types.js').Account} Account */
/** @typedef {import('./types.js').Balance} Balance */
/** @typedef {import('./types.js').Category} Category */
/** @typedef {import('./types.js').Connection} Connection */
/** @typedef {import('./types.js').Holding} Holding */
/** @typedef {import('./types.js').Trade} Trade */
/** @typedef {import('./types.js').Transaction} Transaction */
/** @typedef {import('./types.js').WebhookEvent} WebhookEvent */
export { compare, sum, toMinorUnits } from './decimal.js';
export { EventFeed } from './events.js';
export { AbortedError, ApiError, ConnectionError, Forbidden, InvalidRequest, ListChanged, NotFound, RateLimited, ServerError, TimeoutError, TributaryError, Unauthorized, Unavailable, } from './http.js';
export * as webhooks from './webhooks.js';
export type DateInput = string | Date | TemporalLike;
export type TemporalLike = {
    readonly [Symbol.toStringTag]: string;
    toString(): string;
};
export type ClientOptions = {
    /**
     * Default: the environment variable TRIBUTARY_API_KEY.
     */
    apiKey?: string;
    /**
     * Default: TRIBUTARY_BASE_URL. https, or http on this machine alone.
     */
    baseUrl?: string;
    /**
     * Milliseconds for one call, retries included; default two minutes.
     */
    timeout?: number;
    /**
     * Default 3.
     */
    maxRetries?: number;
    fetch?: typeof globalThis.fetch;
    /**
     * Put before the name of this package.
     */
    userAgent?: string;
    /**
     * A key in a page opens all accounts of its person to whoever opens the page.
     */
    dangerouslyAllowBrowser?: boolean;
    /**
     * Called with each answer, for logs.
     */
    onResponse?: (info: ResponseInfo) => void;
};
/**
 * A day (`YYYY-MM-DD`), an instant with its zone (RFC 3339), or an object of either kind. A local time without a zone
 * is refused.
 * @typedef {string | Date | TemporalLike} DateInput
 */
/** `Temporal.PlainDate`, `Temporal.Instant` or `Temporal.ZonedDateTime`. @typedef {{ readonly [Symbol.toStringTag]: string, toString(): string }} TemporalLike */
/**
 * @typedef {object} ClientOptions
 * @property {string} [apiKey] Default: the environment variable TRIBUTARY_API_KEY.
 * @property {string} [baseUrl] Default: TRIBUTARY_BASE_URL. https, or http on this machine alone.
 * @property {number} [timeout] Milliseconds for one call, retries included; default two minutes.
 * @property {number} [maxRetries] Default 3.
 * @property {typeof globalThis.fetch} [fetch]
 * @property {string} [userAgent] Put before the name of this package.
 * @property {boolean} [dangerouslyAllowBrowser] A key in a page opens all accounts of its person to whoever opens the page.
 * @property {(info: ResponseInfo) => void} [onResponse] Called with each answer, for logs.
 */
/** The API of one server, for one key. */
export declare class Tributary {
    #private;
    /** @type {{ list(call?: CallOptions): Paged<Connection> }} */
    connections: {
        list(call?: CallOptions): Paged<Connection>;
    };
    /** @type {{ list(query?: { limit?: number, offset?: number }, call?: CallOptions): Paged<Account> }} */
    accounts: {
        list(query?: {
            limit?: number;
            offset?: number;
        }, call?: CallOptions): Paged<Account>;
    };
    /** @type {{ list(query: { accountIds: readonly string[] }, call?: CallOptions): Paged<Balance> }} */
    balances: {
        list(query: {
            accountIds: readonly string[];
        }, call?: CallOptions): Paged<Balance>;
    };
    /** @type {{ list(query: TransactionsQuery, call?: CallOptions): Paged<Transaction> }} */
    transactions: {
        list(query: TransactionsQuery, call?: CallOptions): Paged<Transaction>;
    };
    /** @type {{ list(query: HoldingsQuery, call?: CallOptions): Paged<Holding> }} */
    holdings: {
        list(query: HoldingsQuery, call?: CallOptions): Paged<Holding>;
    };
    /** @type {{ list(query: TradesQuery, call?: CallOptions): Paged<Trade> }} */
    trades: {
        list(query: TradesQuery, call?: CallOptions): Paged<Trade>;
    };
    /** @type {{ list(call?: CallOptions): Paged<Category> }} */
    categories: {
        list(call?: CallOptions): Paged<Category>;
    };
    /** @param {ClientOptions} [options] */
    constructor(options?: ClientOptions);
    /**
     * The events of the person, for ever: `for await (const event of client.events({ consumer: 'books' }))`. An event is
     * acknowledged when the loop asks for the one behind the last event of its answer; without `after` the next run begins
     * with what was not. Handle each `id` once.
     * @param {EventsQuery} [query]
     * @param {CallOptions} [call]
     * @returns {EventFeed}
     */
    events({ after, ...query }?: EventsQuery, call?: CallOptions): EventFeed;
    toJSON(): {
        baseUrl: string;
        apiKey: string;
    };
}
export type RowsQuery = {
    connectionId: string;
    accountId?: string;
    from?: DateInput;
    to?: DateInput;
    limit?: number;
    offset?: number;
};
export type TransactionsQuery = RowsQuery & {
    includePending?: boolean;
    include?: 'currency';
};
export type HoldingsQuery = {
    connectionId: string;
    accountId?: string;
    accountIds?: readonly string[];
};
export type TradesQuery = RowsQuery & {
    accountIds?: readonly string[];
};
