/**
 * PostgreSQL that runs but does not let us in: every door answers 503 with `Retry-After`, the doctor names
 * role and database, and the service continues without a restart when it is admitted again. A healthy install
 * has no folder to examine.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { newToken } from '#auth/sign-in/sessions.ts'
import { startProcess } from '#tests/support/process.ts'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'
import { makePostgresServer, type PostgresServer } from './postgres-server.ts'

const encryptionKey = Buffer.alloc(32, 9).toString('base64')

let folder: string
let postgres: PostgresServer
let databaseUrl: string
let service: Service
let user: ServiceUser

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tributary-refused-'))
  postgres = await makePostgresServer()
  await asOwner('create role app login')
  await asOwner('create database money owner app')
  const url = new URL(postgres.url)
  url.username = 'app'
  url.pathname = '/money'
  databaseUrl = url.href
  service = await startService({
    dataDir: join(folder, 'none'),
    env: {
      DATABASE_URL: databaseUrl,
      ENCRYPTION_KEY: encryptionKey,
      ADMIN_TOKEN: 'trib_admin_token_of_this_test',
    },
  })
})
after(async () => {
  await service?.close()
  await postgres?.close()
  await rm(folder, { recursive: true, force: true })
})

async function asOwner(...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const cutAll =
  "select pg_terminate_backend(pid) from pg_stat_activity where datname in ('money', 'moved')"

async function examine() {
  const response = await fetch(`${service.adminUrl}/admin/doctor`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  assert.equal(response.status, 200)
  const { checks } = (await response.json()) as { checks: Record<string, string>[] }
  return (name: string) => checks.find((check) => check.name === name) ?? {}
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, 'it came about in time')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** One request to each door, none of which can be answered without the store. */
function askEveryDoor(): Promise<Response[]> {
  const key = { authorization: `Bearer ${user.key}` }
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  return Promise.all([
    fetch(`${service.baseUrl}/v1/connections`, { headers: key }),
    fetch(`${service.baseUrl}/mcp`, {
      method: 'POST',
      headers: { ...key, ...json },
      body: JSON.stringify(call),
    }),
    fetch(`${service.baseUrl}/sign-in`, {
      headers: { cookie: `tributary=${newToken()}` },
    }),
    fetch(`${service.adminUrl}/admin/users`, {
      headers: { authorization: `Bearer ${service.adminToken}` },
    }),
    fetch(`${service.adminUrl}/readyz`),
  ])
}

test('a healthy install on PostgreSQL is ok without DATA_DIR; the disk is reported as not examined', async () => {
  assert.equal(existsSync(service.dataDir), false)
  const disk = (await examine())('disk')
  assert.deepEqual([disk.status, disk.action], ['ok', null])
  assert.match(disk.message ?? '', /not examined: the store is in PostgreSQL/)
})

const refusals = [
  {
    how: 'the role may not log in (28000)',
    shut: ['alter role app nologin'],
    open: ['alter role app login'],
    words: /refuses the role "app" \(database "money" at 127\.0\.0\.1:\d+\)/,
  },
  {
    how: 'the database takes no connections (55000)',
    shut: ['alter database money allow_connections false'],
    open: ['alter database money allow_connections true'],
    words: /takes no connections \(database "money"/,
  },
  {
    how: 'the role has no connection left (53300)',
    shut: ['alter role app connection limit 0'],
    open: ['alter role app connection limit -1'],
    words: /no connection left/,
  },
  {
    how: 'the database is gone (3D000)',
    shut: [
      'alter database money allow_connections false',
      cutAll,
      'alter database money rename to moved',
    ],
    open: ['alter database moved rename to money', 'alter database money allow_connections true'],
    words: /no such database \(database "money"/,
  },
  {
    how: 'the right to connect was taken away (42501)',
    shut: [
      'alter database money owner to postgres',
      'revoke connect on database money from public, app',
    ],
    open: ['alter database money owner to app', 'grant connect on database money to public, app'],
    words: /denies the role "app" a right/,
  },
]

for (const { how, shut, open, words } of refusals) {
  test(`${how}: 503 with Retry-After at every door, named by the doctor, and over by itself`, async () => {
    // One that no process has looked up yet: a known one is trusted for a second (reading R27).
    user = await service.createUser()
    await asOwner(...shut, cutAll)
    await until(async () => (await askEveryDoor()).every(({ status }) => status === 503))
    for (const response of await askEveryDoor()) {
      assert.equal(response.status, 503, response.url)
      assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d?$/, response.url)
    }
    const store = (await examine())('store')
    assert.equal(store.status, 'error')
    assert.match(store.message ?? '', words)
    assert.notEqual(store.action, null)
    await asOwner(...open)
    await until(async () => (await askEveryDoor()).every(({ status }) => status === 200))
  })
}

test('sandbox mode on PostgreSQL needs no folder, and names who is refused in one line', async () => {
  const env = {
    DATA_DIR: join(folder, 'sandbox-of-postgres'),
    SANDBOX: 'true',
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEY: encryptionKey,
    ADMIN_TOKEN: 'trib_admin_token_of_this_test',
  }
  const started = startProcess(env)
  await started.ready()
  started.child.kill('SIGTERM')
  assert.equal((await started.ended).code, 0)
  assert.equal(existsSync(join(env.DATA_DIR, 'sandbox')), false)
  const other = new URL(databaseUrl)
  other.username = 'nobody'
  other.password = 'hunter2'
  const refused = await startProcess({ ...env, DATABASE_URL: other.href }).ended
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /^tributary: PostgreSQL refuses the role "nobody" \(database "money"/,
  )
  assert.equal(refused.stderr.trimEnd().split('\n').length, 1)
  assert.doesNotMatch(refused.stderr, /hunter2/)
})
