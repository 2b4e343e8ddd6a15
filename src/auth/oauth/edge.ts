/**
 * What stands before the engine: which request is ours, how often an address may ask, how large a body may be, and the
 * form in which the engine gets it. Discovery is answered here from constants.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { WindowStore } from '#store/kv-port.ts'
import { guardHeaders, refuse, refuseOnPage } from './answers.ts'
import { findMetadataProblem, pickMetadata } from './client-metadata.ts'
import { makeDiscovery, type OAuthOrigins, paths, toResource } from './discovery.ts'
import { BodyTooLarge, readBody, replayRequest } from './replayed-request.ts'
import { runFor } from './requester.ts'
import { asksForOther, settleAuthorization, settleTokenRequest } from './requests.ts'

/** Per address and minute; 0 is no limit. */
export interface OAuthLimits {
  readonly register: number
  /** Counts token, revocation and authorization requests apart. */
  readonly token: number
}

export interface EdgeDeps {
  readonly origins: () => OAuthOrigins
  readonly windows: WindowStore
  readonly limits: OAuthLimits
  /** The client's address behind trusted proxies, as limits count it. */
  readonly addressOf: (request: IncomingMessage) => string
  /** Hands a request to the engine; resolves when it is answered. */
  readonly engine: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  readonly onFailure: (error: unknown) => void
  /** Called once for every request, when its answer is written or its client gone. */
  readonly observe: (event: OAuthEvent) => void
}

/** One request, without anything that was said in it. */
export interface OAuthEvent {
  readonly endpoint: 'authorize' | 'token' | 'register' | 'revoke' | 'discovery' | 'preflight'
  readonly status: number
  readonly durationMs: number
}

/** Method and path of everything that is answered here; `:uid` stands for one segment. */
export const routes: readonly {
  readonly method: 'GET' | 'POST' | 'OPTIONS'
  readonly path: string
}[] = [
  { method: 'GET', path: paths.authorization },
  { method: 'GET', path: `${paths.authorization}/:uid` },
  ...[paths.token, paths.registration, paths.revocation].flatMap(
    (path) =>
      [
        { method: 'POST', path },
        { method: 'OPTIONS', path },
      ] as const,
  ),
  ...[
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-authorization-server',
  ].flatMap(
    (path) =>
      [
        { method: 'GET', path },
        { method: 'OPTIONS', path },
      ] as const,
  ),
]

/** Specification, Limits: request body. */
const maxBodyBytes = 16 * 1024
const minuteMs = 60_000

/** Makes the handler of every route above; it answers each request that it is given. */
export function makeEdge(deps: EdgeDeps) {
  let made: {
    readonly origins: OAuthOrigins
    readonly documents: ReadonlyMap<string, string>
  } | null
  made = null
  const documents = () => {
    const origins = deps.origins()
    if (made?.origins !== origins) made = { origins, documents: makeDiscovery(origins) }
    return made.documents
  }
  return (request: IncomingMessage, response: ServerResponse): void => {
    const [path = ''] = (request.url ?? '').split('?')
    const document = documents().get(path)
    observeEnd(deps, toEndpoint(request.method, path), response)
    if (request.method === 'OPTIONS') answerPreflight(response, document !== undefined)
    else if (document !== undefined) answerDocument(response, document)
    else answerByEngine(deps, path, request, response)
  }
}

/** What a request of one of the routes is called in reports. */
export function toEndpoint(method: string | undefined, path: string): OAuthEvent['endpoint'] {
  if (method === 'OPTIONS') return 'preflight'
  switch (path) {
    case paths.token:
      return 'token'
    case paths.registration:
      return 'register'
    case paths.revocation:
      return 'revoke'
    default:
      return path.startsWith(paths.authorization) ? 'authorize' : 'discovery'
  }
}

function observeEnd(
  { observe }: EdgeDeps,
  endpoint: OAuthEvent['endpoint'],
  response: ServerResponse,
): void {
  const started = performance.now()
  response.once('close', () => {
    const status = response.writableFinished ? response.statusCode : 499
    observe({ endpoint, status, durationMs: performance.now() - started })
  })
}

function answerByEngine(
  deps: EdgeDeps,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  serve(deps, path, request, response).catch((error: unknown) => {
    // A client that broke off is no failure, and nobody is there to be told.
    if (request.destroyed && !request.complete) return void response.destroy()
    deps.onFailure(error)
    if (response.headersSent) response.destroy()
    else refuse(response, 500, { error: 'server_error' })
  })
}

