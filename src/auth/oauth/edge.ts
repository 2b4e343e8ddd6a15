/**
 * Handles each OAuth request before the engine: routing, rate limits per address, body size, and the form in
 * which the engine expects the request. Discovery is answered here from constant texts.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '#contract/errors.ts'
import { maxBodyBytes } from '#contract/limits.ts'
import type { WindowStore } from '#fast/port.ts'
import { minuteMs } from '#kernel/time.ts'
import {
  guardHeaders,
  type OAuthRefusal,
  type RenderRefusal,
  refuse,
  refuseOnPage,
} from './answers.ts'
import { findMetadataProblem, pickMetadata } from './client-metadata.ts'
import { makeDiscovery, type OAuthOrigins, paths, toResource } from './discovery.ts'
import type { OAuthRecord } from './port.ts'
import { replayRequest } from './replayed-request.ts'
import { runFor } from './requester.ts'
import { asksForOther, findExcess, settleAuthorization, settleTokenRequest } from './requests.ts'

/** Requests per address and minute; 0 means no limit. */
export interface OAuthLimits {
  readonly register: number
  /** Applies to token, revocation and authorization requests, each counted separately. */
  readonly token: number
}

export interface EdgeOptions {
  readonly origins: () => OAuthOrigins
  readonly windows: WindowStore
  readonly limits: OAuthLimits
  /** The client's address behind trusted proxies, as limits count it. */
  readonly addressOf: (request: IncomingMessage) => string
  /** Reads a body whole, within its limit; an error when the client has disconnected. */
  readonly readBody: (request: IncomingMessage) => Promise<Uint8Array | 'too_large' | Error>
  /** Passes a request to the engine; resolves when it is answered. */
  readonly engine: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  readonly onFailure: (error: unknown) => void
  readonly renderRefusal: RenderRefusal
  /** Called once for every request, when its answer is written or its client has disconnected. */
  readonly observe: (record: OAuthRecord) => void
}

const programPaths: ReadonlySet<string> = new Set([
  paths.token,
  paths.registration,
  paths.revocation,
])
const documentPaths: ReadonlySet<string> = new Set([
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-authorization-server',
])
/** Where a browser was sent, and where it continues with the request of this name. */
const pagePath = new RegExp(`^${paths.authorization}(?:/[^/]+)?$`)
const isPage = (path: string) => pagePath.test(path)

/** Whether a request is answered here; `path` is without its query. */
export function ownsRequest(method: string | undefined, path: string): boolean {
  switch (method) {
    case 'GET':
      return documentPaths.has(path) || isPage(path)
    case 'POST':
      return programPaths.has(path)
    case 'OPTIONS':
      return documentPaths.has(path) || programPaths.has(path)
    default:
      return false
  }
}

/** Makes the handler of these requests; it answers every request that it is given. */
export function makeEdge(options: EdgeOptions) {
  let made: {
    readonly origins: OAuthOrigins
    readonly documents: ReadonlyMap<string, string>
  } | null = null
  const documents = () => {
    const origins = options.origins()
    if (made?.origins !== origins) made = { origins, documents: makeDiscovery(origins) }
    return made.documents
  }
  return (request: IncomingMessage, response: ServerResponse): void => {
    const [path = ''] = (request.url ?? '').split('?')
    const document = documents().get(path)
    observeEnd(options, toEndpointName(request.method, path), response)
    if (request.method === 'OPTIONS') answerPreflight(response, document !== undefined)
    else if (document !== undefined) answerDocument(response, document)
    else answerByEngine(options, path, request, response)
  }
}

/** The name of a request's endpoint in request records. */
export function toEndpointName(method: string | undefined, path: string): OAuthRecord['endpoint'] {
  if (method === 'OPTIONS') return 'preflight'
  switch (path) {
    case paths.token:
      return 'token'
    case paths.registration:
      return 'register'
    case paths.revocation:
      return 'revoke'
    default:
      return isPage(path) ? 'authorize' : 'discovery'
  }
}

