/** The doctor on a cluster install: PostgreSQL and Redis healthy, read-only and unavailable. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { makeStillClock, type Service, startService } from '#tests/support/service.ts'
import { makePostgresServer, type PostgresServer } from './postgres-server.ts'
import { makeRedisServer, type RedisServer } from './redis-server.ts'

let postgres: PostgresServer
let redis: RedisServer
let service: Service
let dataDir: string
// Half an hour from the time of the database server, which uses the machine's clock.
const clock = makeStillClock(Date.now() - 1_800_000)

before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tributary-doctor-'))
  postgres = await makePostgresServer()
  redis = await makeRedisServer()
  await redis.start()
  service = await startService({
    clock,
    dataDir,
    env: {
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      ENCRYPTION_KEY: Buffer.alloc(32, 9).toString('base64'),
    },
  })
})
after(async () => {
  await service?.close()
  await redis?.close()
  await postgres?.close()
  await rm(dataDir, { recursive: true, force: true })
})

interface Finding {
  readonly name: string
  readonly status: string
  readonly message: string
  readonly action: string | null
}

async function examine() {
  const response = await fetch(`${service.adminUrl}/admin/doctor`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  assert.equal(response.status, 200)
  const { status, checks } = (await response.json()) as { status: string; checks: Finding[] }
  const find = (name: string) => {
    const found = checks.find((check) => check.name === name)
    assert.ok(found, `${name} was looked at`)
    return found
  }
  return { status, find }
}

async function inDatabase(sql: string): Promise<void> {
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

test('PostgreSQL and Redis that answer are ok, and a database clock that differs is a warning', async () => {
  const { find } = await examine()
  assert.equal(find('store').status, 'ok')
  assert.match(find('store').message, /^PostgreSQL \d+.* accepts writes/)
  assert.equal(find('fast-state').status, 'ok')
  const time = find('clock:database')
  assert.equal(time.status, 'warning')
  assert.match(time.message, /the database server is 1\d{3} s ahead of ours/)
})

test('an unavailable Redis is an error that names its variable, and ok when it answers again', async () => {
  await redis.kill()
  const away = (await examine()).find('fast-state')
  assert.equal(away.status, 'error')
  assert.match(away.action ?? '', /REDIS_URL/)
  await redis.start()
  const deadline = performance.now() + 15_000
  while ((await examine()).find('fast-state').status !== 'ok') {
    assert.ok(performance.now() < deadline, 'Redis is used again')
  }
})

test('a Redis that may drop limits is a warning that says what to set', async () => {
  await redis.call('CONFIG', 'SET', 'maxmemory', '100mb')
  await redis.call('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  const found = (await examine()).find('fast-state')
  assert.equal(found.status, 'warning')
  assert.match(found.message, /REDIS_URL drops keys by allkeys-lru/)
  assert.match(found.action ?? '', /noeviction.*REDIS_CACHE_URL/)
  await redis.call('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
  assert.equal((await examine()).find('fast-state').status, 'ok')
})

test('a read-only PostgreSQL and an unavailable one are errors whose messages say which', async () => {
  await inDatabase('alter database postgres set default_transaction_read_only = on')
  await inDatabase(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tributary'",
  )
  // The cut connections may still be in the pool for a moment: the first look can meet one of them.
  let standby = (await examine()).find('store')
  for (let look = 0; look < 20 && !standby.message.includes('read-only'); look += 1) {
    await sleep(250)
    standby = (await examine()).find('store')
  }
  assert.equal(standby.status, 'error')
  assert.match(standby.message, /read-only/)
  await postgres.stop('fast')
  const { status, find } = await examine()
  assert.equal(status, 'error')
  assert.match(find('store').action ?? '', /DATABASE_URL/)
  assert.deepEqual(
    [find('connections').message, find('connections').action],
    [`it needs the store: ${find('store').message}`, find('store').action],
  )
  assert.equal(find('provider:fiskil').status, 'ok')
})