async function serve(
  deps: EdgeDeps,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  for (const [name, value] of Object.entries(guardHeaders)) response.setHeader(name, value)
  const isPage = path.startsWith(paths.authorization)
  if (!isPage) response.setHeader('access-control-allow-origin', '*')
  if (!isPage) response.setHeader('access-control-expose-headers', 'Retry-After, WWW-Authenticate')
  const address = deps.addressOf(request)
  if (!(await isWithinLimit(deps, path, address, response))) {
    const error = { error: 'temporarily_unavailable', error_description: 'too many requests' }
    return isPage ? refuseOnPage(response, 429, error) : refuse(response, 429, error)
  }
  const settled = isPage
    ? settlePage(deps, request, response)
    : await settlePost(deps, path, request, response)
  if (settled === null) return
  const { origins } = deps
  const replay = replayRequest(request, { ...settled, origin: origins().auth })
  await runFor(address, () => deps.engine(replay, response))
}

async function isWithinLimit(
  { windows, limits }: EdgeDeps,
  path: string,
  address: string,
  response: ServerResponse,
): Promise<boolean> {
  const endpoint = path.split('/')[1] ?? ''
  const limit = path === paths.registration ? limits.register : limits.token
  const window = await windows.take(`oauth:${endpoint}:${address}`, limit, minuteMs)
  if (window.allowed) return true
  response.setHeader('retry-after', Math.ceil(window.resetMs / 1000))
  return false
}

interface Settled {
  readonly url: string
  readonly body: Uint8Array | null
}

function settlePage(
  { origins }: EdgeDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Settled | null {
  const url = request.url ?? ''
  const [path = '', query = ''] = splitOnce(url, '?')
  if (path !== paths.authorization) return { url, body: null }
  const params = settleAuthorization(query, toResource(origins()))
  // It would need a page with a script; nobody was ever told that it exists.
  if (params.get('response_mode') === 'form_post') {
    const error_description = 'response_mode form_post is not supported'
    refuseOnPage(response, 400, { error: 'invalid_request', error_description })
    return null
  }
  return { url: `${path}?${params}`, body: null }
}

async function settlePost(
  deps: EdgeDeps,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Settled | null> {
  const body = await readBody(request, maxBodyBytes).catch((error: unknown) => {
    if (!(error instanceof BodyTooLarge)) throw error
    response.shouldKeepAlive = false
    const error_description = 'request body over 16 KiB'
    refuse(response, 413, { error: 'invalid_request', error_description })
    return null
  })
  if (body === null) return null
  // The query has no say: parameters of these endpoints stand in the body alone.
  if (path === paths.registration) return settleRegistration(path, body, response)
  if (path !== paths.token) return { url: path, body }
  const resource = toResource(deps.origins())
  const form = settleTokenRequest(Buffer.from(body).toString('utf8'), resource)
  if (!asksForOther(form, resource)) return { url: path, body: Buffer.from(form.toString()) }
  const error_description = `the only resource here is ${resource}`
  refuse(response, 400, { error: 'invalid_target', error_description })
  return null
}

function settleRegistration(
  url: string,
  body: Uint8Array,
  response: ServerResponse,
): Settled | null {
  const metadata = parseObject(body)
  // What is no JSON object is the engine's to refuse.
  if (metadata === null) return { url, body }
  // Left to its default the engine would make up a secret for a client that can keep none.
  const picked = { token_endpoint_auth_method: 'none', ...pickMetadata(metadata) }
  const problem = findMetadataProblem(picked)
  if (problem === null) return { url, body: Buffer.from(JSON.stringify(picked)) }
  refuse(response, 400, { error: 'invalid_client_metadata', error_description: problem })
  return null
}

function parseObject(body: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    return value as Record<string, unknown>
  } catch {
    return null
  }
}

function answerPreflight(response: ServerResponse, isDocument: boolean): void {
  response.writeHead(204, {
    'access-control-allow-headers': '*, Authorization',
    'access-control-allow-methods': isDocument ? 'GET' : 'POST',
    'access-control-allow-origin': '*',
    'access-control-max-age': '3600',
  })
  response.end()
}

function answerDocument(response: ServerResponse, document: string): void {
  response.writeHead(200, {
    'access-control-allow-origin': '*',
    'cache-control': 'public, max-age=300',
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(document),
    'x-content-type-options': 'nosniff',
  })
  response.end(document)
}

function splitOnce(text: string, mark: string): readonly string[] {
  const at = text.indexOf(mark)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)]
}
