/** Lists that come in pages: the first page when they are awaited, all rows of all pages when they are iterated over. */
import { ListChanged } from './http.js'

/**
 * @import { Pagination } from './types.js'
 * @import { CallOptions, ResponseInfo } from './http.js'
 */

/** How often a whole list is read again because it changed. */
const maxRestarts = 3

/**
 * One answer of a list.
 * @template Row
 */
export class Page {
  /** @type {readonly Row[]} */
  data
  /** @type {Pagination | null} Null for lists that have one page. */
  pagination
  /** @type {ResponseInfo} */
  info
  /** @type {(() => Promise<Page<Row>>) | null} */
  #next

  /** @param {{ data: readonly Row[], pagination: Pagination | null, info: ResponseInfo, next: (() => Promise<Page<Row>>) | null }} given */
  constructor({ data, pagination, info, next }) {
    this.data = data
    this.pagination = pagination
    this.info = info
    this.#next = next
  }

  /** True when the server stopped reading before the end; the pages after this one go on. */
  get truncated() {
    return this.info.truncated
  }

  hasNextPage() {
    return this.#next !== null
  }

  /** @throws {RangeError} After the last page: test `hasNextPage()`. */
  async nextPage() {
    if (this.#next === null) throw new RangeError('there is no page after this one')
    return this.#next()
  }
}

/**
 * A list. Await it for its first page, or iterate over all rows of all pages.
 * @template Row
 * @implements {PromiseLike<Page<Row>>}
 */
export class Paged {
  /** @type {(call: CallOptions) => Promise<Page<Row>>} */
  #read
  /** @type {CallOptions} */
  #call
  /** @type {Promise<Page<Row>> | null} */
  #first = null

  /**
   * @param {(call: CallOptions) => Promise<Page<Row>>} read
   * @param {CallOptions} call
   */
  constructor(read, call) {
    this.#read = read
    this.#call = call
  }

  #open() {
    this.#first ??= this.#read(this.#call)
    return this.#first
  }

  /**
   * @template [Result=Page<Row>]
   * @template [Failure=never]
   * @param {((page: Page<Row>) => Result | PromiseLike<Result>) | null} [onPage]
   * @param {((error: unknown) => Failure | PromiseLike<Failure>) | null} [onError]
   * @returns {Promise<Result | Failure>}
   */
  // biome-ignore lint/suspicious/noThenProperty: a list can be awaited, as in the clients of other APIs.
  then(onPage, onError) {
    return this.#open().then(onPage, onError)
  }

  /**
   * @template Failure
   * @param {(error: unknown) => Failure | PromiseLike<Failure>} onError
   * @returns {Promise<Page<Row> | Failure>}
   */
  catch(onError) {
    return this.#open().catch(onError)
  }

  /** @param {() => void} onEnd */
  finally(onEnd) {
    return this.#open().finally(onEnd)
  }

  /** The rows of the first page with what the answer's headers say. */
  async withResponse() {
    const { data, pagination, info } = await this.#open()
    return { data, pagination, ...info }
  }

  /** @returns {AsyncGenerator<Page<Row>, void, void>} */
  async *pages() {
    const stop = new AbortController()
    const { signal } = this.#call
    const call = {
      ...this.#call,
      signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal,
    }
    try {
      let page = await this.#read(call)
      for (;;) {
        yield page
        if (!page.hasNextPage()) return
        page = await page.nextPage()
      }
    } finally {
      stop.abort()
    }
  }

  /** @returns {AsyncGenerator<Row, void, void>} */
  async *[Symbol.asyncIterator]() {
    for await (const { data } of this.pages()) yield* data
  }

  /**
   * All rows, from the beginning again when the list changed while it was read.
   * @param {{ limit: number }} options How many rows you can hold.
   * @throws {RangeError} For more rows than `limit`: no list is cut short in silence.
   */
  async toArray({ limit }) {
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new TypeError('limit must be a whole number from 1 on')
    for (let restarts = 0; ; restarts += 1) {
      /** @type {Row[]} */
      const rows = []
      try {
        for await (const { data } of this.pages()) {
          if (rows.length + data.length > limit)
            throw new RangeError(`the list has more than ${limit} rows`)
          rows.push(...data)
        }
        return rows
      } catch (error) {
        if (!(error instanceof ListChanged) || restarts === maxRestarts) throw error
      }
    }
  }
}
