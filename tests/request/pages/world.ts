/**
 * The pages of a whole service in this process: people with passwords, browsers without a screen, and an
 * agent that asks for consent. Their stored passwords have the least cost, which a check takes from what is
 * stored.
 */
import assert from 'node:assert/strict'
import { argon2Sync, createHash, randomBytes } from 'node:crypto'
import { request } from 'undici'
import type { UserId } from '#kernel/ids.ts'
import type { PlanRow } from '#store/ports/users.ts'
import { type Jar, makeJar, type PageAnswer } from '#tests/support/jar.ts'
import { type Service, type ServiceOptions, startService } from '#tests/support/service.ts'

export const password = 'correct horse battery'
const passwordHash = hashCheaply(password)

function hashCheaply(message: string): string {
  const nonce = randomBytes(16)
  const cost = { memory: 8, passes: 1, parallelism: 1, tagLength: 32 }
  const tag = argon2Sync('argon2id', { message, nonce, ...cost })
  const [salt, hash] = [nonce, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''))
  return `$argon2id$v=19$m=8,t=1,p=1$${salt}$${hash}`
}

export interface Person {
  readonly id: UserId
  readonly email: string
}

export interface PagesWorld {
  readonly service: Service
  /** A fresh browser profile. */
  jar(): Jar
  /** A user with `password`; Professional and active by default. */
  addPerson(plan?: Partial<PlanRow>): Promise<Person>
  /** A fresh browser in which the person is signed in. */
  enter(person: Person): Promise<Jar>
  close(): Promise<void>
}

let people = 0

export async function startPages(options: ServiceOptions = {}): Promise<PagesWorld> {
  const env = { RATE_LIMIT_SIGNIN: '0', RATE_LIMIT_REGISTER: '0', ...options.env }
  const service = await startService({ ...options, env })
  const jar = () => makeJar(service.baseUrl)
  return {
    service,
    jar,
    async addPerson(plan = {}) {
      people += 1
      const user = await service.app.store.users.create({
        email: `visitor-${people}@example.test`,
        name: 'Emma',
        passwordHash,
        timezone: null,
        plan: 'professional',
        status: 'active',
        legacyUntil: null,
        grandfathered: false,
        createdAt: service.clock.now(),
        ...plan,
      })
      assert(user !== 'taken')
      return { id: user.id, email: user.email }
    },
    async enter(person) {
      const browser = jar()
      const answer = await signIn(browser, { email: person.email, password })
      assert.equal(answer.status, 303, answer.text)
      return browser
    },
    close: () => service.close(),
  }
}

/** Opens the form and sends it, as a person does. */
export async function signIn(
  jar: Jar,
  given: { readonly email: string; readonly password: string },
  path = '/sign-in',
): Promise<PageAnswer> {
  const page = await jar.get(path)
  assert.equal(page.status, 200)
  return jar.post('/sign-in', { ...page.hidden, ...given })
}

export interface AgentOptions {
  readonly name?: string
  readonly redirect?: string
  readonly scope?: string
}

export interface Asked {
  /** The path of the consent page. */
  readonly path: string
  readonly clientId: string
  /** Where the agent waits for its code. */
  readonly redirect: string
}

const verifier = 'a-verifier-that-is-long-enough-for-rfc-7636'

/** Registers an agent and walks its request in this browser up to the consent page. */
export async function askForConsent(
  service: Service,
  jar: Jar,
  options: AgentOptions = {},
): Promise<Asked> {
  const { name = 'Probe', redirect = 'http://127.0.0.1:53682/callback' } = options
  const registered = await request(`${service.baseUrl}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: name, redirect_uris: [redirect] }),
  })
  const { client_id: clientId } = (await registered.body.json()) as { client_id: string }
  const query = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirect,
    scope: options.scope ?? 'mcp:read brokerage:read',
    state: 'a state',
    resource: `${service.baseUrl}/mcp`,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const answer = await jar.get(`/authorize?${query}`)
  assert.equal(answer.status, 303, answer.text)
  return { path: new URL(answer.location ?? '', service.baseUrl).pathname, clientId, redirect }
}

/** Follows the redirects on this server until one leads elsewhere; the parameters of that one. */
export async function followOut(
  service: Service,
  jar: Jar,
  answer: PageAnswer,
): Promise<{ readonly url: URL; readonly hops: number }> {
  let next = new URL(answer.location ?? '', service.baseUrl)
  for (let hops = 1; hops < 5; hops += 1) {
    if (next.origin !== service.baseUrl) return { url: next, hops }
    const step = await jar.get(next.pathname + next.search)
    assert.equal(step.status, 303, step.text)
    next = new URL(step.location ?? '', service.baseUrl)
  }
  throw new Error('too many redirects')
}

/** Redeems the code; the token answer of the agent. */
export async function redeem(service: Service, asked: Asked, code: string) {
  const answer = await request(`${service.baseUrl}/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: asked.clientId,
      redirect_uri: asked.redirect,
      code,
      code_verifier: verifier,
      resource: `${service.baseUrl}/mcp`,
    }).toString(),
  })
  return (await answer.body.json()) as {
    access_token: string
    refresh_token: string
    scope: string
  }
}

/** The whole way: consent with these boxes ticked, code, token. */
export async function connectAgent(
  service: Service,
  jar: Jar,
  options: AgentOptions & { readonly ticked?: readonly string[] } = {},
) {
  const asked = await askForConsent(service, jar, options)
  const page = await jar.get(asked.path)
  assert.equal(page.status, 200, page.text)
  const scope = options.ticked ?? ['mcp:read', 'brokerage:read']
  const answer = await jar.post(asked.path, { ...page.hidden, scope, decision: 'allow' })
  const { url } = await followOut(service, jar, answer)
  const code = url.searchParams.get('code')
  assert(code !== null, url.href)
  return { ...asked, ...(await redeem(service, asked, code)) }
}
