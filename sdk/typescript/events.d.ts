/**
 * Events that are fetched: one endless list for a consumer. The next request, which acknowledges what came before it, is
 * sent when all events of an answer were taken.
 */
import type { WebhookEvent } from './types.js';
import type { CallOptions } from './http.js';
export type EventsQuery = {
    /**
     * The name of this program; `default` when absent. Each has acknowledged on its own.
     */
    consumer?: string;
    /**
     * Event types; those after syncs when absent.
     */
    types?: readonly string[];
    /**
     * The cursor to go on from; absent: what the consumer has not acknowledged.
     */
    after?: string;
    /**
     * Seconds that the server waits for an event, at most 55. Default: 55; with a timeout under
     * a minute, the timeout less 5 seconds, but at least half of it.
     */
    wait?: number;
    /**
     * The most events of one answer, at most 100.
     */
    limit?: number;
};
export type EventBatch = {
    readonly data: readonly WebhookEvent[];
    readonly next: string;
};
/**
 * JSON in which the amounts of events are text: they may have more digits than a float keeps.
 * @param {string} text
 */
export declare function quoteAmounts(text: string): string;
/** Iterating gives event after event, without an end: `break` ends it, or the `signal` of the call. */
export declare class EventFeed {
    #private;
    /**
     * @param {(after: string | null, call: CallOptions) => Promise<EventBatch>} read
     * @param {string | null} after
     * @param {CallOptions} call
     */
    constructor(read: (after: string | null, call: CallOptions) => Promise<EventBatch>, after: string | null, call: CallOptions);
    /**
     * Answer by answer, also those without events. Going on acknowledges the last one.
     * @returns {AsyncGenerator<EventBatch, never, void>}
     */
    batches(): AsyncGenerator<EventBatch, never, void>;
    /** @returns {AsyncGenerator<WebhookEvent, void, void>} */
    [Symbol.asyncIterator](): AsyncGenerator<WebhookEvent, void, void>;
}