function observeEnd(
  { observe }: EdgeOptions,
  endpoint: OAuthRecord['endpoint'],
  response: ServerResponse,
): void {
  const started = performance.now()
  response.once('close', () => {
    const status = response.writableFinished ? response.statusCode : 499
    observe({ door: 'oauth', endpoint, status, durationMs: performance.now() - started })
  })
}

function answerByEngine(
  options: EdgeOptions,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  serve(options, path, request, response).catch((error: unknown) => {
    // A client that disconnected is not a failure, and there is no connection to answer on.
    const { destroyed, complete, readableEnded } = request
    if (destroyed && !complete && !readableEnded) return void response.destroy()
    options.onFailure(error)
    if (response.headersSent) return void response.destroy()
    if (error instanceof ApiError && error.entry === 'service_unavailable') {
      response.setHeader('Retry-After', String(error.retryAfterSeconds ?? 1))
      return sendError(
        options,
        { path, response, status: 503 },
        { error: 'temporarily_unavailable' },
      )
    }
    sendError(options, { path, response, status: 500 }, { error: 'server_error' })
  })
}

async function serve(
  options: EdgeOptions,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  for (const [name, value] of Object.entries(guardHeaders)) response.setHeader(name, value)
  if (!isPage(path)) {
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-expose-headers', 'Retry-After, WWW-Authenticate')
  }
  const address = options.addressOf(request)
  if (!(await isWithinLimit(options, path, address, response))) {
    const error = { error: 'temporarily_unavailable', error_description: 'too many requests' }
    return sendError(options, { path, response, status: 429 }, error)
  }
  const settled = isPage(path)
    ? settlePage(options, request, response)
    : await settlePost(options, path, request, response)
  if (settled === null) return
  const { origins } = options
  const replay = replayRequest(request, { ...settled, origin: origins().auth })
  await runFor(address, () => options.engine(replay, response))
}

/** A page where a browser was sent, JSON where a program requests. */
function sendError(
  { renderRefusal }: EdgeOptions,
  to: { readonly path: string; readonly response: ServerResponse; readonly status: number },
  refusal: OAuthRefusal,
): void {
  const { path, response, status } = to
  if (isPage(path)) refuseOnPage(response, status, renderRefusal(refusal))
  else refuse(response, status, refusal)
}

async function isWithinLimit(
  { windows, limits }: EdgeOptions,
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
  options: EdgeOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Settled | null {
  const url = request.url ?? ''
  const [path = '', query = ''] = splitOnce(url, '?')
  if (path !== paths.authorization) return { url, body: null }
  const refuseAsInvalid = (error_description: string) => {
    sendError(
      options,
      { path, response, status: 400 },
      { error: 'invalid_request', error_description },
    )
    return null
  }
  const excess = findExcess(query)
  if (excess !== null) return refuseAsInvalid(excess)
  const params = settleAuthorization(query, toResource(options.origins()))
  // `form_post` would need a page with a script, and our metadata does not advertise it.
  if (params.get('response_mode') === 'form_post') {
    return refuseAsInvalid('response_mode form_post is not supported')
  }
  return { url: `${path}?${params}`, body: null }
}

async function settlePost(
  options: EdgeOptions,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Settled | null> {
  const body = await options.readBody(request)
  if (body instanceof Error) throw body
  if (body === 'too_large') {
    response.shouldKeepAlive = false
    const error_description = `request body over ${maxBodyBytes / 1024} KiB`
    refuse(response, 413, { error: 'invalid_request', error_description })
    return null
  }
  // The query is ignored: parameters of these endpoints are accepted in the body alone.
  if (path === paths.registration) return settleRegistration(path, body, response)
  if (path !== paths.token) return { url: path, body }
  const resource = toResource(options.origins())
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
  // The engine refuses what is not a JSON object.
  if (metadata === null) return { url, body }
  // Without this default the engine would issue a secret to a public client, which cannot keep one.
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
