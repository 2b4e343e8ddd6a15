/**
 * The pages' door by itself: https and public names, failures, methods, assets, and what a client could
 * smuggle in.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import Fastify from 'fastify'
import { request } from 'undici'
import { makeUserActions } from '#auth/actions.ts'
import type { ConsentRequests, PendingConsent } from '#auth/oauth/port.ts'
import { makeHashingQueue } from '#auth/sign-in/hashing-queue.ts'
import { makePasswords, type Passwords } from '#auth/sign-in/password.ts'
import { makeSessions } from '#auth/sign-in/sessions.ts'
import { makeSignIns } from '#auth/sign-in/sign-ins.ts'
import { makeConnections } from '#connections/connections.ts'
import type { PagesDoorOptions } from '#doors/pages/context.ts'
import { pagesDoor } from '#doors/pages/pages-door.ts'
import { openMemoryKv } from '#fast/memory.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import { makeSealer } from '#store/seal.ts'
import { makeMigratedPlace } from '#tests/contract/store/place.ts'
import { openByMail } from '#tests/support/by-mail.ts'
import { makeJar } from '#tests/support/jar.ts'
import { makeWebhooks } from '#webhooks/webhooks.ts'

const password = 'correct horse battery'
const bank = {
  base: 'https://bank.example.com',
  mcp: 'https://mcp.example.com',
  auth: 'https://sign.example.com',
}

/** Consent requests with only this one waiting. */
function requestsWith(pending: PendingConsent | null): ConsentRequests {
  return {
    find: async () => pending,
    allow: async () => '/authorize/resumed',
    deny: async () => '/authorize/refused',
  }
}

interface Over extends Partial<PagesDoorOptions> {
  readonly passwords?: Passwords
}

/** For pages that these tests do not open. */
const refuse = () => Promise.reject(new Error('not asked for here'))

const ignore = () => undefined

async function open(t: TestContext, { passwords = makePasswords(), ...over }: Over = {}) {
  const place = makeMigratedPlace()
  const store = await place.open()
  const clock = { now: () => Date.UTC(2026, 10, 21) }
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1_000_000, cacheMaxEntryBytes: 100_000 })
  const { windows } = kv
  const signIns = makeSignIns({
    store,
    clock,
    windows,
    passwords,
    signInLimit: 0,
    secrets: [new Uint8Array(32)],
    signUp: 'open',
    origins: () => bank,
    sealer: makeSealer([new Uint8Array(32)]),
    onDamaged: (error) => assert.fail(error),
  })
  const byMail = openByMail({ store, clock, windows, signUp: 'open' })
  const report = { deletion: ignore, linking: ignore, failedLate: ignore, notListening: ignore }
  const connections = makeConnections({
    ...{ store, adapters: {}, clock, windows, report },
    timeoutMs: 5000,
  })
  const failures: unknown[] = []
  const failedRequests: (string | undefined)[] = []
  const fastify = Fastify({ exposeHeadRoutes: false })
  await fastify.register(pagesDoor, {
    store,
    connections,
    signIns,
    sessions: makeSessions({ store, clock }),
    linkingTargets: [],
    sampleTokens: {},
    consent: requestsWith(null),
    agents: { list: async () => [], disconnect: async () => false },
    plans: { defaultPlan: 'professional', brokerageDuringTrial: false },
    addMadeUpData: null,
    openOwnReads: refuse,
    readUsage: refuse,
    readLimits: refuse,
    byMail,
    actions: makeUserActions({ store, clock, signIns, invite: byMail.invite }),
    webhooks: makeWebhooks({ store, clock, allowPrivate: false }),
    sealer: makeSealer([new Uint8Array(32)]),
    clock,
    origins: () => bank,
    isLoopback: false,
    secure: true,
    addressOf: (given) => given.ip,
    onFailure: (...failed) => failures.push(failed[0]) && failedRequests.push(failed[1]),
    ...over,
  })
  const url = await fastify.listen({ host: '127.0.0.1', port: 0 })
  t.after(async () => {
    await fastify.close()
    await kv.close()
    await store.close()
    await place.remove()
  })
  const name = { host: 'bank.example.com', origin: bank.base }
  return {
    url,
    place,
    store,
    failures,
    failedRequests,
    jar: () => makeJar(url),
    name,
    /** A browser with a signed-in user. */
    async enter() {
      const jar = makeJar(url)
      const page = await jar.get('/sign-up', name)
      const form = { ...page.hidden, name: 'Emma', email: 'emma@example.test', password }
      assert.equal((await jar.post('/sign-up', form, name)).status, 303)
      return jar
    },
  }
}

