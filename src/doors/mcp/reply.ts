/**
 * How the agents' door writes: the headers that every answer of `/mcp` has (readings R5, R6), the REST envelope, JSON-RPC
 * errors and what the protocol library answered. It decides nothing.
 */
import type { ServerResponse } from 'node:http'
import { allScopes } from '#auth/scopes.ts'
import type { ApiError } from '#contract/errors.ts'
import { toEnvelope } from '#contract/errors.ts'
import type { Clock } from '#kernel/time.ts'
import { toRateTexts } from '../refusal.ts'
import type { Exchange } from './exchange.ts'
import type { RpcError } from './messages.ts'

export interface McpWriter {
  /** The REST envelope with the status of the error. */
  refuse(response: ServerResponse, exchange: Exchange, error: ApiError): void
  /** A JSON-RPC error. */
  refuseRpc(response: ServerResponse, exchange: Exchange, error: RpcError): void
  /** What the library answered; resolves when it is written, or the client is gone. */
  pass(response: ServerResponse, exchange: Exchange, answer: Response): Promise<void>
}

const json = 'application/json; charset=utf-8'

export function makeMcpWriter(clock: Clock, mcpOrigin: () => string): McpWriter {
  function headersOf(exchange: Exchange, type: string | null, length: number | null): string[] {
    const rate = toRateTexts(exchange.window, clock.now())
    const headers = [
      'Cache-Control',
      'no-store',
      'X-Content-Type-Options',
      'nosniff',
      'X-Request-Id',
      exchange.requestId,
      'X-RateLimit-Limit',
      rate.limit,
      'X-RateLimit-Remaining',
      rate.remaining,
      'X-RateLimit-Reset',
      rate.reset,
    ]
    if (type !== null) headers.push('Content-Type', type)
    if (length !== null) headers.push('Content-Length', String(length))
    return headers
  }

  function write(
    response: ServerResponse,
    exchange: Exchange,
    status: number,
    body: unknown,
    more: readonly string[] = [],
  ): void {
    // Writing to a client that has gone away would be an error event that nobody hears.
    if (response.destroyed) return
    const bytes = Buffer.from(JSON.stringify(body))
    response.writeHead(status, [...headersOf(exchange, json, bytes.length), ...more])
    response.end(bytes)
  }

  return {
    refuse(response, exchange, error) {
      const more: string[] = []
      if (error.status === 405) more.push('Allow', 'POST')
      if (error.retryAfterSeconds !== null)
        more.push('Retry-After', String(error.retryAfterSeconds))
      if (error.status === 401 || error.entry === 'insufficient_scope') {
        more.push('WWW-Authenticate', challenge(error, mcpOrigin()))
      }
      write(response, exchange, error.status, toEnvelope(error), more)
    },
    refuseRpc(response, exchange, { status, code, message, id }) {
      write(response, exchange, status, { jsonrpc: '2.0', error: { code, message }, id })
    },
    async pass(response, exchange, answer) {
      const type = answer.headers.get('content-type')
      if (type?.startsWith('text/event-stream') === true) {
        return stream(response, answer, headersOf(exchange, type, null))
      }
      const text = await answer.text()
      if (response.destroyed) return
      // A batch is answered as a batch, also when it had one entry (JSON-RPC 2.0 §6).
      const isBare = exchange.isBatch && answer.ok && text.startsWith('{')
      const bytes = Buffer.from(isBare ? `[${text}]` : text)
      response.writeHead(
        answer.status,
        headersOf(exchange, bytes.length === 0 ? null : json, bytes.length),
      )
      response.end(bytes)
    },
  }
}

/** An acknowledgement of a subscription: the library closes it at once, since nothing here ever changes. */
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
 * RFC 6750 §3 and RFC 9728 §5.1: without credentials it names no error. Both scopes stand in it, since clients of the 1.x
 * line ask for exactly what is named and could never reach the brokerage tools otherwise.
 */
function challenge(error: ApiError, mcpOrigin: string): string {
  const metadata = `${mcpOrigin}/.well-known/oauth-protected-resource/mcp`
  const facts = [`resource_metadata="${metadata}"`, `scope="${allScopes.join(' ')}"`]
  if (error.code !== 'missing_authorization') facts.unshift(`error="${error.code}"`)
  return `Bearer ${facts.join(', ')}`
}
