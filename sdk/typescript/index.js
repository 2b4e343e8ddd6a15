/**
 * The client: one method for each operation of the API, and lists that go on over all pages. Rows are as the server
 * sends them: amounts are decimal text.
 */
import { EventFeed, quoteAmounts } from './events.js'
import { makeHttp, TributaryError } from './http.js'
import { Page, Paged } from './paged.js'

/**
 * @import { Pagination } from './types.js'
 * @import { CallOptions, Http, ResponseInfo } from './http.js'
 * @import { EventBatch, EventsQuery } from './events.js'
 */

// The types of rows and events, under the package's own name.
/** @typedef {import('./types.js').Account} Account */
/** @typedef {import('./types.js').Balance} Balance */
/** @typedef {import('./types.js').Category} Category */
/** @typedef {import('./types.js').Connection} Connection */
/** @typedef {import('./types.js').Holding} Holding */
/** @typedef {import('./types.js').Trade} Trade */
/** @typedef {import('./types.js').Transaction} Transaction */
/** @typedef {import('./types.js').WebhookEvent} WebhookEvent */

export { compare, sum, toMinorUnits } from './decimal.js'
export { EventFeed } from './events.js'
export {
  AbortedError,
  ApiError,
  ConnectionError,
  Forbidden,
  InvalidRequest,
  ListChanged,
  NotFound,
  RateLimited,
  ServerError,
  TimeoutError,
  TributaryError,
  Unauthorized,
  Unavailable,
} from './http.js'
export * as webhooks from './webhooks.js'

const version = '0.1.0'
const [defaultTimeout, defaultRetries] = [120_000, 3]
/** Seconds; the server waits no longer for an event. */
const maxWait = 55
/** The server takes as many in one request. */
const maxBalanceIds = 100
/** Answers in a row without a step forward: the server is reading behind its cap. */
const maxStalled = 100

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
export class Tributary {
  /** @type {string} */
  #shownKey
  /** @type {string} */
  #baseUrl
  /** @type {Http} */
  #http

  /** @param {ClientOptions} [options] */
  constructor(options = {}) {
    const { env = {} } =
      /** @type {{ process?: { env?: Record<string, string | undefined> } }} */ (globalThis)
        .process ?? {}
    const apiKey = options.apiKey ?? env.TRIBUTARY_API_KEY ?? ''
    const baseUrl = checkBaseUrl(options.baseUrl ?? env.TRIBUTARY_BASE_URL ?? '')
    checkKey(apiKey)
    if (options.dangerouslyAllowBrowser !== true) refuseBrowser()
    const { timeout = defaultTimeout, maxRetries = defaultRetries } = options
    if (!(timeout > 0 && timeout <= 2 ** 31 - 1))
      throw new TypeError('timeout is a number of milliseconds above 0')
    if (!Number.isSafeInteger(maxRetries) || maxRetries < 0)
      throw new TypeError('maxRetries is a whole number from 0 on')
    this.#baseUrl = baseUrl
    this.#shownKey = apiKey.length < 20 ? '[secret]' : `${apiKey.slice(0, 10)}…${apiKey.slice(-4)}`
    const package_ = `tributary-client/${version}`
    const http = makeHttp({
      apiKey,
      baseUrl,
      timeout,
      maxRetries,
      fetch: options.fetch ?? ((...given) => globalThis.fetch(...given)),
      userAgent: options.userAgent === undefined ? package_ : `${options.userAgent} ${package_}`,
      onResponse: options.onResponse ?? null,
    })
    /** @type {{ list(call?: CallOptions): Paged<Connection> }} */
    this.connections = { list: (call) => whole(http, '/v1/connections', call) }
    /** @type {{ list(query?: { limit?: number, offset?: number }, call?: CallOptions): Paged<Account> }} */
    this.accounts = { list: (query = {}, call = {}) => paged(http, '/v1/accounts', query, call) }
    /** @type {{ list(query: { accountIds: readonly string[] }, call?: CallOptions): Paged<Balance> }} */
    this.balances = { list: ({ accountIds }, call = {}) => listBalances(http, accountIds, call) }
    /** @type {{ list(query: TransactionsQuery, call?: CallOptions): Paged<Transaction> }} */
    this.transactions = { list: (query, call = {}) => paged(http, '/v1/transactions', query, call) }
    /** @type {{ list(query: HoldingsQuery, call?: CallOptions): Paged<Holding> }} */
    this.holdings = { list: (query, call) => whole(http, toPath('/v1/holdings', query), call) }
    /** @type {{ list(query: TradesQuery, call?: CallOptions): Paged<Trade> }} */
    this.trades = { list: (query, call = {}) => paged(http, '/v1/trades', query, call) }
    /** @type {{ list(call?: CallOptions): Paged<Category> }} */
    this.categories = { list: (call) => whole(http, '/v1/categories', call) }
    this.#http = http
  }