test('behind https every cookie is __Host- and Secure', async (t) => {
  const { enter, name } = await open(t)
  const jar = await enter()
  assert.equal(jar.setCookies.length, 3)
  for (const line of jar.setCookies) {
    const shape =
      /^__Host-tributary(?:(?:-visitor)?=[\w-]{43}|-browser=[\w.-]{60,80}); Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=\d+$/
    assert.match(line, shape)
  }
  assert.match((await jar.get('/', name)).text, /emma@example\.test/)
  jar.cookies.set('tributary', jar.cookies.get('__Host-tributary') ?? '')
  jar.cookies.delete('__Host-tributary')
  assert.equal((await jar.get('/agents', name)).status, 303, 'the unprefixed name is not asked')
})

test('503: with a full hashing queue the page says when to try again', async (t) => {
  const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<Buffer>()]
  const passwords = makePasswords(
    () => {
      entered.resolve()
      return gate.promise
    },
    makeHashingQueue({ maxAtOnce: 1, maxAddresses: 0 }),
  )
  const { jar, name } = await open(t, { passwords })
  const [browser, form] = [jar(), { email: 'a@b.example', name: 'Emma', password }]
  const { hidden } = await browser.get('/sign-in', name)
  const send = (path: string) => browser.post(path, { ...hidden, ...form }, name)
  const held = send('/sign-in')
  await entered.promise
  for (const path of ['/sign-in', '/sign-up']) {
    const answer = await send(path)
    assert.equal(answer.status, 503)
    assert.equal(answer.headers['retry-after'], '5')
    assert.match(answer.text, /Many people are signing in at this moment\. Try again in 5 seconds/)
    assert.doesNotMatch(answer.text, /aria-invalid/)
  }
  gate.resolve(Buffer.alloc(32))
  assert.equal((await held).status, 401)
})

test('off loopback only the configured names answer, with or without a port', async (t) => {
  const { jar } = await open(t)
  for (const host of [
    'bank.example.com',
    'BANK.example.com:443',
    'mcp.example.com',
    'sign.example.com',
  ]) {
    assert.equal((await jar().get('/', { host })).status, 200, host)
  }
  for (const host of [
    'localhost',
    '127.0.0.1',
    '[::1]',
    'evil.test',
    'bank.example.com.evil.test',
  ]) {
    assert.equal((await jar().get('/', { host })).status, 400, host)
  }
})

test('the wrong-address page names the right address, leads to the same page there, and has its styles', async (t) => {
  const { jar } = await open(t)
  const host = 'evil.test'
  for (const path of ['/', '/sign-in?return=%2Fagents', '/sign-in?x="><script>']) {
    const { status, text } = await jar().get(path, { host })
    assert.equal(status, 400)
    assert.match(text, /Its address is <strong>https:\/\/bank\.example\.com<\/strong>/)
    const links = [...text.matchAll(/ href="([^"]*)"/g)].map(([, href = '']) => href)
    const led = links.filter((href) => !href.startsWith('/assets/') && href !== '#main')
    assert.deepEqual(
      led.map((href) => new URL(href).origin),
      [bank.base, bank.base],
    )
    assert.doesNotMatch(text, /<script/)
    for (const href of links.filter((one) => one.startsWith('/assets/'))) {
      assert.equal((await jar().get(href, { host })).status, 200, href)
    }
  }
  const posted = await jar().post('/sign-in', {}, { host })
  assert.equal(posted.status, 400)
  assert.match(posted.text, /<a href="https:\/\/bank\.example\.com\/">Go there<\/a>/)
})

