/**
 * A client of the authorization server for tests, by hand, so that every parameter can be bent: registration,
 * the way through the browser with a cookie jar, redemption, refresh, revocation.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type Dispatcher, request } from 'undici'
import type { UserId } from '#kernel/ids.ts'
import type { World } from './world.ts'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
  readonly body: any
}

export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly scope: string
  readonly expires_in: number
}

export const loopback = 'http://127.0.0.1:53682/callback'

export async function send(
  url: string,
  options: Partial<Omit<Dispatcher.RequestOptions, 'path'>> = {},
): Promise<Reply> {
  const response = await request(url, options)
  const text = await response.body.text()
  const type = String(response.headers['content-type'] ?? '')
  const body: unknown = type.startsWith('application/json') && text !== '' ? JSON.parse(text) : null
  return { status: response.statusCode, headers: response.headers, text, body }
}

export function sendForm(url: string, fields: Fields, headers = {}): Promise<Reply> {
  return send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: toParams(fields).toString(),
  })
}

/** Undefined fields are left out, lists are repeated. */
export function toParams(fields: Fields): URLSearchParams {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const one of [value ?? []].flat()) params.append(name, one)
  return params
}

export function register(
  world: Pick<World, 'url'>,
  metadata: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return send(`${world.url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof metadata === 'string' ? metadata : JSON.stringify(metadata),
  })
}

export async function registerClient(world: Pick<World, 'url'>, metadata = {}): Promise<string> {
  const reply = await register(world, {
    client_name: 'Probe',
    redirect_uris: [loopback],
    ...metadata,
  })
  assert.equal(reply.status, 201, reply.text)
  return reply.body.client_id
}

export function makePkce() {
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return { verifier, challenge }
}

/** Keeps what it is given and sends it back, each cookie under its own path. */
export class Jar {
  readonly #cookies = new Map<string, { readonly value: string; readonly path: string }>()

  take(reply: Pick<Reply, 'headers'>): void {
    for (const line of [reply.headers['set-cookie'] ?? []].flat()) {
      const [pair = ''] = line.split(';')
      const at = pair.indexOf('=')
      const path = /; path=([^;]*)/i.exec(line)?.[1] ?? '/'
      this.#cookies.set(`${pair.slice(0, at)} ${path}`, { value: pair, path })
    }
  }

  set(name: string, value: string): void {
    this.#cookies.set(`${name} /`, { value: `${name}=${value}`, path: '/' })
  }

  header(url: string): { readonly cookie: string } {
    const { pathname } = new URL(url)
    const sent = [...this.#cookies.values()].filter(({ path }) => pathname.startsWith(path))
    return { cookie: sent.map(({ value }) => value).join('; ') }
  }
}

export interface Request {
  readonly clientId: string
  readonly challenge: string
  /** Laid over a good request; undefined leaves a parameter out. */
  readonly over?: Fields
  readonly headers?: Readonly<Record<string, string>>
}

/** The first step in the browser: what the server makes of an authorization request. */
export async function authorize(world: World, asked: Request, jar = new Jar()): Promise<Reply> {
  const params = toParams({
    client_id: asked.clientId,
    response_type: 'code',
    redirect_uri: loopback,
    code_challenge: asked.challenge,
    code_challenge_method: 'S256',
    state: 'a state',
    scope: 'mcp:read brokerage:read',
    resource: `${world.origins.mcp}/mcp`,
    ...asked.over,
  })
  const reply = await send(`${world.url}/authorize?${params}`, { headers: asked.headers ?? {} })
  jar.take(reply)
  return reply
}

export interface Decision {
  readonly person: UserId
  readonly scopes?: readonly string[]
  readonly decision?: 'allow' | 'deny'
}

/** From the consent page to the address that the browser is sent to at last. */
export async function decide(
  world: World,
  consentPath: string,
  jar: Jar,
  decision: Decision,
): Promise<URL> {
  jar.set('person', decision.person)
  const consentUrl = world.url + consentPath
  const shown = await send(consentUrl, { headers: jar.header(consentUrl) })
  assert.equal(shown.status, 200, shown.text)
  const fields = {
    scope: decision.scopes ?? shown.body.scopes,
    decision: decision.decision ?? 'allow',
  }
  const decided = await sendForm(consentUrl, fields, jar.header(consentUrl))
  assert.equal(decided.status, 303, decided.text)
  const next = new URL(String(decided.headers.location), world.url).href
  const ended = await send(next, { headers: jar.header(next) })
  assert.equal(ended.status, 303, ended.text)
  // The engine would keep a session of its own; only our sign-in keeps sessions.
  for (const line of [ended.headers['set-cookie'] ?? []].flat())
    assert.doesNotMatch(line, /session/)
  return new URL(String(ended.headers.location))
}

/** An authorization request up to the client's own address. */
export async function approve(
  world: World,
  asked: Request,
  decision: Decision,
): Promise<URLSearchParams> {
  const jar = new Jar()
  const sent = await authorize(world, asked, jar)
  assert.equal(sent.status, 303, sent.text)
  return (await decide(world, String(sent.headers.location), jar, decision)).searchParams
}

/** A code with everything that is needed to redeem it. */
export async function getCode(
  world: World,
  person: UserId,
  over: { readonly clientId?: string; readonly over?: Fields; readonly scopes?: string[] } = {},
) {
  const clientId = over.clientId ?? (await registerClient(world))
  const { verifier, challenge } = makePkce()
  const asked = { clientId, challenge, ...(over.over === undefined ? {} : { over: over.over }) }
  const answer = await approve(world, asked, {
    person,
    ...(over.scopes === undefined ? {} : { scopes: over.scopes }),
  })
  const code = answer.get('code')
  assert.ok(code, answer.toString())
  return { clientId, verifier, code }
}

export type Code = Awaited<ReturnType<typeof getCode>>

export function redeem(
  world: Pick<World, 'url'>,
  { clientId, verifier, code }: Code,
  over: Fields = {},
): Promise<Reply> {
  return sendForm(`${world.url}/token`, {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: verifier,
    redirect_uri: loopback,
    ...over,
  })
}

/** The whole way for a person and a client. */
export async function connect(
  world: World,
  person: UserId,
  over: Parameters<typeof getCode>[2] = {},
): Promise<Tokens & { readonly clientId: string }> {
  const code = await getCode(world, person, over)
  const reply = await redeem(world, code)
  assert.equal(reply.status, 200, reply.text)
  return { ...reply.body, clientId: code.clientId }
}

export function refresh(
  world: Pick<World, 'url'>,
  tokens: { readonly refresh_token: string; readonly clientId: string },
  over: Fields = {},
): Promise<Reply> {
  return sendForm(`${world.url}/token`, {
    grant_type: 'refresh_token',
    client_id: tokens.clientId,
    refresh_token: tokens.refresh_token,
    ...over,
  })
}

export function revoke(world: Pick<World, 'url'>, clientId: string, token: string): Promise<Reply> {
  return sendForm(`${world.url}/revoke`, { client_id: clientId, token })
}
