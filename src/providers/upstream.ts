/**
 * The HTTP client of all adapters: one undici pool per provider; every wait and every body bounded; aborts
 * passed on; no redirects; no retries except the one that reading R20c allows. Adapters interpret status
 * codes; URLs with secrets never leave this file.
 */

import type { Dispatcher } from 'undici'
import type { Provider } from '#contract/resources.ts'
import { errorCode } from '#kernel/error-code.ts'
import { lazily } from '#kernel/lazily.ts'
import { ProcessStopping } from '#kernel/process-stopping.ts'
import { BlockedAddress } from '#outbound/allowed-address.ts'
import { makeLateAgent } from '#outbound/late-agent.ts'
import type { Pool } from '#outbound/undici-library.ts'
import { UpstreamError } from './failure.ts'
import type { CallContext, UpstreamReport } from './port.ts'
import { releaseBytes } from './release-bytes.ts'

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** A template for metrics and logs, e.g. `/banking/transactions`: no ids, no query. */
  readonly route: string
  /** Path below the base URL with its query, sent exactly as given. */
  readonly target: string
  /** Origin to send to, e.g. `https://example.test`; required by a guarded upstream. */
  readonly origin?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  /** The provider allows few a day and may have counted one whose answer was lost: never repeated. */
  readonly isCountedByDay?: boolean
}

export interface UpstreamResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Uint8Array
}

export interface Upstream {
  /** One exchange. Throws UpstreamError, the signal's own reason, or ProcessStopping after `close`. */
  send(request: UpstreamRequest, call: CallContext): Promise<UpstreamResponse>
  /** Aborts exchanges in progress, without counting them as failures of the provider. */
  close(): Promise<void>
}

export interface UpstreamOptions {
  readonly provider: Provider
  /** Origin and path prefix, e.g. `https://api.example.test/v1`. */
  readonly baseUrl: string
  /** Bounds one provider call as a whole: connecting, waiting and reading (`UPSTREAM_TIMEOUT_MS`). */
  readonly timeoutMs: number
  readonly report: UpstreamReport
  /** The largest body that is read; a larger one is unreadable. */
  readonly maxBodyBytes?: number
}

const defaultMaxBodyBytes = 16 * 1024 * 1024
const poolConnections = 64
/** A body of this size takes about a millisecond to parse. */
const largeBodyBytes = 256 * 1024

/** What all exchanges with one provider share. */
interface Line extends Omit<UpstreamOptions, 'baseUrl'> {
  /** Made, and its library loaded, at the first exchange. */
  readonly openPool: () => Promise<Pick<Dispatcher, 'request'>>
  /** The prefix of every path, from the base URL. */
  readonly prefix: string
  readonly maxBodyBytes: number
  readonly closing: AbortController
  readonly nextTurn: () => Promise<void>
}

/** Opens the pool of one provider. */
export function makeUpstream(options: UpstreamOptions): Upstream {
  const base = new URL(options.baseUrl)
  const maxBodyBytes = options.maxBodyBytes ?? defaultMaxBodyBytes
  let pool: Pool | null = null
  const open = lazily(async () => {
    const { Pool } = await import('#outbound/undici-library.ts')
    pool = new Pool(base.origin, {
      connections: poolConnections,
      pipelining: 1,
      connectTimeout: options.timeoutMs,
      headersTimeout: options.timeoutMs,
      bodyTimeout: options.timeoutMs,
      maxResponseSize: maxBodyBytes,
      keepAliveTimeout: 10_000,
    })
    return pool
  })
  const close = async () => pool?.destroy()
  const prefix = base.pathname.replace(/\/+$/, '')
  return toUpstream({ ...options, maxBodyBytes, prefix }, { open, close })
}

/** Requests to a server that a person named. */
export type GuardedUpstream = {
  /** As an `Upstream` does. An address that is not allowed is `rejected`. */
  send(
    request: UpstreamRequest & { readonly origin: string },
    call: CallContext,
  ): Promise<UpstreamResponse>
} & Pick<Upstream, 'close'>

/** @param options `allowPrivate`: also servers on the operator's own network, and plain http. */
export function makeGuardedUpstream(
  options: Omit<UpstreamOptions, 'baseUrl'> & { readonly allowPrivate: boolean },
): GuardedUpstream {
  const { allowPrivate, timeoutMs, maxBodyBytes = defaultMaxBodyBytes } = options
  const agent = makeLateAgent({
    allowPrivate,
    connectTimeoutMs: timeoutMs,
    headersTimeoutMs: timeoutMs,
    bodyTimeoutMs: timeoutMs,
    maxResponseBytes: maxBodyBytes,
  })
  return toUpstream({ ...options, maxBodyBytes, prefix: '' }, agent)
}

function toUpstream(
  options: Omit<Line, 'openPool' | 'closing' | 'nextTurn'>,
  pool: { readonly open: Line['openPool']; close(): Promise<void> },
): Upstream {
  const closing = new AbortController()
  const line = { ...options, openPool: pool.open, closing, nextTurn: makeTurnstile() }
  return {
    send: (request, call) => send(line, request, call),
    async close() {
      closing.abort(new ProcessStopping())
      await pool.close()
    },
  }
}