test('off loopback only the configured origins post', async (t) => {
  const { enter } = await open(t)
  const jar = await enter()
  const host = 'bank.example.com'
  const { hidden } = await jar.get('/', { host })
  for (const origin of [
    'http://bank.example.com',
    'https://bank.example.com:8443',
    'http://localhost',
  ]) {
    assert.equal((await jar.post('/sign-out', hidden, { host, origin })).status, 403, origin)
  }
  assert.equal((await jar.post('/sign-out', hidden, { host, origin: bank.auth })).status, 303)
})

test('413, 415, 400: bodies that are no form of ours are refused with a page', async (t) => {
  const { jar, name, failures, url } = await open(t)
  const long = await jar().post('/sign-in', { email: 'x'.repeat(17_000) }, name)
  assert.equal(long.status, 413)
  const json = await jar().post('/sign-in', {}, { ...name, 'content-type': 'application/json' })
  assert.equal(json.status, 415)
  assert.match(json.text, /x-www-form-urlencoded/)
  const empty = await request(`${url}/sign-in`, { method: 'POST', headers: name })
  assert.equal(empty.statusCode, 403, 'without a body there is no token')
  await empty.body.dump()
  assert.deepEqual(failures, [])
})

test('503: while the store is away a page asks for patience, and a form says that its change may have been made', async (t) => {
  const away = () => Promise.reject(new StoreUnavailableError('PostgreSQL does not answer'))
  const agents = { list: async () => [], disconnect: away }
  const { enter, name, failures, store } = await open(t, { agents })
  const jar = await enter()
  const { hidden } = await jar.get('/agents', name)
  const answer = await jar.post(
    '/agents/disconnect',
    { ...hidden, grant: 'g1', decision: 'confirm' },
    name,
  )
  assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '5'])
  assert.match(answer.text, /Temporarily unavailable.*look first whether your change is there/s)
  t.mock.method(store.sessions, 'find', away)
  const page = await jar.get('/agents', name)
  assert.deepEqual([page.status, page.headers['retry-after']], [503, '5'])
  assert.match(page.text, /Try again shortly\.</)
  assert.equal(failures.length, 2)
})

test('F29: 500: a failure of ours is reported with its cause, and the page says nothing of it but the id of the request', async (t) => {
  const { enter, name, place, failures, failedRequests, store } = await open(t)
  const jar = await enter()
  const db = new DatabaseSync(join(place.dataDir, 'tributary.db'))
  db.exec('alter table sessions rename to lost')
  db.close()
  const answer = await jar.get('/', name)
  assert.equal(answer.status, 500)
  assert.doesNotMatch(answer.text, /sessions|sqlite|SELECT|\.ts/i)
  assert.equal(failures.length, 1)
  assert.match(String(failures[0]), /sessions/)
  assert.ok(answer.text.includes(`For the operator: request ${failedRequests[0]}.`))
  assert.equal(answer.headers['x-request-id'], failedRequests[0])
  assert.notEqual(store, null)
})

test('a page is for GET and a form for POST; nothing else answers', async (t) => {
  const { url, name } = await open(t)
  const ask = async (
    method: 'GET' | 'HEAD' | 'PUT' | 'DELETE' | 'OPTIONS' | 'POST',
    path: string,
  ) => {
    const answer = await request(url + path, { method, headers: { host: name.host } })
    await answer.body.dump()
    return answer.statusCode
  }
  for (const path of ['/', '/sign-in', '/sign-up', '/agents', '/consent/x']) {
    for (const method of ['HEAD', 'PUT', 'DELETE', 'OPTIONS'] as const) {
      assert.equal(await ask(method, path), 404, `${method} ${path}`)
    }
  }
  assert.equal(await ask('GET', '/sign-out'), 404)
  assert.equal(await ask('POST', '/'), 404)
  assert.equal(await ask('GET', '/sign-in/'), 404)
})

