/**
 * One request to the API: a deadline for the whole call, retries that obey `Retry-After`, and one class for each kind of
 * failure. It knows no operations. No message of an error holds the key.
 */

/** @import { ErrorCode } from './types.js' */

/**
 * What a call may set.
 * @typedef {object} CallOptions
 * @property {AbortSignal} [signal] Ends the call with an AbortedError.
 * @property {number} [timeout] Milliseconds for the whole call, retries included.
 * @property {number} [maxRetries] How often a request is sent again.
 */

/**
 * What an answer says beside its body.
 * @typedef {object} ResponseInfo
 * @property {Response} response The answer; its body was read.
 * @property {string | null} requestId The id under which the operator's log has the request.
 * @property {{ limit: number | null, remaining: number | null, reset: number | null }} rateLimit `reset`: epoch seconds.
 * @property {'HIT' | 'MISS' | 'BYPASS' | (string & {}) | null} cache Where the answer came from.
 * @property {boolean} truncated True when the server stopped reading before the end: `hasMore` is true then.
 * @property {{ sunset: string | null, link: string | null } | null} deprecation Set when this use of the API will end.
 */

/** The base of all errors of this package. */
export class TributaryError extends Error {
  /** True when the same call may succeed later. */
  get isRetryable() {
    return false
  }
}
name(TributaryError, 'TributaryError')

/** The server could not be reached, or the connection broke. */
export class ConnectionError extends TributaryError {
  /** @override */
  get isRetryable() {
    return true
  }
}
name(ConnectionError, 'ConnectionError')

/** The call took longer than its `timeout`, retries included. */
export class TimeoutError extends TributaryError {
  /** @override */
  get isRetryable() {
    return true
  }
}
name(TimeoutError, 'TimeoutError')

/** The caller's own signal ended the call. */
export class AbortedError extends TributaryError {}
name(AbortedError, 'AbortedError')

/** An answer that is no success. */
export class ApiError extends TributaryError {
  /** @type {number} */
  status
  /** @type {ErrorCode | null} Branch on this. */
  code
  /** @type {readonly string[]} One line per problem. */
  details
  /** @type {string | null} */
  requestId
  /** @type {number | null} Seconds to wait before the next request. */
  retryAfter
  /** @type {Headers} */
  headers

  /**
   * @param {string} message
   * @param {{ status: number, code: string | null, details: readonly string[], headers: Headers }} answer
   */
  constructor(message, { status, code, details, headers }) {
    super(message)
    this.status = status
    this.code = /** @type {ErrorCode | null} */ (code)
    this.details = details
    this.requestId = headers.get('x-request-id')
    this.retryAfter = readRetryAfter(headers)
    this.headers = headers
  }

  /** @override */
  get isRetryable() {
    return retryable.has(this.status)
  }
}
name(ApiError, 'ApiError')

/** 400: a parameter is wrong, or the institution refuses. */
export class InvalidRequest extends ApiError {}
name(InvalidRequest, 'InvalidRequest')
/** 401: there is no valid key. */
export class Unauthorized extends ApiError {}
name(Unauthorized, 'Unauthorized')
/** 403: the plan or the key does not include the call. */
export class Forbidden extends ApiError {}
name(Forbidden, 'Forbidden')
/** 404: it does not exist, or it is not the key's. */
export class NotFound extends ApiError {}
name(NotFound, 'NotFound')
/** 429: too many requests. */
export class RateLimited extends ApiError {}
name(RateLimited, 'RateLimited')
/** 503: the provider or the service is not available now. */
export class Unavailable extends ApiError {}
name(Unavailable, 'Unavailable')
/** 503: the rows changed while they were read. Drop the rows of this query, and begin again at offset 0. */
export class ListChanged extends Unavailable {
  /** @override The same page is refused again until offset 0 is asked. */
  get isRetryable() {
    return false
  }
}
name(ListChanged, 'ListChanged')
/** Any other 5xx. */
export class ServerError extends ApiError {}
name(ServerError, 'ServerError')

