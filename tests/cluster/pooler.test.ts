/**
 * PgBouncer between Tributary and PostgreSQL: in session mode nothing changes, in the other modes no store
 * opens. Where it is not installed, a connection without it is judged alone.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { Client } from 'pg'
import type { Installation } from '#doctor/configuration.ts'
import { checkStore } from '#doctor/storage.ts'
import { makePool } from '#store/engine/postgres-pool.ts'
import { openStore } from '#store/open-store.ts'
import { keyA } from '#tests/contract/store/place.ts'
import { makePostgresGround, type PostgresGround, type PostgresPlace } from './postgres-place.ts'

const isInstalled = spawnSync('pgbouncer', ['--version']).error === undefined

let ground: PostgresGround
before(async () => {
  ground = await makePostgresGround()
})
after(() => ground.remove())

interface Pooler {
  readonly url: string
  readonly place: PostgresPlace
  /** Changes its settings while it runs. */
  readonly change: (lines: readonly string[]) => void
}

/** Starts PgBouncer over a schema of its own; the test ends it. */
async function startPooler(t: TestContext, lines: readonly string[]): Promise<Pooler> {
  const place = await ground.makePlace()
  t.after(() => place.remove())
  const folder = mkdtempSync(join(tmpdir(), 'tributary-pooler-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const port = await findFreePort()
  const {
    hostname,
    port: serverPort,
    username,
    password,
    pathname,
    searchParams,
  } = new URL(place.databaseUrl)
  const [, schema = ''] = /search_path=(\w+)/.exec(searchParams.get('options') ?? '') ?? []
  const parts = [
    `host=${hostname} port=${serverPort || 5432} dbname=${pathname.slice(1)} user=${username}`,
    ...(password === '' ? [] : [`password=${password}`]),
    `connect_query='set search_path to ${schema}'`,
  ]
  const file = join(folder, 'pgbouncer.ini')
  const write = (more: readonly string[]) =>
    writeFileSync(file, `${[...settings, ...more].join('\n')}\n`)
  const settings = [
    '[databases]',
    `money = ${parts.join(' ')}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any`,
    // What a session was given is taken back by a reset, the search path too.
    `server_reset_query = discard all; set search_path to ${schema}`,
  ]
  write(lines)
  // It refuses to run as root.
  chmodSync(folder, 0o755)
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn('pgbouncer', ['-q', ...asUser, file], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const url = `postgresql://someone@127.0.0.1:${port}/money`
  await waitUntilAnswered(url)
  const change = (more: readonly string[]) => {
    write(more)
    child.kill('SIGHUP')
  }
  return { url, place, change }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function waitUntilAnswered(url: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const client = new Client({ connectionString: url })
    const isUp = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end().catch(() => {})
    if (isUp) return
    assert.ok(tries < 100, 'PgBouncer does not answer')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const open = (databaseUrl: string) =>
  openStore({ databaseUrl, dataDir: '/unused', mode: 'live', encryptionKeys: [keyA] })

/** What the server says of the limits of one connection of the pool. */
async function readLimits(databaseUrl: string): Promise<unknown[]> {
  const pool = makePool(databaseUrl)
  const client = await pool.connect()
  const show = async (name: string) => (await client.query(`show ${name}`, [])).rows[0]
  const limits = [
    await show('statement_timeout'),
    await show('idle_in_transaction_session_timeout'),
  ]
  client.release()
  await pool.end()
  return limits.map((row) => Object.values(row as object)[0])
}

test('every connection has the limits of the server, with a pooler in session mode and without', async (t) => {
  const place = await ground.makePlace()
  t.after(() => place.remove())
  assert.deepEqual(await readLimits(place.databaseUrl), ['10s', '30s'])
  if (!isInstalled) return
  const { url } = await startPooler(t, ['pool_mode = session'])
  assert.deepEqual(await readLimits(url), ['10s', '30s'])
})

test('through a pooler in session mode a store opens, and one process hears of the changes of another', async (t) => {
  if (!isInstalled) return
  const { url } = await startPooler(t, ['pool_mode = session', 'default_pool_size = 40'])
  const [one, other] = [await open(url), await open(url)]
  try {
    const heard = new Promise<unknown>((resolve) => other.onChange(resolve))
    const user = await one.users.create({
      email: 'person@example.test',
      timezone: null,
      plan: 'professional',
      status: 'active',
      legacyUntil: null,
      grandfathered: false,
      createdAt: Date.now(),
    })
    assert.ok(user !== 'taken')
    await one.users.setTimezone(user.id, 'Australia/Perth')
    assert.deepEqual(await heard, { userId: user.id })
  } finally {
    await one.close()
    await other.close()
  }
})

test('the doctor has an error when a pooler changes the session under a store that is open', async (t) => {
  if (!isInstalled) return
  const { url, change } = await startPooler(t, ['pool_mode = session'])
  const store = await open(url)
  t.after(() => store.close())
  const clock = { now: () => Date.now() }
  const find = async () => {
    const check = checkStore({ store, clock, installation: { hasDatabase: true } as Installation })
    const [found] = await check(new AbortController().signal)
    return found
  }
  for (let times = 0; times < 3; times += 1) assert.equal((await find())?.status, 'ok')
  change(['pool_mode = transaction'])
  let found = await find()
  for (let tries = 0; tries < 50 && found?.status === 'ok'; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    found = await find()
  }
  assert.equal(found?.status, 'error')
  assert.match(found?.message ?? '', /^the pooler in front of PostgreSQL changes the session/)
  assert.equal((await find())?.status, 'error')
})

for (const lines of [
  ['pool_mode = transaction'],
  ['pool_mode = transaction', 'default_pool_size = 1'],
  ['pool_mode = transaction', 'server_round_robin = 1', 'min_pool_size = 2'],
  ['pool_mode = transaction', 'server_round_robin = 1', 'min_pool_size = 5'],
  ['pool_mode = statement'],
  ['pool_mode = statement', 'server_round_robin = 1', 'min_pool_size = 3'],
]) {
  test(`no store opens through a pooler that changes the session: ${lines.join(', ')}`, async (t) => {
    if (!isInstalled) return
    const { url, place } = await startPooler(t, lines)
    // The sessions of the pool are there.
    await Promise.all([1, 2, 3].map(() => waitUntilAnswered(url)))
    await assert.rejects(open(url), { name: 'StoreOpenError', reason: 'shared_session' })
    const tables = await place.ask('select 1 from pg_tables where schemaname = current_schema()')
    assert.equal(tables.length, 0)
  })
}
