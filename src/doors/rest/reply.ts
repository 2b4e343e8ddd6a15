/**
 * Writes the lane's answers: one `writeHead` with a flat list of headers, one `end` with prepared bytes. It
 * makes no decisions.
 */
import { isAscii } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import type { ApiError } from '#contract/errors.ts'
import { toEnvelope } from '#contract/errors.ts'
import { sunset } from '#contract/limits.ts'
import type { WindowState } from '#fast/port.ts'
import type { Answer, CacheResult } from '#gate/gate.ts'
import { type Clock, toIso } from '#kernel/time.ts'
import { toRateTexts } from '../refusal.ts'

export interface ReplyFacts {
  readonly requestId: string
  readonly window: WindowState
  readonly cache: CacheResult
  /** The answer needs the deprecation headers (reading R9). */
  readonly deprecated: boolean
}

const json = 'application/json; charset=utf-8'

/** Above this, copying the body costs more than it saves. */
const maxTextLength = 8192

/** A constant page for a person, with its content security policy. */
export interface StaticPage {
  readonly bytes: Uint8Array
  readonly policy: string
}

export interface ReplyWriter {
  ok(response: ServerResponse, facts: ReplyFacts, answer: Answer): void
  /** The head of a stream. */
  stream(response: ServerResponse, facts: ReplyFacts): void
  error(response: ServerResponse, facts: ReplyFacts, error: ApiError): void
  /** 404 for a person: the headers of an unknown path, and the page. */
  page(response: ServerResponse, facts: ReplyFacts, page: StaticPage): void
}

export function makeReplyWriter(clock: Clock, docsUrl: () => string): ReplyWriter {
  const texts = new WeakMap<Uint8Array, string>()
  const context: HeaderContext = { clock, docsUrl }
  return {
    ok(response, facts, { body, truncated, asOf }) {
      const headers = commonHeaders(context, facts, body.length, json)
      // Writing to a disconnected client would emit an error event without a listener.
      if (response.destroyed) return
      if (truncated) headers.push('X-Service-Truncated', 'true')
      if (asOf !== undefined) headers.push('X-Data-As-Of', toIso(asOf))
      response.writeHead(200, headers)
      const text = facts.cache === 'HIT' ? textOf(texts, body) : null
      if (text === null) response.end(body)
      else response.end(text, 'latin1')
    },
    stream(response, facts) {
      const headers = commonHeaders(context, facts, 0, 'text/event-stream')
      // Its length is not known.
      headers.splice(headers.indexOf('Content-Length'), 2)
      // Some proxies hold an answer back until it is whole.
      headers.push('X-Accel-Buffering', 'no')
      // A connection that was kept would outlive the stop of the process.
      response.shouldKeepAlive = false
      if (!response.destroyed) response.writeHead(200, headers)
    },
    page(response, facts, { bytes, policy }) {
      const headers = commonHeaders(context, facts, bytes.length, 'text/html; charset=utf-8')
      headers.push('Content-Security-Policy', policy, 'X-Frame-Options', 'DENY')
      if (response.destroyed) return
      response.writeHead(404, headers)
      response.end(bytes)
    },
    error(response, facts, error) {
      const body = Buffer.from(JSON.stringify(toEnvelope(error)))
      const headers = commonHeaders(context, facts, body.length, json)
      if (error.retryAfterSeconds !== null) {
        headers.push('Retry-After', String(error.retryAfterSeconds))
      }
      if (error.status === 401) headers.push('WWW-Authenticate', challenge(error))
      if (response.destroyed) return
      response.writeHead(error.status, headers)
      response.end(body)
    },
  }
}

interface HeaderContext {
  readonly clock: Clock
  readonly docsUrl: () => string
}

function commonHeaders(
  { clock, docsUrl }: HeaderContext,
  facts: ReplyFacts,
  length: number,
  type: string,
): string[] {
  const rate = toRateTexts(facts.window, clock.now())
  const headers = [
    'Content-Type',
    type,
    'Content-Length',
    String(length),
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    'X-Cache',
    facts.cache,
    'X-Request-Id',
    facts.requestId,
    'X-RateLimit-Limit',
    rate.limit,
    'X-RateLimit-Remaining',
    rate.remaining,
    'X-RateLimit-Reset',
    rate.reset,
  ]
  if (facts.deprecated) {
    const link = `<${docsUrl()}>; rel="deprecation"; type="text/html"`
    headers.push('Deprecation', 'true', 'Sunset', sunset, 'Link', link)
  }
  return headers
}

/**
 * The body as text, when it is short and ASCII; cached as long as its bytes exist. Node sends head and body
 * in one write when both are text, which saves a tenth of a small answer's time.
 */
function textOf(texts: WeakMap<Uint8Array, string>, body: Uint8Array): string | null {
  if (body.length > maxTextLength) return null
  let text = texts.get(body)
  if (text === undefined) {
    if (!isAscii(body)) return null
    text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
    texts.set(body, text)
  }
  return text
}

/** RFC 6750 §3: without credentials the challenge names no error. */
function challenge(error: ApiError): string {
  const realm = 'Bearer realm="tributary"'
  return error.code === 'invalid_token' ? `${realm}, error="invalid_token"` : realm
}