test('assets come from this server, are kept for ever and never sniffed', async (t) => {
  const { jar, name } = await open(t)
  const { text } = await jar().get('/', name)
  const paths = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(
    ([, path]) => path ?? '',
  )
  assert.equal(new Set(paths).size, 5)
  for (const path of paths) {
    const answer = await jar().get(path, name)
    assert.equal(answer.status, 200)
    assert.match(String(answer.headers['cache-control']), /immutable/)
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    const types = { css: 'text/css', svg: 'image/svg+xml', png: 'image/png', js: 'text/javascript' }
    const [, ending = ''] = path.split('.')
    const wanted = Object.entries(types).find(([name]) => name === ending)?.[1]
    assert.equal(String(answer.headers['content-type']).split(';')[0], wanted)
    assert.doesNotMatch(answer.text, /https?:\/\/(?!www\.w3\.org|picocss\.com|github\.com)/)
  }
  const absolute = text.match(/(?:href|src|action)="(?!\/)[^"]*"/g)
  assert.deepEqual(absolute, ['href="#main"'])
})

test('the style sheets and the script weigh less than 20 KB over the wire, and a client without gzip gets them plain', async (t) => {
  const { jar, name } = await open(t)
  const { text } = await jar().get('/sign-in', name)
  const paths = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(
    ([, path]) => path ?? '',
  )
  let weight = 0
  // Browsers ask for the picture of the home screen only when somebody puts the page there.
  for (const path of new Set(paths.filter((one) => !one.endsWith('.png')))) {
    const packed = await jar().get(path, { ...name, 'accept-encoding': 'gzip, br' })
    assert.equal(packed.headers['content-encoding'], 'gzip', path)
    assert.equal(packed.headers.vary, 'Accept-Encoding')
    weight += Number(packed.headers['content-length'])
    const plain = await jar().get(path, name)
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.equal(Number(plain.headers['content-length']), Buffer.byteLength(plain.text))
  }
  assert.ok(weight < 20_000, `${weight} bytes`)
  // A page contains what a visitor typed beside tokens, so its length must not reveal whether they have parts
  // in common.
  const page = await jar().get('/sign-in', { ...name, 'accept-encoding': 'gzip, br' })
  assert.equal(page.headers['content-encoding'], undefined)
})

test('a redirect address cannot add a directive to the policy of the consent page', async (t) => {
  const base = {
    uid: 'u1',
    clientName: 'Probe',
    redirectHost: 'x.test',
    scopes: ['mcp:read'] as const,
  }
  const policyFor = async (formAction: string) => {
    const { enter, name } = await open(t, { consent: requestsWith({ ...base, formAction }) })
    const jar = await enter()
    const page = await jar.get('/consent/u1', name)
    assert.equal(page.status, 200)
    return String(page.headers['content-security-policy'])
  }
  assert.match(
    await policyFor('https://x.test'),
    /; form-action 'self' https:\/\/x\.test; base-uri/,
  )
  assert.match(await policyFor('cursor:'), /; form-action 'self' cursor:; base-uri/)
  assert.match(await policyFor('http://*:5000'), /; form-action 'self' http:\/\/\*:5000; base-uri/)
  const broad = ['*', 'http://*', 'https://*:5000', "'unsafe-inline'", 'x, y']
  for (const bad of [...broad, "https://x.test; script-src 'unsafe-inline'"]) {
    assert.match(await policyFor(bad), /; form-action 'self'; base-uri/, bad)
  }
})

test('the form of one request never decides another: its page has to be that of the cookie', async (t) => {
  const waiting = {
    uid: 'u1',
    clientName: 'P',
    redirectHost: 'x',
    scopes: ['mcp:read'] as const,
    formAction: 'https://x.test',
  }
  const { enter, name } = await open(t, { consent: requestsWith(waiting) })
  const jar = await enter()
  const { hidden } = await jar.get('/consent/u1', name)
  assert.equal((await jar.get('/consent/u2', name)).status, 400)
  const form = { ...hidden, scope: 'mcp:read', decision: 'allow' }
  assert.equal((await jar.post('/consent/u2', form, name)).status, 400)
  assert.equal((await jar.post('/consent/u1', form, name)).location, '/authorize/resumed')
})
