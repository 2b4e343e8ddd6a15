/**
 * `tributary store copy`: what arrives in PostgreSQL, what is refused, and what a service says of an
 * unfinished copy.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, type TestContext, test } from 'node:test'
import { Client } from 'pg'
import { copyTable } from '#store/copy/copy-table.ts'
import { type CopyStoreOptions, copyStore } from '#store/copy-store.ts'
import { StoreCopyError, StoreOpenError } from '#store/failure.ts'
import { openStore } from '#store/open-store.ts'
import { keyA, keyB, makeSqlitePlace } from '#tests/contract/store/place.ts'
import { addLink, addUser } from '#tests/contract/store/rows.ts'
import { dumpPostgres, dumpSqlite, fillEveryTable } from './copied-rows.ts'
import { makePostgresGround, type PostgresPlace } from './postgres-place.ts'

const ground = await makePostgresGround()
after(() => ground.remove())

/** An embedded store that was opened once and is closed, and an empty place on the server. */
async function setStage(t: TestContext) {
  const source = makeSqlitePlace()
  t.after(() => source.remove())
  await (await source.open()).close()
  const target = await ground.makePlace()
  const copy = (over: Partial<CopyStoreOptions> = {}) =>
    copyStore({
      dataDir: source.dataDir,
      databaseUrl: target.databaseUrl,
      mode: 'live',
      loadKeys: async () => ({ encryptionKeys: [keyA], encryptionKeysIn: 'ENCRYPTION_KEY' }),
      ...over,
    })
  return { source, target, copy }
}

