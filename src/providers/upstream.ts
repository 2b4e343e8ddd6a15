/**
 * The HTTP client of all adapters: one undici pool per provider, every wait and every body bounded, aborts passed on,
 * no redirects, no hidden retries but the one that reading R20c allows. It knows no provider: status codes are the
 * adapters' business, URLs with secrets never leave it.
 */
import { Pool } from 'undici'
import type { Provider } from '#contract/resources.ts'
import { UpstreamError } from './failure.ts'
import type { CallContext, UpstreamReport } from './port.ts'
import { releaseBytes } from './release-bytes.ts'

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** A template for metrics and logs, e.g. `/banking/transactions`: no ids, no query. */
  readonly route: string
  /** Path below the base URL with its query, exactly as it shall be sent. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
}

export interface UpstreamResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Uint8Array
}

export interface Upstream {
  /**
   * One exchange. Throws UpstreamError `unavailable` or `malformed` (body too large), the signal's own reason, or an
   * AbortError when `close` ended it.
   */
  send(request: UpstreamRequest, call: CallContext): Promise<UpstreamResponse>
  /** Ends what is under way, which then is no failure of the provider. */
  close(): Promise<void>
}

export interface UpstreamOptions {
  readonly provider: Provider
  /** Origin and path prefix, e.g. `https://api.example.test/v1`. */
  readonly baseUrl: string
  /** One provider call in all: connecting, waiting and reading (`UPSTREAM_TIMEOUT_MS`). */
  readonly timeoutMs: number
  readonly report: UpstreamReport
  /** The largest body that is read; beyond it the answer is unreadable. */
  readonly maxBodyBytes?: number
}

const defaultMaxBodyBytes = 16 * 1024 * 1024
const poolConnections = 64
/** A body that takes a millisecond or so to parse. */
const largeBodyBytes = 256 * 1024

/** Opens the pool of one provider. */
export function makeUpstream(options: UpstreamOptions): Upstream {
  const base = new URL(options.baseUrl)
  const prefix = base.pathname.replace(/\/+$/, '')
  const maxBodyBytes = options.maxBodyBytes ?? defaultMaxBodyBytes
  const pool = new Pool(base.origin, {
    connections: poolConnections,
    pipelining: 1,
    connectTimeout: options.timeoutMs,
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
    maxResponseSize: maxBodyBytes,
    keepAliveTimeout: 10_000,
  })

  const closing = new AbortController()

  const nextTurn = makeTurnstile()

  async function once(request: UpstreamRequest, call: CallContext, timeout: AbortSignal) {
    const json = request.json === undefined ? null : JSON.stringify(request.json)
    const response = await pool.request({
      method: request.method,
      path: prefix + request.target,
      headers: {
        accept: 'application/json',
        'user-agent': 'tributary',
        ...(json === null ? {} : { 'content-type': 'application/json' }),
        ...request.headers,
      },
      body: json,
      signal: AbortSignal.any([call.signal, timeout]),
    })
    // Bytes, not `body.text()`: decoding once by hand makes the parse after it a third cheaper.
    const body = await readBody(response.body, maxBodyBytes)
    if (body.length >= largeBodyBytes) await nextTurn()
    return { status: response.statusCode, headers: response.headers, body }
  }

  async function send(request: UpstreamRequest, call: CallContext): Promise<UpstreamResponse> {
    const started = performance.now()
    const timeout = AbortSignal.timeout(options.timeoutMs)
    const tell = (outcome: number | 'error' | 'aborted') =>
      options.report.exchange({
        provider: options.provider,
        route: `${request.method} ${request.route}`,
        outcome,
        durationMs: performance.now() - started,
      })
    try {
      call.signal.throwIfAborted()
      const response = await once(request, call, timeout).catch((error: unknown) => {
        const isOver = call.signal.aborted || closing.signal.aborted
        if (request.method !== 'GET' || !isResetBeforeAnswer(error) || isOver) throw error
        return once(request, call, timeout)
      })
      tell(response.status)
      return response
    } catch (error) {
      // Whoever ended it is told apart from the provider: a process that stops must not open anybody's breaker.
      const ended = [call.signal, closing.signal].find((signal) => signal.aborted)
      tell(ended === undefined ? 'error' : 'aborted')
      if (ended !== undefined) throw ended.reason
      throw toFailure(options.provider, error, timeout, options.timeoutMs)
    }
  }

  return {
    send,
    close() {
      closing.abort(new DOMException('the process is stopping', 'AbortError'))
      return pool.destroy()
    },
  }
}

/**
 * Lets one through per turn of the event loop: pages that arrive together would be parsed one right after the other, and
 * everybody else would wait for all of them.
 */
function makeTurnstile(): () => Promise<void> {
  let last = Promise.resolve()
  return () => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)))
    return last
  }
}

/** Marks a failure that came after the first byte: such an answer is never asked for again (reading R20c). */
class BodyError extends Error {
  override readonly name = 'BodyError'
}

async function readBody(stream: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of stream) {
      size += chunk.length
      if (size > maxBytes) throw new RangeError(`the answer is larger than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
  } catch (cause) {
    throw new BodyError('the answer broke off', { cause })
  }
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0]
  const body = Buffer.concat(chunks, size)
  chunks.forEach(releaseBytes)
  return body
}

function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

/** A connection that was reset before any byte came, e.g. a kept-alive one that the provider had just closed. */
function isResetBeforeAnswer(error: unknown): boolean {
  if (error instanceof BodyError) return false
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(errorCode(error))
}

function toFailure(
  provider: Provider,
  error: unknown,
  timeout: AbortSignal,
  timeoutMs: number,
): UpstreamError {
  const cause = error instanceof BodyError ? error.cause : error
  if (cause instanceof RangeError || errorCode(cause) === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return new UpstreamError(
      provider,
      { kind: 'malformed', detail: 'the answer is too large' },
      error,
    )
  }
  const code = errorCode(cause)
  const detail = timeout.aborted
    ? `no answer within ${timeoutMs} ms`
    : `the connection failed${code === '' ? '' : ` (${code})`}`
  return new UpstreamError(provider, { kind: 'unavailable', status: null, detail }, error)
}
