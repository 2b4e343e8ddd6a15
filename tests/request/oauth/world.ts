/**
 * The authorization server alone for tests: the real store, the real door, and a consent page of a few lines
 * on which the person named by the cookie `person` decides. What a service around it adds is tested with the
 * service.
 */

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import { makeOAuth, type OAuth, type OAuthOptions } from '#auth/oauth/oauth.ts'
import type { OAuthRecord } from '#auth/oauth/port.ts'
import { makeOAuthSweep } from '#auth/oauth/sweep.ts'
import { readBody } from '#doors/listener/request-body.ts'
import { makeOAuthDoor } from '#doors/oauth/oauth-door.ts'
import { makeRefusalPage } from '#doors/pages/consent/refusal-page.ts'
import { openMemoryKv } from '#fast/memory.ts'
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import { openStore } from '#store/open-store.ts'
import type { Store } from '#store/ports/store.ts'
import { placeMigratedStore } from '#tests/support/migrated-store.ts'
import { makeStillClock, type StillClock } from '#tests/support/service.ts'

export interface WorldOptions {
  readonly clock?: StillClock
  readonly limits?: OAuthOptions['limits']
  readonly fetchDocument?: OAuthOptions['fetchDocument']
  /** Public origins; the listener's own by default. */
  readonly origins?: { readonly base: string; readonly mcp: string; readonly auth: string }
  /** A PostgreSQL; the embedded store by default. */
  readonly databaseUrl?: string
}

export interface World {
  /** Where requests go. */
  readonly url: string
  /** What stands in documents. */
  readonly origins: { readonly base: string; readonly mcp: string; readonly auth: string }
  readonly store: Store
  readonly oauth: OAuth
  readonly clock: StillClock
  readonly dataDir: string
  /** What was reported as a failure of ours. */
  readonly failures: unknown[]
  /** Clients whose code or token was used twice. */
  readonly reused: string[]
  /** Why requests were refused because too many wait. */
  readonly reachedBounds: string[]
  /** What was reported of requests. */
  readonly events: OAuthRecord[]
  addPerson(): Promise<UserId>
  /** Deletes what is over, as the background work does every minute. */
  sweep(): Promise<void>
  close(): Promise<void>
}

const key = new Uint8Array(32).fill(7)
const passwordHash = '$argon2id$of-everybody'
const professional = {
  plan: 'professional',
  status: 'active',
  legacyUntil: null,
  grandfathered: false,
} as const
let people = 0

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const clock = options.clock ?? makeStillClock()
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-oauth-'))
  if (options.databaseUrl === undefined) await placeMigratedStore(dataDir)
  const store = await openStore({
    databaseUrl: options.databaseUrl ?? null,
    dataDir,
    mode: 'live',
    encryptionKeys: [key],
  })
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1024, cacheMaxEntryBytes: 1024 })
  let origins = options.origins ?? { base: '', mcp: '', auth: '' }
  const failures: unknown[] = []
  const reused: string[] = []
  const reachedBounds: string[] = []
  const events: OAuthRecord[] = []
  const oauth = await makeOAuth({
    readBody,
    store,
    origins: () => origins,
    clock,
    windows: kv.windows,
    limits: options.limits ?? { register: 0, token: 0 },
    addressOf: (request) => String(request.headers['x-test-address'] ?? '203.0.113.9'),
    findPerson: async ({ headers }) => readPerson(headers.cookie),
    secret: key,
    fetchDocument: options.fetchDocument ?? refuseToFetch,
    consentPath: '/consent',
    plans: { defaultPlan: 'none', brokerageDuringTrial: false },
    renderRefusal: await makeRefusalPage(),
    report: {
      failed: (error) => failures.push(error),
      reused: (clientId) => reused.push(clientId),
      pendingRefused: (bound) => reachedBounds.push(bound),
      request: (event) => events.push(event),
    },
  })
  const app = Fastify({ exposeHeadRoutes: false, forceCloseConnections: true })
  const door = makeOAuthDoor({
    oauth,
    origins: () => origins,
    isLoopback: true,
    onRefused: (event) => events.push(event),
  })
  app.addHook('onRequest', async ({ raw }, reply) => {
    if (!oauth.owns(raw.method, (raw.url ?? '').split('?')[0] ?? '')) return
    reply.hijack()
    door(raw, reply.raw)
  })
  addConsentPage(app, { oauth, store, clock })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  if (options.origins === undefined) origins = { base: url, mcp: url, auth: url }
  return {
    url,
    origins,
    store,
    oauth,
    clock,
    dataDir,
    failures,
    reused,
    reachedBounds,
    events,
    addPerson: () => addPerson(store, clock),
    sweep: () => makeOAuthSweep(store.oauth, clock).run(new AbortController().signal),
    async close() {
      await app.close()
      await kv.close()
      await store.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function refuseToFetch(): Promise<Response> {
  throw new Error('this world fetches nothing')
}

async function addPerson(store: Store, clock: StillClock): Promise<UserId> {
  people += 1
  const row = await store.users.create({
    passwordHash,
    email: `oauth-${process.pid}-${people}@example.test`,
    timezone: null,
    ...professional,
    createdAt: clock.now(),
  })
  if (row === 'taken') throw new Error('the address is taken')
  return row.id
}

const readPerson = (cookies: string | undefined) =>
  (/(?:^|; )person=([\w-]+)/.exec(cookies ?? '')?.[1] ?? null) as UserId | null

/** Shows what waits as JSON, and takes the form of the real page: `scope` as often as wanted, `decision`. */
function addConsentPage(
  app: FastifyInstance,
  { oauth, store, clock }: Pick<World, 'oauth' | 'store' | 'clock'>,
): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  )
  app.get('/consent/:uid', async ({ raw }, reply) => {
    const pending = await oauth.consent.find(raw, reply.raw)
    return reply.code(pending === null ? 410 : 200).send(pending ?? {})
  })
  app.post('/consent/:uid', async ({ raw, body }, reply) => {
    const form = body as URLSearchParams
    const userId = readPerson(raw.headers.cookie) as UserId
    if ((await oauth.consent.find(raw, reply.raw)) === null) return reply.code(410).send({})
    const signedInAt = clock.now()
    const sessionId = await openSession(store, userId, signedInAt)
    const decision = { actor: { kind: 'person', userId, sessionId } as const, signedInAt }
    const input = { scopes: form.getAll('scope') }
    const next =
      form.get('decision') === 'allow'
        ? await oauth.consent.allow(raw, reply.raw, { ...decision, plan: professional, input })
        : await oauth.consent.deny(raw, reply.raw, decision)
    return next === null ? reply.code(409).send({}) : reply.redirect(next, 303)
  })
}

/** A separate browser for each decision; for a deleted user a session that has ended. */
async function openSession(store: Store, userId: UserId, at: number): Promise<SessionId> {
  const hash = new Uint8Array(randomBytes(32))
  const session = await store.sessions.create({ userId, hash, at, passwordHash })
  return session?.id ?? newId<SessionId>()
}