async function isRefused(copying: Promise<unknown>, message: RegExp): Promise<Error> {
  const error = await copying.then(
    () => assert.fail('it was copied'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof StoreCopyError || error instanceof StoreOpenError, String(error))
  assert.match(error.message, message)
  assert.ok(!error.message.includes('\n'))
  return error
}

const isUnfinished = { name: 'StoreOpenError', reason: 'unfinished_copy' }

test('every row of every table is in PostgreSQL as it was, hard values among them, and a service opens it', async (t) => {
  const { source, target, copy } = await setStage(t)
  fillEveryTable(source.dataDir)
  const before = dumpSqlite(source.dataDir)
  const tables = await copy()
  const there = await dumpPostgres(target)
  assert.deepEqual([...there.keys()].sort(), [...before.keys()].sort())
  for (const [table, rows] of before) assert.deepEqual(there.get(table), rows, table)
  assert.deepEqual(
    tables.map(({ name, rows }) => [name, rows]).sort(),
    [...before].map(([name, rows]) => [name, rows.length]).sort(),
  )
  assert.deepEqual(dumpSqlite(source.dataDir), before, 'the embedded store is as it was')
  await (await target.open()).close()
})

test('how a role or a database has values written changes nothing', async (t) => {
  const { source, target, copy } = await setStage(t)
  fillEveryTable(source.dataDir)
  const url = new URL(target.databaseUrl)
  const settings = '-ctimezone=Pacific/Auckland -cdatestyle=German -cbytea_output=escape'
  url.searchParams.set('options', `${url.searchParams.get('options')} ${settings}`)
  await copy({ databaseUrl: url.href.replaceAll('+', '%20') })
  const there = await dumpPostgres(target)
  for (const [table, rows] of dumpSqlite(source.dataDir))
    assert.deepEqual(there.get(table), rows, table)
})

test('a file that is damaged where it is read last is named, with what to do', async (t) => {
  const { source, copy } = await setStage(t)
  fillEveryTable(source.dataDir)
  const path = join(source.dataDir, 'tributary.db')
  const db = new DatabaseSync(path)
  const { page } = db
    .prepare("select rootpage as page from sqlite_schema where name = 'webhook_endpoints'")
    .get() as { page: number }
  db.exec('pragma wal_checkpoint(truncate)')
  db.close()
  const file = openSync(path, 'r+')
  writeSync(file, new Uint8Array(4096).fill(0xff), 0, 4096, (page - 1) * 4096)
  closeSync(file)
  const error = await isRefused(copy(), /tributary\.db: .* is damaged\. .* restore a backup$/)
  assert.match(error.name, /StoreOpenError/)
})

test('a database of an encoding without every character, and one without a schema, are no place for a store', async (t) => {
  const { target, copy } = await setStage(t)
  const name = `latin_${randomUUID().replaceAll('-', '')}`
  await target.ask(`create database ${name} encoding 'LATIN1' locale 'C' template template0`)
  t.after(() => target.ask(`drop database ${name} with (force)`))
  const latin = new URL(target.databaseUrl)
  latin.pathname = `/${name}`
  latin.search = ''
  const nowhere = new URL(target.databaseUrl)
  nowhere.search = '?options=-csearch_path%3Dnowhere'
  for (const [databaseUrl, words] of [
    [latin.href, /has the encoding LATIN1.*createdb --encoding=UTF8/],
    [nowhere.href, /no schema of the search_path exists/],
  ] as const) {
    await isRefused(copy({ databaseUrl }), words)
    const options = {
      databaseUrl,
      dataDir: '/unused',
      mode: 'live',
      encryptionKeys: [keyA],
    } as const
    const opening = openStore(options)
    await isRefused(opening, words)
  }
})

test('the copy has the schema that a new store has: columns, references, indexes', async (t) => {
  const { target, copy } = await setStage(t)
  await copy()
  const fresh = await ground.makePlace()
  await (await fresh.open()).close()
  assert.deepEqual(await describeSchema(target), await describeSchema(fresh))
})

async function describeSchema({ ask }: PostgresPlace): Promise<readonly string[]> {
  const rows = await ask(`
    with ours as (select oid, nspname from pg_namespace
      where nspname in (current_schema(), current_schema() || '_event_keys'))
    select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(c.oid) || convalidated as text
      from pg_constraint c join ours on ours.oid = c.connamespace
    union all
    select pg_get_indexdef(i.indexrelid) || indisvalid from pg_index i
      join pg_class c on c.oid = i.indexrelid join ours on ours.oid = c.relnamespace
    union all
    select attrelid::regclass || '.' || attname || ' ' || format_type(atttypid, atttypmod) || attnotnull
      from pg_attribute a join pg_class c on c.oid = a.attrelid join ours on ours.oid = c.relnamespace
      where attnum > 0 and not attisdropped and c.relkind = 'r'
    union all
    select number || name || checksum from schema_migrations`)
  return rows.map(({ text }) => String(text).replaceAll(/place_\w{32}/g, 'place')).sort()
}

test('what the store reads is the same on both sides, and ids stay', async (t) => {
  const { source, target, copy } = await setStage(t)
  const embedded = await source.open()
  const { user, login, connection } = await addLink(embedded)
  await embedded.close()
  await copy()
  const store = await target.open()
  t.after(() => store.close())
  assert.deepEqual(await store.users.find(user.id), user)
  assert.deepEqual(await store.logins.get(login.id), login)
  assert.deepEqual(await store.connections.find(connection.id), connection)
})

test('while a service has the embedded store, nothing is copied', async (t) => {
  const { source, target, copy } = await setStage(t)
  const running = await source.open()
  const error = await isRefused(copy(), /another process has the store in .* open: stop it/)
  assert.equal((error as StoreOpenError).reason, 'in_use')
  await running.close()
  assert.deepEqual(
    await target.ask('select 1 from pg_class where relnamespace = current_schema()::regnamespace'),
    [],
  )
})

test('no service opens the embedded store while it is copied', async (t) => {
  const { source, copy } = await setStage(t)
  const attempts: Promise<unknown>[] = []
  await copy({
    onProgress: ({ kind }) => {
      if (kind === 'begun') attempts.push(assert.rejects(source.open(), { reason: 'in_use' }))
    },
  })
  assert.equal(attempts.length, 1)
  await Promise.all(attempts)
})

test('another key, another mode and a folder without a store are refused, and the database stays empty', async (t) => {
  const { source, target, copy } = await setStage(t)
  const other = async () => ({ encryptionKeys: [keyB], encryptionKeysIn: 'ENCRYPTION_KEY' })
  await isRefused(copy({ loadKeys: other }), /ENCRYPTION_KEY does not hold every key/)
  await isRefused(copy({ mode: 'sandbox' }), /the store was made in live mode/)
  await isRefused(copy({ dataDir: join(source.dataDir, 'none') }), /there is no embedded store/)
  await copy()
  await (await target.open()).close()
})

test('a store of another version, and one with tables or columns that this version does not know, is refused', async (t) => {
  const { source, target, copy } = await setStage(t)
  await source.tamper("insert into schema_migrations values (9999, '9999_future', 'x')")
  await isRefused(copy(), /newer version/)
  await source.tamper('delete from schema_migrations where number = 9999')
  const last = '(select max(number) from schema_migrations)'
  await source.tamper(
    `create table kept as select * from schema_migrations where number = ${last};
     delete from schema_migrations where number = ${last}`,
  )
  await isRefused(copy(), /start the service of this version on it once/)
  await source.tamper('insert into schema_migrations select * from kept; drop table kept')
  await source.tamper('create table notes (id uuid not null primary key, text text)')
  await isRefused(copy(), /does not know the column id \(uuid\) of the table notes/)
  await source.tamper('drop table notes; alter table users add column shoe_size integer')
  await isRefused(copy(), /does not know the column shoe_size \(integer\) of the table users/)
  await source.tamper(
    'alter table users drop column shoe_size; alter table users add column shoe real',
  )
  await isRefused(copy(), /the column shoe of the table users has the type "real"/)
  await source.tamper('alter table users drop column shoe')
  await copy()
  await (await target.open()).close()
})

test('a value that PostgreSQL cannot hold is refused with its row, and the next copy begins anew', async (t) => {
  const { source, target, copy } = await setStage(t)
  const embedded = await source.open()
  const user = await addUser(embedded)
  await addUser(embedded)
  await embedded.close()
  const change = (sql: string) => {
    const db = new DatabaseSync(join(source.dataDir, 'tributary.db'))
    db.exec(`update users set ${sql} where id = '${user.id}'`)
    db.close()
  }
  const hard = [
    ["name = 'a' || char(0) || 'b'", 'name', "name = 'a'"],
    ['epoch = 2147483648', 'epoch', 'epoch = 1'],
    ['epoch = 1.5', 'epoch', 'epoch = 1'],
    ['grandfathered = 2', 'grandfathered', 'grandfathered = 1'],
    [
      "created_at = '2026-02-30T00:00:00.000Z'",
      'created_at',
      "created_at = '2026-02-28T00:00:00.000Z'",
    ],
    [
      "created_at = '2026-02-28T00:00:00.000001Z'",
      'created_at',
      "created_at = '2026-02-28T00:00:00.000Z'",
    ],
    ["legacy_until = 'soon'", 'legacy_until', 'legacy_until = null'],
  ] as const
  for (const [worse, column, better] of hard) {
    change(worse)
    await isRefused(
      copy(),
      new RegExp(`the column ${column} of the row id = ${user.id} of the table users holds`),
    )
    await assert.rejects(target.open(), isUnfinished)
    change(better)
  }
  await copy()
  const store = await target.open()
  assert.deepEqual((await store.users.find(user.id))?.name, 'a')
  await store.close()
})

test('rows whose references are broken are refused', async (t) => {
  const { source, target, copy } = await setStage(t)
  const embedded = await source.open()
  const { user } = await addLink(embedded)
  await embedded.close()
  await source.tamper(`pragma foreign_keys = off; delete from users where id = '${user.id}'`)
  await isRefused(copy(), /PostgreSQL refused what was copied: .*violates foreign key constraint/)
  await assert.rejects(target.open(), isUnfinished)
})

test('a database with tables, with a store, or with a finished copy is refused and stays as it was', async (t) => {
  const { target, copy } = await setStage(t)
  await target.ask('create table notes (text text)')
  await isRefused(copy(), /the database is not empty \(notes\)/)
  await target.ask('drop table notes; create view notes as select 1')
  await isRefused(copy(), /the database is not empty \(notes\)/)
  await target.ask('drop view notes')
  await copy()
  const before = await dumpPostgres(target)
  await isRefused(copy(), /holds a finished copy, verified on \d{4}-/)
  assert.deepEqual(await dumpPostgres(target), before)
  const used = await ground.makePlace()
  await (await used.open()).close()
  await isRefused(copy({ databaseUrl: used.databaseUrl }), /the database is not empty \(/)
})

test('tables in the schema of the event keys alone are refused too; the empty schema is not', async (t) => {
  const { target, copy } = await setStage(t)
  const [row] = await target.ask('select current_schema() as name')
  await target.ask(`create schema ${row?.name}_event_keys`)
  await target.ask(`create table ${row?.name}_event_keys.event_keys (event_id uuid)`)
  await isRefused(copy(), /the database is not empty \(event_keys\)/)
  await target.ask(`drop table ${row?.name}_event_keys.event_keys`)
  await copy()
})

test('the unfinished copy of another store is refused', async (t) => {
  const one = await setStage(t)
  const other = await setStage(t)
  const { databaseUrl } = one.target
  await leaveUnfinished(one)
  await isRefused(other.copy({ databaseUrl }), /unfinished copy of another store/)
  await one.copy()
  await (await one.target.open()).close()
})

/** A copy that begins, and ends at a row that cannot be copied. */
async function leaveUnfinished({ source, copy }: Awaited<ReturnType<typeof setStage>>) {
  await source.tamper("insert into meta values ('bad', 'a' || char(0))")
  await isRefused(copy(), /the column value of the row name = bad of the table meta/)
  await source.tamper("delete from meta where name = 'bad'")
}

test('a service refuses an unfinished copy at once, also while a copy runs; a second copy waits and is refused', async (t) => {
  const stage = await setStage(t)
  const { target, copy } = stage
  await leaveUnfinished(stage)
  const [{ schema = '' } = {}] = await target.ask('select current_schema() as schema')
  // The lock that a copy holds until its end.
  const holder = new Client({ connectionString: target.databaseUrl })
  await holder.connect()
  await holder.query("select pg_advisory_lock(x'74726962'::int, hashtext($1))", [schema])
  const startedAt = performance.now()
  const refusal = await target.open().then(
    () => assert.fail('it opened'),
    (error: unknown) => error,
  )
  assert.ok(refusal instanceof StoreOpenError)
  assert.equal(refusal.reason, 'unfinished_copy')
  assert.match(refusal.message, /the copy of a store into this database has not finished/)
  assert.ok(performance.now() - startedAt < 10_000)
  await isRefused(copy(), /another process is preparing this database/)
  await holder.end()
  await copy()
  await (await target.open()).close()
})

test('two copies at the same time: one finishes, the other is refused', async (t) => {
  const { target, copy } = await setStage(t)
  const other = await setStage(t)
  const both = await Promise.allSettled([copy(), other.copy({ databaseUrl: target.databaseUrl })])
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  await (await target.open()).close()
})

test('a row that arrives with other bytes, or does not arrive, is noticed', async () => {
  const { databaseUrl, ask } = await ground.makePlace()
  const [{ schema = '' } = {}] = await ask('select current_schema() as schema')
  const source = {
    name: 'notes',
    place: 'store',
    columns: [{ name: 'id', type: 'integer' }],
    keyColumns: ['id'],
    rows: () => [[1], [2], [3]],
  } as const
  const bodies = [
    'return new',
    'new.id := new.id + 1; return new',
    'if new.id = 2 then return null; end if; return new',
  ]
  for (const [index, body] of bodies.entries()) {
    const client = new Client({ connectionString: databaseUrl })
    await client.connect()
    await client.query(`begin; create table notes (id integer primary key);
      create function change() returns trigger language plpgsql as $$ begin ${body}; end $$;
      create trigger change before insert on notes for each row execute function change()`)
    const copying = copyTable({ client, schema: String(schema) }, source, () => {})
    if (index === 0) assert.equal((await copying).rows, 3)
    else await assert.rejects(copying, /the table notes was not copied exactly/)
    await client.end()
  }
})