  /**
   * The events of the person, for ever: `for await (const event of client.events({ consumer: 'books' }))`. An event is
   * acknowledged when the loop asks for the one behind the last event of its answer; without `after` the next run begins
   * with what was not. Handle each `id` once.
   * @param {EventsQuery} [query]
   * @param {CallOptions} [call]
   * @returns {EventFeed}
   */
  events({ after, ...query } = {}, call = {}) {
    const seconds = (call.timeout ?? this.#http.timeout) / 1000
    // The answer comes at the end of the wait, which must be before the end of the call.
    const fitting = Math.floor(Math.max(seconds - 5, seconds / 2))
    const asked = { ...query, wait: query.wait ?? Math.min(maxWait, fitting) }
    toPath('/v1/events', asked)
    return new EventFeed(
      async (from, given) => {
        const path = toPath('/v1/events', from === null ? asked : { ...asked, after: from })
        /** @type {{ body: EventBatch }} */
        const { body } = await this.#http.get(path, given, quoteAmounts)
        if (typeof body.next !== 'string') throw new TributaryError('the answer has no cursor')
        return body
      },
      after ?? null,
      call,
    )
  }

  toJSON() {
    return { baseUrl: this.#baseUrl, apiKey: this.#shownKey }
  }

  [Symbol.for('nodejs.util.inspect.custom')]() {
    return `Tributary ${JSON.stringify(this.toJSON())}`
  }
}

/**
 * @typedef {{ connectionId: string, accountId?: string, from?: DateInput, to?: DateInput, limit?: number, offset?: number }} RowsQuery
 * @typedef {RowsQuery & { includePending?: boolean, include?: 'currency' }} TransactionsQuery
 * @typedef {{ connectionId: string, accountId?: string, accountIds?: readonly string[] }} HoldingsQuery
 * @typedef {RowsQuery & { accountIds?: readonly string[] }} TradesQuery
 */

/**
 * A list that comes in pages. The next one begins where the answer says that this one ended: a page may be shorter than
 * asked for, or empty, while there is more.
 * @template Row
 * @param {Http} http
 * @param {string} path
 * @param {object} query
 * @param {CallOptions} given
 * @returns {Paged<Row>}
 */
function paged(http, path, query, given) {
  /**
   * @param {object} asked
   * @param {CallOptions} call
   * @param {number} stalled
   * @returns {Promise<Page<Row>>}
   */
  async function read(asked, call, stalled) {
    /** @type {{ body: { data: readonly Row[], pagination: Pagination }, info: ResponseInfo }} */
    const { body, info } = await http.get(toPath(path, asked), call)
    const { data, pagination } = body
    const { offset: from = 0 } = /** @type {{ offset?: number }} */ (asked)
    // A cache that passes over the query answers every window with one and the same page.
    if (pagination?.offset !== from)
      throw new TributaryError(`the answer has not the rows from ${from} on that were asked for`)
    const offset = from + pagination.limit
    const isStalled = offset <= from
    const goOn = () => {
      if (stalled >= maxStalled)
        throw new TributaryError(
          `the server gives no row after ${offset} and says that there are more`,
        )
      return read({ ...asked, offset }, call, isStalled ? stalled + 1 : 0)
    }
    return new Page({
      data,
      pagination,
      info,
      next: pagination.hasMore ? async () => goOn() : null,
    })
  }
  toPath(path, query)
  return new Paged((call) => read(query, call, 0), given)
}

/**
 * A list that comes in one answer.
 * @template Row
 * @param {Http} http
 * @param {string} path
 * @param {CallOptions} [given]
 * @returns {Paged<Row>}
 */
function whole(http, path, given = {}) {
  return new Paged(async (call) => {
    /** @type {{ body: { data?: readonly Row[], categories?: readonly Row[] }, info: ResponseInfo }} */
    const { body, info } = await http.get(path, call)
    return new Page({
      data: body.data ?? body.categories ?? [],
      pagination: null,
      info,
      next: null,
    })
  }, given)
}

/**
 * @param {Http} http
 * @param {readonly string[]} accountIds
 * @param {CallOptions} given
 * @returns {Paged<Balance>}
 */
function listBalances(http, accountIds, given) {
  if (!Array.isArray(accountIds) || accountIds.length === 0)
    throw new TypeError('accountIds must be a list of at least one id')
  const ids = [...new Set(accountIds)]
  /**
   * @param {number} from
   * @param {CallOptions} call
   * @returns {Promise<Page<Balance>>}
   */
  async function read(from, call) {
    const to = from + maxBalanceIds
    const path = toPath('/v1/balances', { accountIds: ids.slice(from, to) })
    /** @type {{ body: { data: readonly Balance[] }, info: ResponseInfo }} */
    const { body, info } = await http.get(path, call)
    return new Page({
      data: body.data,
      pagination: null,
      info,
      next: to < ids.length ? () => read(to, call) : null,
    })
  }
  return new Paged((call) => read(0, call), given)
}

/**
 * @param {string} path
 * @param {object} query
 */
function toPath(path, query) {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    search.set(
      name,
      name === 'from' || name === 'to' ? toDateText(name, value) : toText(name, value),
    )
  }
  return search.size === 0 ? path : `${path}?${search}`
}

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {string}
 */
function toText(name, value) {
  if (Array.isArray(value) && value.length > 0)
    return value.map((item) => toText(name, item)).join(',')
  if (typeof value === 'string' && value !== '') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  if (typeof value === 'boolean') return String(value)
  throw new TypeError(`${name} cannot be ${JSON.stringify(value)}`)
}

const day = /^\d{4}-\d{2}-\d{2}$/
const instant = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/

/**
 * @param {string} name
 * @param {unknown} value
 */
function toDateText(name, value) {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new TypeError(`${name} is an invalid Date`)
    return value.toISOString()
  }
  const tag =
    typeof value === 'object' && value !== null
      ? Object.prototype.toString.call(value).slice(8, -1)
      : ''
  if (tag === 'Temporal.PlainDate' || tag === 'Temporal.Instant') return String(value)
  if (tag === 'Temporal.ZonedDateTime') {
    return String(/** @type {{ toInstant(): object }} */ (value).toInstant())
  }
  if (typeof value === 'string' && (day.test(value) || instant.test(value))) return value
  throw new TypeError(
    `${name} must be a day (YYYY-MM-DD) or an instant with its zone, not ${tag || JSON.stringify(value)}`,
  )
}

