/**
 * A copy that is killed at random moments, on its own side and on PostgreSQL's: until it has finished no
 * service opens the database, and the copy that follows has every row.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { StoreOpenError } from '#store/failure.ts'
import { openStore } from '#store/open-store.ts'
import { keyA, makeSqlitePlace } from '#tests/contract/store/place.ts'
import { type CopyEnding, type CopyProcess, startCopy } from './copy-command.ts'
import { until } from './fleet.ts'
import { makePostgresServer, type PostgresServer } from './postgres-server.ts'

/** Copies that are cut off in each way, and the copies that may finish before it. */
const cuts = 3
const maxRounds = 20
const source = makeSqlitePlace()
let server: PostgresServer
let whole: Whole

/** What an undisturbed copy says, and how long it takes from its mark on. */
interface Whole {
  readonly tables: unknown
  readonly ms: number
}

before(async () => {
  server = await makePostgresServer()
  await (await source.open()).close()
  fill()
  await ask('create database whole')
  const startedAt = performance.now()
  const { code, out, err } = await startCopy(urlOf('whole'), environment(), '--json').ended
  assert.equal(code, 0, err)
  whole = { tables: listTables(out), ms: performance.now() - startedAt }
})

after(async () => {
  await server?.close()
  await source.remove()
})

const environment = () => ({
  DATA_DIR: source.dataDir,
  ENCRYPTION_KEY: Buffer.from(keyA).toString('base64'),
})

/** Enough rows for a copy of some seconds. */
function fill(): void {
  const db = new DatabaseSync(join(source.dataDir, 'tributary.db'))
  db.exec(`
    pragma foreign_keys = on;
    begin;
    create temp table numbers as
      with recursive counted(n) as (select 1 union all select n + 1 from counted where n < 20000)
      select n, printf('00000000-0000-4000-8000-%012d', n) as id from counted;
    insert into users (id, email, email_lower, plan_status, grandfathered, epoch, created_at)
      select id, id, id, 'active', 0, n, '2026-11-20T03:15:00.123Z' from numbers;
    insert into logins (id, user_id, provider, upstream_user_id, version)
      select id, id, 'akahu', id, 1 from numbers;
    insert into connections (id, user_id, login_id, provider, upstream_id, institution_id,
        institution_name, status, created_at)
      select id, id, id, 'akahu', id, 'bank', 'Bank', 'active', '2026-11-20T03:15:00.123Z' from numbers;
    insert into accounts (id, connection_id, user_id, upstream_id, name, type, currency, hidden)
      select id, id, id, id, 'Everyday', 'savings', 'NZD', 0 from numbers;
    insert into ledger_months select id, 24310, randomblob(642) from numbers;
    commit`)
  db.close()
}

function urlOf(database: string): string {
  const url = new URL(server.url)
  url.pathname = `/${database}`
  return url.href
}

/** A statement of the server's own database. */
async function ask(sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: server.url, connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** Without the table of facts about the store, to which each copy adds its time. */
function listTables(out: string): unknown {
  const { tables } = JSON.parse(out) as { readonly tables: readonly { readonly name: string }[] }
  return tables.filter(({ name }) => name !== 'meta')
}

/** Why a service does not open the database; null when it does. */
async function findRefusal(databaseUrl: string): Promise<string | null> {
  try {
    const encryptionKeys = [keyA]
    const store = await openStore({ databaseUrl, dataDir: '', mode: 'live', encryptionKeys })
    await store.close()
    return null
  } catch (error) {
    if (error instanceof StoreOpenError) return error.reason
    throw error
  }
}

type Kill = (copy: CopyProcess, database: string) => Promise<void>

/** Disturbs copies of one kind, and lets the last one finish. */
async function disturb(database: string, kill: Kill): Promise<void> {
  await ask(`create database ${database}`)
  const url = urlOf(database)
  let cut = 0
  let wholeMs = whole.ms
  for (let round = 0; round < maxRounds && cut < cuts; round += 1) {
    const startedAt = performance.now()
    const copy = startCopy(url, environment(), '--json')
    const finished = copy.ended.then(() => true)
    const isOver = await Promise.race([finished, sleep(wholeMs * Math.random(), false)])
    if (!isOver) await kill(copy, database)
    const ending = await copy.ended
    const ms = performance.now() - startedAt
    await until('the server takes connections', () =>
      ask('select 1').then(
        () => true,
        () => false,
      ),
    )
    if (ending.code === 0) {
      // It had finished before; what is there stays. The machine may be faster than it was.
      wholeMs = ms
      await ask(`drop database ${database} with (force)`)
      await ask(`create database ${database}`)
      continue
    }
    cut += 1
    isCutCleanly(ending)
    await refuses(database)
  }
  const { code, out, err } = await startCopy(url, environment(), '--json').ended
  if (code !== 0) assert.match(err, /holds a finished copy/)
  else assert.deepEqual(listTables(out), whole.tables)
  assert.equal(cut, cuts, 'copies that were cut off')
  assert.equal(await findRefusal(url), null)
  const counted = `select count(*) as count from accounts`
  const client = new Client({ connectionString: url })
  await client.connect()
  assert.equal((await client.query(counted)).rows[0]?.count, '20000')
  await client.end()
}

/** A copy that was not killed itself says what happened, in one JSON document. */
function isCutCleanly({ code, err, out }: CopyEnding): void {
  assert.equal(out, '')
  if (code === null) return
  assert.equal(code, 1)
  const { error } = JSON.parse(err) as { error: { message: string; details?: string[] } }
  assert.match(error.message, /PostgreSQL|terminat/)
}

/** Before the mark the database is empty, which a service would take for a new one: it is not opened here. */
async function refuses(database: string): Promise<void> {
  const client = new Client({ connectionString: urlOf(database) })
  await client.connect()
  const { rows } = await client.query(`select relname from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname`)
  await client.end()
  const tables = rows.map(({ relname }) => String(relname))
  if (tables.length === 0) return
  if (tables.length > 1) {
    // The commit was done, and its answer was lost.
    assert.equal(await findRefusal(urlOf(database)), null)
    await ask(`drop database ${database} with (force)`)
    await ask(`create database ${database}`)
    return
  }
  assert.deepEqual(tables, ['schema_migrations'])
  assert.equal(await findRefusal(urlOf(database)), 'unfinished_copy')
}

const findBackends = async (database: string): Promise<readonly number[]> => {
  const rows = await ask(`select pid from pg_stat_activity where datname = '${database}'
    and application_name = 'tributary store copy'`)
  return rows.map(({ pid }) => Number(pid))
}

test('kill -9 of the copying process leaves no database that a service opens, and the next copy is whole', async () => {
  await disturb('killed_copy', async ({ child }) => {
    child.kill('SIGKILL')
  })
})

test('the loss of the connection leaves no database that a service opens, and the next copy is whole', async () => {
  await disturb('lost_connection', async (_copy, database) => {
    for (const pid of await findBackends(database)) await ask(`select pg_terminate_backend(${pid})`)
  })
})

test('kill -9 of the server process leaves no database that a service opens, and the next copy is whole', async () => {
  await disturb('killed_server', async (_copy, database) => {
    for (const pid of await findBackends(database)) process.kill(pid, 'SIGKILL')
  })
})

test('a crash of the whole server leaves no database that a service opens, and the next copy is whole', async () => {
  await disturb('crashed_server', async () => {
    await server.stop('immediate')
    await server.start()
  })
})
