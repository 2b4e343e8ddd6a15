/**
 * Two versions side by side on one PostgreSQL and one Redis, for as long as a deployment takes: what is made
 * on either is good on the other (docs/decisions/0018-expand-and-contract.md).
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { systemClock } from '#kernel/time.ts'
import { startSandbox } from '#sandbox/start.ts'
import { countMigrations } from '#store/engine/migrate.ts'
import { makeJar } from '#tests/support/jar.ts'
import { providersOf, until } from './fleet.ts'
import { makeNewer, takeOut } from './other-version.ts'
import { makePostgresGround } from './postgres-place.ts'
import { makeRedisServer } from './redis-server.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

/**
 * The oldest version that runs beside this one: older ones write a column that migration 0013 takes away.
 * Once there are releases, the last one.
 */
const oldest = '8362e1e9f9fb7c510ae9e845965d52a66a88e06d'
const password = 'correct horse battery'

async function setStage(t: TestContext) {
  const ground = await makePostgresGround()
  const place = await ground.makePlace()
  const redis = await makeRedisServer()
  await redis.start()
  const sandbox = await startSandbox({ clock: systemClock })
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-rolling-'))
  const servers: ServerProcess[] = []
  t.after(async () => {
    for (const server of servers) await server.stop('SIGKILL')
    await sandbox.close()
    await redis.close()
    await ground.remove()
    await rm(dataDir, { recursive: true, force: true })
  })
  const environment = {
    // The oldest version has no settings of other providers.
    ...Object.fromEntries(
      Object.entries(providersOf(sandbox)).filter(([name]) => name.startsWith('FISKIL_')),
    ),
    DATABASE_URL: place.databaseUrl,
    REDIS_URL: redis.url,
    DATA_DIR: dataDir,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ROLE: 'all',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    WEBHOOK_RETRY_SCHEDULE: '0,1,1,1,1,1,1,1,1,1',
  }
  const start = async (main?: string) => {
    const server = await startServerProcess(environment, main)
    servers.push(server)
    return server
  }
  return { place, sandbox, start }
}

