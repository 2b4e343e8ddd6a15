/**
 * Events that are fetched: one endless list for a consumer. The next request, which acknowledges what came before it, is
 * sent when all events of an answer were taken.
 */

/**
 * @import { WebhookEvent } from './types.js'
 * @import { CallOptions } from './http.js'
 */

/**
 * @typedef {object} EventsQuery
 * @property {string} [consumer] The name of this program; `default` when absent. Each has acknowledged on its own.
 * @property {readonly string[]} [types] Event types; those after syncs when absent.
 * @property {string} [after] The cursor to go on from; absent: what the consumer has not acknowledged.
 * @property {number} [wait] Seconds that the server waits for an event, at most 55. Default: 55; with a timeout under
 *   a minute, the timeout less 5 seconds, but at least half of it.
 * @property {number} [limit] The most events of one answer, at most 100.
 */

/**
 * The events of one answer. `next`: the cursor behind them; store it with what you made of the events.
 * @typedef {{ readonly data: readonly WebhookEvent[], readonly next: string }} EventBatch
 */

/** Whole numbers of amounts, and strings, in which a number is passed over. */
const amounts = /("amount"\s*:\s*)(-?\d+)(?=\s*[,}])|"(?:[^"\\]|\\.)*"/g

/**
 * JSON in which the amounts of events are text: they may have more digits than a float keeps.
 * @param {string} text
 */
export function quoteAmounts(text) {
  return text.replace(amounts, (all, key, digits) =>
    digits === undefined ? all : `${key}"${digits}"`,
  )
}

/** Iterating gives event after event, without an end: `break` ends it, or the `signal` of the call. */
export class EventFeed {
  /** @type {(after: string | null, call: CallOptions) => Promise<EventBatch>} */
  #read
  /** @type {string | null} */
  #after
  /** @type {CallOptions} */
  #call

  /**
   * @param {(after: string | null, call: CallOptions) => Promise<EventBatch>} read
   * @param {string | null} after
   * @param {CallOptions} call
   */
  constructor(read, after, call) {
    this.#read = read
    this.#after = after
    this.#call = call
  }

  /**
   * Answer by answer, also those without events. Going on acknowledges the last one.
   * @returns {AsyncGenerator<EventBatch, never, void>}
   */
  async *batches() {
    for (let after = this.#after; ; ) {
      const batch = await this.#read(after, this.#call)
      yield batch
      after = batch.next
    }
  }

  /** @returns {AsyncGenerator<WebhookEvent, void, void>} */
  async *[Symbol.asyncIterator]() {
    for await (const { data } of this.batches()) yield* data
  }
}