/** @param {Function} type @param {string} text The name survives a minifier. */
function name(type, text) {
  Object.defineProperty(type.prototype, 'name', { value: text, configurable: true, writable: true })
}

/** Every call only reads, so each of these may be sent again. */
const retryable = new Set([429, 502, 503, 504])
const [backOffMs, maxBackOffMs] = [500, 8000]
/** Of one answer; the largest of the API have a few MiB. */
const maxBytes = 64 * 1024 * 1024

/** @type {Readonly<Record<number, new (...given: ConstructorParameters<typeof ApiError>) => ApiError>>} */
const classes = {
  400: InvalidRequest,
  401: Unauthorized,
  403: Forbidden,
  404: NotFound,
  429: RateLimited,
  503: Unavailable,
}

/**
 * @typedef {object} HttpOptions
 * @property {string} apiKey
 * @property {string} baseUrl Without a slash at its end.
 * @property {number} timeout
 * @property {number} maxRetries
 * @property {typeof globalThis.fetch} fetch
 * @property {string} userAgent
 * @property {((info: ResponseInfo) => void) | null} onResponse
 */

/** @typedef {ReturnType<typeof makeHttp>} Http */

/** @param {HttpOptions} options */
export function makeHttp(options) {
  const headers = { authorization: `Bearer ${options.apiKey}`, accept: 'application/json' }
  // Browsers and some workers refuse this header.
  const named = typeof globalThis.window === 'undefined' ? { 'user-agent': options.userAgent } : {}

  /**
   * @param {string} url
   * @param {AbortSignal} signal
   */
  async function send(url, signal) {
    signal.throwIfAborted()
    const response = await options.fetch(url, {
      headers: { ...headers, ...named },
      // A redirect could lead the key to another host.
      redirect: 'manual',
      signal,
    })
    return { response, text: await readText(response) }
  }

  /**
   * The parsed body of a 200 and what its headers say.
   * @template Body
   * @param {string} path With its query.
   * @param {CallOptions} [call]
   * @param {(text: string) => string} [prepare] What is done to the text before it is parsed.
   * @returns {Promise<{ body: Body, info: ResponseInfo }>}
   */
  async function get(path, call = {}, prepare = (text) => text) {
    const timeout = call.timeout ?? options.timeout
    const deadline = performance.now() + timeout
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), timeout)
    const signal = call.signal ? AbortSignal.any([call.signal, late.signal]) : late.signal
    const maxRetries = call.maxRetries ?? options.maxRetries
    const tooLate = () => new TimeoutError(`no answer to ${pathOf(path)} within ${timeout} ms`)
    try {
      for (let attempt = 0; ; attempt += 1) {
        const sent = await send(options.baseUrl + path, signal).catch((cause) => {
          if (call.signal?.aborted) throw new AbortedError('the call was aborted', { cause })
          if (late.signal.aborted) throw tooLate()
          if (cause instanceof ApiError) return cause
          return new ConnectionError(`${options.baseUrl} did not answer`, { cause })
        })
        /** @type {TributaryError} */
        let error
        if (sent instanceof TributaryError) error = sent
        else {
          const { response, text } = sent
          const info = readInfo(response)
          options.onResponse?.(info)
          if (response.status === 200)
            return { body: parseBody(prepare(text), response, options.apiKey), info }
          // A server or a proxy may repeat what it was sent.
          error = toApiError(response, text.replaceAll(options.apiKey, '[secret]'))
        }
        if (attempt >= maxRetries || !error.isRetryable) throw error
        const waitMs = toWait(error, attempt)
        // A wait that does not fit says at once how long it would have been.
        if (performance.now() + waitMs >= deadline) throw error
        await sleep(waitMs, call.signal)
      }
    } finally {
      clearTimeout(timer)
    }
  }

  return { get, timeout: options.timeout }
}

/** @param {string} path */
const pathOf = (path) => path.split('?')[0] ?? path