/** @param {string} text */
function checkBaseUrl(text) {
  if (text === '')
    throw new TypeError(
      'set baseUrl, or the variable TRIBUTARY_BASE_URL, to the address of your server',
    )
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError('baseUrl must be an address that begins with https://')
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError('baseUrl must have no credentials, query or fragment')
  }
  const isLocal = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)
  if (url.protocol === 'http:' && !isLocal) {
    throw new TypeError(
      'baseUrl must begin with https://: over http anybody on the way can read the key',
    )
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** @param {string} apiKey */
function checkKey(apiKey) {
  if (apiKey === '')
    throw new TypeError('set apiKey, or the variable TRIBUTARY_API_KEY, to an API key')
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError(
      'apiKey has characters that no key has: was a blank or a line end copied with it?',
    )
  }
}

function refuseBrowser() {
  const { window, document, WorkerGlobalScope, navigator } = /** @type {Record<string, any>} */ (
    globalThis
  )
  const isPage = window !== undefined && document !== undefined
  const isWorker = WorkerGlobalScope !== undefined && /^Mozilla\//.test(navigator?.userAgent ?? '')
  if (isPage || isWorker) {
    throw new TributaryError(
      'a key in a browser opens all accounts of its person to whoever opens the page: call the API from your server. ' +
        'If you know that nobody else opens it, set dangerouslyAllowBrowser.',
    )
  }
}