/** Accepts what it gets, and remembers it by the path of the endpoint. */
async function startReceiver(t: TestContext) {
  const received: { path: string; type: string; newCount: number }[] = []
  const server = createServer(async (request, response) => {
    const { type, metadata } = JSON.parse((await buffer(request)).toString())
    received.push({ path: String(request.url), type, newCount: metadata?.new_count })
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return { received, url: `http://127.0.0.1:${port}` }
}

interface Made {
  readonly email: string
  readonly userId: string
  readonly key: string
  readonly keyId: string
  readonly connectionId: string
}

let people = 0

/** A person with a key, a bank and an endpoint, all made by one process. */
async function makePerson(server: ServerProcess, endUserId: string, url: string): Promise<Made> {
  people += 1
  const email = `person-${people}@example.test`
  const user = await server.admin('POST', '/users', { email, password, plan: 'professional' })
  const userId: string = user.body.id
  const key = await server.admin('POST', `/users/${userId}/keys`, {})
  await server.admin('POST', `/users/${userId}/webhooks`, { url: `${url}/${email}` })
  const path = `/users/${userId}/connections`
  const linked = await server.admin('POST', path, { provider: 'fiskil', endUserId })
  const [connection] = linked.body.connections
  return { email, userId, key: key.body.key, keyId: key.body.id, connectionId: connection.id }
}

/** Everything that the person has is good on this process. */
async function isServed(server: ServerProcess, { email, key }: Made): Promise<void> {
  const jar = makeJar(server.baseUrl)
  const { hidden } = await jar.get('/sign-in')
  assert.equal((await jar.post('/sign-in', { ...hidden, email, password })).status, 303)
  const accounts = await server.get('/v1/accounts', key)
  assert.equal(accounts.status, 200, accounts.text)
  const [{ connectionId, id }] = accounts.body.data
  const rows = await server.get(
    `/v1/transactions?connectionId=${connectionId}&accountId=${id}`,
    key,
  )
  assert.equal(rows.status, 200, rows.text)
}

/** The older version reads what the newer one recorded, and the newer one says what the older one did. */
async function isAuditedAlike(
  [old, newer]: readonly [ServerProcess, ServerProcess],
  { email, userId }: Made,
): Promise<void> {
  const readAudit = async (server: ServerProcess) => {
    const { body } = await server.admin('GET', `/audit?user=${userId}`)
    return body.data.map(({ address: _unknown, ...row }: Record<string, unknown>) => row)
  }
  const rows = await readAudit(newer)
  assert.deepEqual(rows, await readAudit(old))
  assert.ok(rows.length >= 4, 'the user, the key, the endpoint and the connection')
  const jar = makeJar(newer.baseUrl)
  const { hidden } = await jar.get('/sign-in')
  await jar.post('/sign-in', { ...hidden, email, password })
  const { text } = await jar.get('/activity')
  assert.match(text, />Created this account</)
  assert.match(text, />Created the API key “API key”</)
  assert.match(text, />Added the webhook endpoint 127\.0\.0\.1:\d+</)
  assert.match(text, />Linked [^<]*Wattle Bank/)
}

const sync = async (server: ServerProcess, { connectionId }: Made) =>
  (await server.admin('POST', `/connections/${connectionId}/sync`)).body

test('an older version that runs goes on while newer processes start and migrate once, and each serves what the other made', async (t) => {
  const older = await takeOut(oldest)
  t.after(() => older.remove())
  const { place, sandbox, start } = await setStage(t)
  const receiver = await startReceiver(t)
  const { endUserId } = sandbox.fiskil.people.healthy
  const old = await start(older.main)
  const first = await makePerson(old, endUserId, receiver.url)
  await isServed(old, first)
  await until('the first rows arrive', () => hasNews(receiver, first))
  const [{ count: known } = {}] = await place.ask('select count(*) from schema_migrations')

  const [one, two] = await Promise.all([start(), start()])
  const updates = [one, two].map(({ output }) =>
    output.filter((line) => line.includes('the schema was brought up to date')),
  )
  const expected = Number(known) < countMigrations() ? 1 : 0
  assert.equal(updates.flat().length, expected, 'the schema is migrated once')
  const second = await makePerson(one, endUserId, receiver.url)
  await until('its first rows arrive', () => hasNews(receiver, second))
  for (const server of [old, one, two])
    for (const person of [first, second]) {
      await isServed(server, person)
      const { newCount, updatedCount } = await sync(server, person)
      assert.deepEqual([newCount, updatedCount], [0, 0], 'either reads the ledger of the other')
    }
  for (const person of [first, second]) await isAuditedAlike([old, one], person)
  await one.admin('DELETE', `/keys/${first.keyId}`)
  await until('the key is refused', async () => (await askAccounts(old, first)).status === 401)
  await old.admin('DELETE', `/keys/${second.keyId}`)
  await until('the key is refused', async () => (await askAccounts(two, second)).status === 401)

  // Only one version is left to deliver, and then the other.
  await two.stop('SIGTERM')
  await one.stop('SIGTERM')
  const before = countOf(receiver, second.email)
  await sync(old, second)
  await until('the older delivers', () => countOf(receiver, second.email) > before)
  const last = await start()
  await old.stop('SIGTERM')
  const sent = countOf(receiver, first.email)
  await sync(last, first)
  await until('the newer delivers', () => countOf(receiver, first.email) > sent)
})

test('this version runs on, and starts again, on a schema to which a newer one has added; not where that needs newer code', async (t) => {
  const known = countMigrations()
  const nameOf = (number: number, what: string) => `${String(number).padStart(4, '0')}_${what}.sql`
  const expand = {
    [nameOf(known + 1, 'expand')]:
      '-- A step that only adds.\n\nalter table users add column shoe_size integer;\n\n' +
      'create table shoes (user_id uuid not null primary key references users (id) on delete cascade);\n',
  }
  const contract = {
    [nameOf(known + 2, 'contract')]:
      `-- A step that takes away.\n-- Needs: ${String(known + 1).padStart(4, '0')}\n\nalter table connections drop column institution_logo;\n`,
  }
  const [newer, newest] = await Promise.all([
    makeNewer(expand),
    makeNewer({ ...expand, ...contract }),
  ])
  t.after(() => Promise.all([newer.remove(), newest.remove()]))
  const { sandbox, start } = await setStage(t)
  const receiver = await startReceiver(t)
  const { endUserId } = sandbox.fiskil.people.healthy
  const running = await start()
  const first = await makePerson(running, endUserId, receiver.url)
  await isServed(running, first)
  const next = await start(newer.main)
  const second = await makePerson(next, endUserId, receiver.url)
  const again = await start()
  const warned = (server: ServerProcess) =>
    server.output.some((line) => line.includes('the schema is of a newer version'))
  assert.deepEqual([running, next, again].map(warned), [false, false, true])
  for (const server of [running, next, again])
    for (const person of [first, second]) await isServed(server, person)
  for (const person of [first, second]) {
    await until('rows arrive', () => hasNews(receiver, person))
    assert.equal((await sync(again, person)).newCount, 0)
  }
  await running.stop('SIGTERM')
  await again.stop('SIGTERM')
  // Prepares the schema in the transaction of its start; what it serves is of no interest.
  await start(newest.main).then((server) => server.stop('SIGTERM'))
  await assert.rejects(
    start(),
    /the store was made by a newer version \(migration \d{4}_contract\)/,
  )
  assert.ok(warned(await start(newer.main)), 'what knows the step before starts')
})

type Receiver = Awaited<ReturnType<typeof startReceiver>>

const countOf = ({ received }: Receiver, email: string) =>
  received.filter(({ path }) => path === `/${email}`).length

const hasNews = ({ received }: Receiver, { email }: Made) =>
  received.some(({ path, newCount }) => path === `/${email}` && newCount > 0)

const askAccounts = (server: ServerProcess, { key }: Made) => server.get('/v1/accounts', key)