/**
 * As long as the server asks, or twice as long each time.
 * @param {TributaryError} error
 * @param {number} attempt
 */
function toWait(error, attempt) {
  const asked = error instanceof ApiError ? error.retryAfter : null
  if (asked !== null) return asked * 1000 * (1 + Math.random() / 10)
  return Math.random() * Math.min(maxBackOffMs, backOffMs * 2 ** attempt)
}

/**
 * @param {number} ms
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<void>}
 */
function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(new AbortedError('the call was aborted', { cause: signal?.reason }))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}

/**
 * Seconds or a date (RFC 9110, 10.2.3); null: none, or not readable.
 * @param {Headers} headers
 */
function readRetryAfter(headers) {
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const at = text === '' ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000))
}

/**
 * @param {Response} response
 * @returns {ResponseInfo}
 */
function readInfo(response) {
  const { headers } = response
  /** @param {string} header */
  const count = (header) => {
    const text = headers.get(header)
    return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
  }
  const isDeprecated = headers.get('deprecation') !== null
  return {
    response,
    requestId: headers.get('x-request-id'),
    rateLimit: {
      limit: count('x-ratelimit-limit'),
      remaining: count('x-ratelimit-remaining'),
      reset: count('x-ratelimit-reset'),
    },
    cache: headers.get('x-cache'),
    truncated: headers.get('x-service-truncated') === 'true',
    deprecation: isDeprecated ? { sunset: headers.get('sunset'), link: headers.get('link') } : null,
  }
}

/**
 * @param {Response} response
 * @throws {ApiError} For more than `maxBytes`.
 */
async function readText(response) {
  const decoder = new TextDecoder()
  const parts = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw toApiError(response, `more than ${maxBytes} bytes`)
    parts.push(decoder.decode(chunk, { stream: true }))
  }
  return parts.join('') + decoder.decode()
}

const snippetLength = 200

/**
 * @param {string} text
 * @param {Response} response
 * @param {string} apiKey
 */
function parseBody(text, response, apiKey) {
  try {
    const body = JSON.parse(text)
    if (isList(body)) return body
  } catch {
    // A proxy answered in place of the server.
  }
  throw toApiError(response, text.replaceAll(apiKey, '[secret]'))
}

/**
 * Every answer of the API is a list, and most have pages. An answer of something else is no empty list.
 * @param {any} body
 */
function isList(body) {
  const rows = body?.data ?? body?.categories
  const { offset, limit, hasMore } = body?.pagination ?? { offset: 0, limit: 0, hasMore: false }
  return (
    Array.isArray(rows) &&
    rows.every((row) => typeof row === 'object' && row !== null) &&
    Number.isSafeInteger(offset) &&
    Number.isSafeInteger(limit) &&
    typeof hasMore === 'boolean'
  )
}

/**
 * @param {Response} response
 * @param {string} text
 * @returns {ApiError}
 */
function toApiError({ status, headers }, text) {
  const { message, code, details } = readEnvelope(status, text)
  const isChanged = status === 503 && message.includes('start again at offset 0')
  const Class = isChanged
    ? ListChanged
    : (classes[status] ?? (status >= 500 ? ServerError : ApiError))
  return new Class(message, { status, code, details, headers })
}

/**
 * The error envelope; of another body its first characters.
 * @param {number} status
 * @param {string} text
 * @returns {{ message: string, code: string | null, details: readonly string[] }}
 */
function readEnvelope(status, text) {
  try {
    const { error } = JSON.parse(text)
    if (typeof error.message === 'string') {
      const { message, code = null, details = [] } = error
      return { message, code, details }
    }
  } catch {
    // The body is no envelope: a proxy answered, not the service.
  }
  const snippet = text.slice(0, snippetLength).replace(/\s+/g, ' ').trim()
  const what = status === 0 || (status >= 300 && status < 400) ? 'a redirect' : `status ${status}`
  const message = `an answer that the API does not give: ${what}${snippet === '' ? '' : `, ${snippet}`}`
  return { message, code: null, details: [] }
}
