/**
 * An agent in tests: JSON-RPC to `/mcp` of a running service without a client library, in both protocol
 * generations, so that a test sees the exact bytes and headers. Every answer is checked for what all must
 * have (readings R5, R6).
 */
import assert from 'node:assert/strict'
import { request } from 'undici'
import type { OperationName } from '#contract/operations.ts'
import type { Answer, Service, ServiceUser } from './service.ts'

export interface PostOptions {
  readonly method?: string
  /** A user's key, a raw Authorization value, or none. */
  readonly as?: ServiceUser | string | null
  readonly headers?: Readonly<Record<string, string>>
}

/** Posts a payload (an object as JSON, text unchanged) and reads the answer, whatever it is. */
export async function post(
  service: Service,
  payload: unknown,
  options: PostOptions = {},
): Promise<Answer> {
  const { as = null, headers = {}, method = 'POST' } = options
  const authorization = as === null ? null : typeof as === 'string' ? as : `Bearer ${as.key}`
  const response = await request(`${service.baseUrl}/mcp`, {
    method,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(authorization === null ? {} : { authorization }),
      ...headers,
    },
    ...(method === 'GET' || method === 'HEAD' ? {} : { body: toBody(payload) }),
  })
  const text = await response.body.text()
  const isJson = String(response.headers['content-type'] ?? '').startsWith('application/json')
  const answer: Answer = {
    status: response.statusCode,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : null,
  }
  checkAnswer(answer)
  return answer
}

function toBody(payload: unknown): string | Buffer {
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload)
}

function checkAnswer({ status, headers }: Answer): void {
  assert(status < 500, `a ${status}`)
  for (const name of ['limit', 'remaining', 'reset']) {
    assert.match(String(headers[`x-ratelimit-${name}`]), /^\d+$/, `X-RateLimit-${name} (${status})`)
  }
  assert.equal(headers['cache-control'], 'no-store')
  assert.match(String(headers['x-request-id']), /./)
  assert.equal(headers['retry-after'] === undefined, status !== 429)
}

/** A request in the 2025 protocol. */
export function rpc(method: string, params?: object, id: number | string = 1) {
  return { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) }
}

/** A tool call in the 2025 protocol. */
export function toolCall(name: OperationName, args?: object, id: number | string = 1) {
  return rpc('tools/call', { name, ...(args === undefined ? {} : { arguments: args }) }, id)
}

export interface Called extends Answer {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
  readonly result: any
}

/** Calls a tool; its answer must be a result, also when it is an error result. */
export async function callTool(
  service: Service,
  user: ServiceUser | string,
  name: OperationName,
  args?: object,
): Promise<Called> {
  const answer = await post(service, toolCall(name, args), { as: user })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.body.id, 1)
  return { ...answer, result: answer.body.result }
}

/** A request of the revision 2026-07-28 with the headers that belong to it. */
export function modern(method: string, params: Readonly<Record<string, unknown>> = {}) {
  const name = typeof params.name === 'string' ? { 'mcp-name': params.name } : {}
  return {
    payload: rpc(method, {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    }),
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...name },
  }
}