async function send(
  line: Line,
  request: UpstreamRequest,
  call: CallContext,
): Promise<UpstreamResponse> {
  const { provider, timeoutMs, closing } = line
  // Before the time begins: what loads is no delay of the provider.
  await line.openPool()
  const started = performance.now()
  const timeout = AbortSignal.timeout(timeoutMs)
  const record = (outcome: number | 'error' | 'aborted') =>
    line.report.exchange({
      provider,
      route: `${request.method} ${request.route}`,
      outcome,
      durationMs: performance.now() - started,
    })
  try {
    call.signal.throwIfAborted()
    closing.signal.throwIfAborted()
    const response = await once(line, request, call, timeout).catch((error: unknown) => {
      const isOver = call.signal.aborted || closing.signal.aborted
      const isRepeatable = request.method === 'GET' && request.isCountedByDay !== true
      if (!isRepeatable || !isResetBeforeAnswer(error) || isOver) throw error
      return once(line, request, call, timeout)
    })
    record(response.status)
    if (response.status < 500) call.onAnswer?.()
    return response
  } catch (error) {
    // An abort by the caller or by `close` is no provider failure: a stopping process opens no breaker.
    const ended = [call.signal, closing.signal].find((signal) => signal.aborted)
    record(ended === undefined ? 'error' : 'aborted')
    if (ended !== undefined) throw ended.reason
    throw toFailure(provider, error, timeout, timeoutMs)
  }
}

async function once(
  line: Line,
  request: UpstreamRequest,
  call: CallContext,
  timeout: AbortSignal,
): Promise<UpstreamResponse> {
  const json = request.json === undefined ? null : JSON.stringify(request.json)
  const pool = await line.openPool()
  const response = await pool.request({
    ...(request.origin === undefined ? {} : { origin: request.origin }),
    method: request.method,
    path: line.prefix + request.target,
    headers: {
      accept: 'application/json',
      // Without it any encoding may be sent (RFC 9110, 12.5.3), and bodies are read as they come.
      'accept-encoding': 'identity',
      'user-agent': 'tributary',
      ...(json === null ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    body: json,
    signal: AbortSignal.any([call.signal, timeout]),
  })
  const encoding = encodingOf(response.headers['content-encoding'])
  // The status of a refusal says enough.
  if (encoding !== null && response.statusCode < 300) {
    response.body.on('error', () => {}).destroy()
    throw new CompressedAnswer(encoding)
  }
  // Bytes instead of `body.text()`: decoding them once makes the parse that follows a third cheaper.
  const body = await readBody(response.body, line.maxBodyBytes)
  if (body.length >= largeBodyBytes) await line.nextTurn()
  return { status: response.statusCode, headers: response.headers, body }
}

/** Resolves one caller per turn of the event loop: pages that arrive together would block everything. */
function makeTurnstile(): () => Promise<void> {
  let last = Promise.resolve()
  return () => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)))
    return last
  }
}

/** Marks a failure after the first byte; such a request is never retried (reading R20c). */
class BodyError extends Error {
  override readonly name = 'BodyError'
}

/**
 * Parts of one answer: each is an object of some hundred bytes, while one read of a socket brings up to 64
 * KiB.
 */
const maxParts = 65_536

async function readBody(stream: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of stream) {
      size += chunk.length
      if (size > maxBytes) throw new RangeError(`the answer is larger than ${maxBytes} bytes`)
      if (chunks.push(chunk) > maxParts) throw new RangeError('the answer is in too many parts')
    }
  } catch (cause) {
    throw new BodyError('the answer broke off', { cause })
  }
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0]
  const body = Buffer.concat(chunks, size)
  chunks.forEach(releaseBytes)
  return body
}

/** The body is in a coding, though `identity` alone was asked for (RFC 9110, 12.5.3). */
class CompressedAnswer extends Error {
  override readonly name = 'CompressedAnswer'
}

/** Null: as it is. */
function encodingOf(header: string | string[] | undefined): string | null {
  const codings = String(header ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length === 0) return null
  return codings.every((coding) => /^[a-z0-9_-]{1,20}$/.test(coding))
    ? codings.join(', ')
    : 'unknown'
}

/** A connection that was reset before any byte arrived, e.g. a kept-alive one that was just closed. */
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
  if (cause instanceof BlockedAddress) {
    const detail = 'the address of the server leads to a private network'
    return new UpstreamError(
      provider,
      { kind: 'rejected', status: 400, detail, isPersonal: true },
      error,
    )
  }
  if (cause instanceof CompressedAnswer) {
    const detail = `the answer is compressed (${cause.message}), although it was asked for uncompressed: a proxy on the way may do this`
    return new UpstreamError(provider, { kind: 'malformed', detail }, error)
  }
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
