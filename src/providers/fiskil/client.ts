/**
 * HTTP with Fiskil: bearer token and version header on every call, one fresh token after a 401, refusals as
 * UpstreamError, short lists read to their end. It maps nothing and knows nothing of accounts or money.
 */
import type { Clock } from '#kernel/time.ts'
import type { CallContext, ProbeReply, UpstreamReport } from '../port.ts'
import { makeUpstream, type UpstreamRequest, type UpstreamResponse } from '../upstream.ts'
import { malformed, rejected, toRefusal } from './failures.ts'
import { pageSize, readListPage } from './lists.ts'
import { makeTokenSource } from './token.ts'

export interface FiskilOptions {
  /** Origin and path prefix, without `/v1`. */
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** Whose institutions are listed; absent or null: the client id. */
  readonly teamId?: string | null
  /** Base64, as the Console shows it; absent or null: no webhooks are received. */
  readonly webhookSecret?: string | null
  /** The exact text of the version header: `v1`, `v2` or `v3`. */
  readonly version: string
  /** Bounds one call as a whole, in milliseconds. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
}

export interface ListRequest {
  /** Path of the list; also its route in the metrics. */
  readonly path: string
  /** The key of the rows in the wrapped form. */
  readonly key: string
  readonly query: Readonly<Record<string, string>>
  /** How a body is parsed: numbers as floats, or as their source text. */
  readonly parse: (body: Uint8Array) => unknown
}

export interface FiskilClient {
  /** The base address from our configuration. */
  readonly base: URL
  /** GET; returns the body of a 2xx answer. Throws UpstreamError, or the signal's reason. */
  get(path: string, query: Readonly<Record<string, string>>, call: CallContext): Promise<Uint8Array>
  /** POST of JSON, sent once; returns the body of a 2xx. Only a refused token is renewed and tried again. */
  post(path: string, json: unknown, call: CallContext): Promise<Uint8Array>
  /** GET or DELETE of one resource by id; returns the body of a 2xx answer. */
  one(method: 'GET' | 'DELETE', path: string, id: string, call: CallContext): Promise<Uint8Array>
  /** Every row of a short list, all pages; `malformed` when the pages do not end. */
  list(request: ListRequest, call: CallContext): Promise<readonly unknown[]>
  /** Checks that Fiskil is reachable and issues a token to our app. */
  probe(call: CallContext): Promise<ProbeReply>
  close(): Promise<void>
}

const maxListPages = 20
const maxIdLength = 200

export function makeFiskilClient(options: FiskilOptions): FiskilClient {
  const base = new URL(options.baseUrl)
  const upstream = makeUpstream({
    provider: 'fiskil',
    baseUrl: options.baseUrl,
    timeoutMs: options.timeoutMs,
    report: options.report,
  })
  const tokens = makeTokenSource({ upstream, ...options })

  async function send(
    request: UpstreamRequest,
    token: string,
    call: CallContext,
  ): Promise<UpstreamResponse> {
    const headers = { authorization: `Bearer ${token}`, 'x-fiskil-version': options.version }
    return upstream.send({ ...request, headers }, call)
  }

  async function exchange(request: UpstreamRequest, call: CallContext): Promise<Uint8Array> {
    let token = await tokens.get(call)
    let response = await send(request, token, call)
    if (response.status === 401) {
      // Expired early or revoked in the Console: one retry with a fresh token; then it is our fault.
      tokens.drop(token)
      token = await tokens.get(call)
      response = await send(request, token, call)
      if (response.status === 401) tokens.drop(token)
    }
    if (response.status >= 200 && response.status <= 299) return response.body
    const secrets = [options.clientSecret, token]
    const error = toRefusal(response, { nowMs: options.clock.now(), secrets })
    if (error.failure.kind === 'misconfigured') {
      const detail = `${request.method} ${request.route}: ${error.failure.detail}`
      options.report.alert({ provider: 'fiskil', detail })
    }
    throw error
  }

  const get: FiskilClient['get'] = (path, query, call) =>
    exchange({ method: 'GET', route: path, target: `${path}?${new URLSearchParams(query)}` }, call)

  return {
    base,
    get,
    post: (path, json, call) => exchange({ method: 'POST', route: path, target: path, json }, call),
    one(method, path, id, call) {
      const target = `${path}/${toSegment(id)}`
      return exchange({ method, route: `${path}/{id}`, target }, call)
    },
    list: (request, call) => readList(get, base, request, call),
    probe: (call) => tokens.probe(call),
    close: () => upstream.close(),
  }
}

async function readList(
  get: FiskilClient['get'],
  base: URL,
  request: ListRequest,
  call: CallContext,
): Promise<readonly unknown[]> {
  const rows: unknown[] = []
  const seen = new Set<string>()
  let cursor: string | null = null
  for (let pages = 0; pages < maxListPages; pages += 1) {
    const query: Record<string, string> = { ...request.query }
    if (cursor !== null) query['page[after]'] = cursor
    const body = await get(request.path, query, call)
    const page = readListPage(request.parse(body), request.key, base)
    rows.push(...page.rows)
    if (page.next === null) return rows
    if (seen.has(page.next)) throw malformed(`the pages of ${request.key} form a cycle`)
    seen.add(page.next)
    cursor = page.next
  }
  throw malformed(`more than ${maxListPages * pageSize} ${request.key}`)
}

/** An id as one path segment. An id that would leave its segment, or that cannot be encoded, cannot exist. */
function toSegment(id: string): string {
  if (/^\.{0,2}$/.test(id) || id.length > maxIdLength || !id.isWellFormed()) {
    throw rejected(404, 'there is no such id')
  }
  return encodeURIComponent(id)
}
