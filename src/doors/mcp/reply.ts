/**
 * Writes the answers of the agents' door: the headers that every answer of `/mcp` has (readings R5, R6), the
 * REST envelope, JSON-RPC errors and the protocol library's answers. It makes no decisions.
 */
import type { ServerResponse } from 'node:http'
import { allScopes } from '#auth/scopes.ts'
import type { ApiError } from '#contract/errors.ts'
import type { Clock } from '#kernel/time.ts'
import { toRateTexts } from '../refusal.ts'
import type { McpExchange } from './exchange.ts'
import type { Frame } from './frames.ts'
import type { RpcError } from './messages.ts'
import { toAgentEnvelope } from './wording.ts'

export interface McpWriter {
  /** The REST envelope with the status of the error. */
  refuse(response: ServerResponse, exchange: McpExchange, error: ApiError): void
  refuseRpc(response: ServerResponse, exchange: McpExchange, error: RpcError): void
  /** Writes the answer of a plain call; `ending` is what follows the frame. */
  frame(response: ServerResponse, exchange: McpExchange, frame: Frame, ending: string): void
  /** Writes the library's answer; resolves when it is written or the client has disconnected. */
  pass(response: ServerResponse, exchange: McpExchange, answer: Response): Promise<void>
}

const json = 'application/json; charset=utf-8'

export function makeMcpWriter(clock: Clock, mcpOrigin: () => string): McpWriter {
  return {
    refuse(response, exchange, error) {
      const headers = headersOf(clock, exchange)
      if (error.status === 405) headers.push('Allow', 'POST')
      if (error.retryAfterSeconds !== null) {
        headers.push('Retry-After', String(error.retryAfterSeconds))
      }
      if (error.status === 401 || error.entry === 'insufficient_scope') {
        headers.push('WWW-Authenticate', challenge(error, mcpOrigin()))
      }
      write(response, error.status, headers, toAgentEnvelope(error, exchange.requestId))
    },
    refuseRpc(response, exchange, { status, code, message, id }) {
      const body = { jsonrpc: '2.0', error: { code, message }, id }
      write(response, status, headersOf(clock, exchange), body)
    },
    frame(response, exchange, frame, ending) {
      const headers = headersOf(clock, exchange)
      const endingBytes = Buffer.byteLength(ending)
      headers.push('Content-Type', json, 'Content-Length', String(frame.length + endingBytes))
      response.writeHead(200, headers)
      // Text that is all ASCII is written at once with its headers, a large frame without being copied.
      if (typeof frame === 'string' && endingBytes === ending.length) {
        response.end(frame + ending, 'latin1')
      } else {
        response.write(frame)
        response.end(ending)
      }
    },
    async pass(response, exchange, answer) {
      const type = answer.headers.get('content-type')
      if (type?.startsWith('text/event-stream') === true) {
        return stream(response, answer, [...headersOf(clock, exchange), 'Content-Type', type])
      }
      const text = await answer.text()
      if (response.destroyed) return
      // A batch is answered with an array, even when it had one entry (JSON-RPC 2.0 §6).
      const isBare = exchange.isBatch && answer.ok && text.startsWith('{')
      const bytes = Buffer.from(isBare ? `[${text}]` : text)
      const headers = headersOf(clock, exchange)
      if (bytes.length > 0) headers.push('Content-Type', json)
      headers.push('Content-Length', String(bytes.length))
      response.writeHead(answer.status, headers)
      response.end(bytes)
    },
  }
}

function headersOf(clock: Clock, { window, requestId }: McpExchange): string[] {
  const rate = toRateTexts(window, clock.now())
  return [
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    'X-Request-Id',
    requestId,
    'X-RateLimit-Limit',
    rate.limit,
    'X-RateLimit-Remaining',
    rate.remaining,
    'X-RateLimit-Reset',
    rate.reset,
  ]
}

function write(response: ServerResponse, status: number, headers: string[], body: unknown): void {
  // Writing to a disconnected client would emit an error event without a listener.
  if (response.destroyed) return
  const bytes = Buffer.from(JSON.stringify(body))
  headers.push('Content-Type', json, 'Content-Length', String(bytes.length))
  response.writeHead(status, headers)
  response.end(bytes)
}

/**
 * Writes the acknowledgement of a subscription; the library closes the stream at once, since nothing changes.
 */
async function stream(response: ServerResponse, answer: Response, headers: string[]) {
  if (response.destroyed) return
  response.writeHead(answer.status, headers)
  const reader = answer.body?.getReader()
  response.once('close', () => void reader?.cancel().catch(() => undefined))
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    if (response.destroyed) break
    response.write(part.value)
  }
  response.end()
}

/**
 * RFC 6750 §3 and RFC 9728 §5.1: without credentials the challenge names no error. It names both scopes,
 * because clients of the 1.x line request exactly these and could otherwise never use the brokerage tools.
 */
function challenge(error: ApiError, mcpOrigin: string): string {
  const metadata = `${mcpOrigin}/.well-known/oauth-protected-resource/mcp`
  const facts = [`resource_metadata="${metadata}"`, `scope="${allScopes.join(' ')}"`]
  if (error.code !== 'missing_authorization') facts.unshift(`error="${error.code}"`)
  return `Bearer ${facts.join(', ')}`
}
