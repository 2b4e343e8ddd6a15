/**
 * How the lane writes: one `writeHead` with a flat list of headers, one `end` with prepared bytes. It decides nothing.
 */
import { isAscii } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import type { ApiError } from '#contract/errors.ts'
import { toEnvelope } from '#contract/errors.ts'
import type { CacheResult } from '#gate/gate.ts'
import type { Clock } from '#kernel/time.ts'
import type { WindowState } from '#store/kv-port.ts'
import { toRateTexts } from '../refusal.ts'

export interface ReplyFacts {
  readonly requestId: string
  readonly window: WindowState
  readonly cache: CacheResult
  /** Deprecation headers are due (reading R9). */
  readonly deprecated: boolean
}

/** Specification, common headers: calls without accountId keep working until then. */
const sunset = 'Wed, 01 Sep 2027 00:00:00 GMT'

/** Beyond this copying the body costs more than it saves. */
const maxTextLength = 8192

export interface ReplyWriter {
  ok(response: ServerResponse, facts: ReplyFacts, body: Uint8Array, truncated: boolean): void
  error(response: ServerResponse, facts: ReplyFacts, error: ApiError): void
}

export function makeReplyWriter(clock: Clock, docsUrl: () => string): ReplyWriter {
  function commonHeaders(facts: ReplyFacts, length: number): string[] {
    const rate = toRateTexts(facts.window, clock.now())
    const headers = [
      'Content-Type',
      'application/json; charset=utf-8',
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

  // Head and body leave together when both are text, which saves a tenth of a small answer; the text goes with its bytes.
  const texts = new WeakMap<Uint8Array, string>()
  function textOf(body: Uint8Array): string | null {
    if (body.length > maxTextLength) return null
    let text = texts.get(body)
    if (text === undefined) {
      if (!isAscii(body)) return null
      text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
      texts.set(body, text)
    }
    return text
  }

  return {
    ok(response, facts, body, truncated) {
      const headers = commonHeaders(facts, body.length)
      // Writing to a client that has gone away would be an error event that nobody hears.
      if (response.destroyed) return
      if (truncated) headers.push('X-Service-Truncated', 'true')
      response.writeHead(200, headers)
      const text = facts.cache === 'HIT' ? textOf(body) : null
      if (text === null) response.end(body)
      else response.end(text, 'latin1')
    },
    error(response, facts, error) {
      const body = Buffer.from(JSON.stringify(toEnvelope(error)))
      const headers = commonHeaders(facts, body.length)
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

/** RFC 6750 §3: without credentials the challenge names no error. */
function challenge(error: ApiError): string {
  const realm = 'Bearer realm="tributary"'
  return error.code === 'invalid_token' ? `${realm}, error="invalid_token"` : realm
}
