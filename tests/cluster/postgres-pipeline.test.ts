/**
 * Statements of a transaction on PostgreSQL that are sent together: their order, their failures, and what is
 * committed.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type RawBuilder, sql } from 'kysely'
import type { Engine, Expectation } from '#store/engine/engine.ts'
import { openPostgres } from '#store/engine/postgres-engine.ts'
import type { Db } from '#store/engine/tables.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import { makePostgresGround, type PostgresPlace } from './postgres-place.ts'

const ground = await makePostgresGround()
let place: PostgresPlace
let engine: Engine

before(async () => {
  place = await ground.makePlace()
  await place.ask('create table notes (id serial primary key, note text unique)')
  engine = await openPostgres(place.databaseUrl, () => {})
})
after(async () => {
  await engine.close()
  await ground.remove()
})
beforeEach(() => place.ask('delete from notes'))

const add = (note: string) => sql`insert into notes (note) values (${note})`
const readNotes = () => sql<{ note: string }>`select note from notes order by id`
const listKept = async () => (await place.ask('select note from notes order by id')).map(noteOf)
const noteOf = ({ note }: Record<string, unknown>) => note
const transact = <Result>(work: (tx: Db) => Promise<Result>) =>
  engine.db.transaction().execute(work)
const later = <Row>(tx: Db, query: RawBuilder<Row>, expected?: Expectation<Row>) =>
  engine.later(tx, query.compile(tx), expected)

test('statements that wait run in their order, before the next one and before the commit', async () => {
  const seen = await transact(async (tx) => {
    for (const note of ['a', 'b', 'c']) await later(tx, add(note))
    const { rows } = await readNotes().execute(tx)
    await later(tx, add('d'))
    return rows.map(noteOf)
  })
  assert.deepEqual(seen, ['a', 'b', 'c'])
  assert.deepEqual(await listKept(), ['a', 'b', 'c', 'd'])
})

test('any number of statements may wait', async () => {
  const notes = Array.from({ length: 70 }, (_, number) => `note ${number}`)
  await transact(async (tx) => {
    for (const note of notes) await later(tx, add(note))
  })
  assert.deepEqual(await listKept(), notes)
})

test('values and rows are those of a statement that does not wait', async () => {
  const at = new Date('2026-03-01T12:34:56.789Z')
  const values = sql`select ${at}::timestamptz as at, ${Buffer.from([0, 255])}::bytea as bytes,
    ${true}::boolean as yes, ${null}::text as none, ${3n}::int8 as big, ${'ä'}::text as text`
  const alone = (await values.execute(engine.db)).rows
  const checked: unknown[] = []
  const together = await transact(async (tx) => {
    await later(tx, values, { check: (rows) => checked.push(...rows) })
    return (await values.execute(tx)).rows
  })
  assert.deepEqual([checked, together], [alone, alone])
})

test('a statement that waited and fails is the failure of the next one, in its own words, and nothing is kept', async () => {
  const toError = (cause: unknown) => new Error('the note is there already', { cause })
  let isReached = false
  const work = transact(async (tx) => {
    await later(tx, add('a'))
    await later(tx, add('a'), { toError })
    await later(tx, add('b'))
    await readNotes().execute(tx)
    isReached = true
  })
  await assert.rejects(work, /the note is there already/)
  assert.equal(isReached, false)
  assert.deepEqual(await listKept(), [])
})

test('a statement that waited and fails at the commit keeps the transaction from being committed', async () => {
  const work = transact(async (tx) => {
    await later(tx, add('a'))
    await later(tx, add('a'))
  })
  await assert.rejects(work, /duplicate key/)
  assert.deepEqual(await listKept(), [])
})

test('what a check throws keeps the transaction from being committed, and comes before later failures', async () => {
  const check = () => {
    throw new Error('refused')
  }
  const last = transact((tx) => later(tx, add('a'), { check }))
  await assert.rejects(last, /refused/)
  const followed = transact(async (tx) => {
    await later(tx, add('a'), { check })
    await add('a').execute(tx)
  })
  await assert.rejects(followed, /refused/)
  assert.deepEqual(await listKept(), [])
})

test('rows that cannot be read are a failure', async () => {
  const work = transact(async (tx) => {
    await later(tx, add('a'))
    await sql`select 'infinity'::timestamptz`.execute(tx)
  })
  await assert.rejects(work, /instant/)
  assert.deepEqual(await listKept(), [])
})

test('transactions without statements leave the connection as it was', async () => {
  await transact(async () => {})
  const work = transact(async () => {
    throw new Error('broken off')
  })
  await assert.rejects(work, /broken off/)
  const unsent = transact(async (tx) => {
    await later(tx, add('a'))
    throw new Error('broken off')
  })
  await assert.rejects(unsent, /broken off/)
  await add('b').execute(engine.db)
  assert.deepEqual(await listKept(), ['b'])
})

test('a statement that takes too long is an outage, and the connection is not used again', async () => {
  const work = transact(async (tx) => {
    await sql`set local statement_timeout = '50ms'`.execute(tx)
    await later(tx, sql`select pg_sleep(${5})`)
    await later(tx, add('a'))
  })
  await assert.rejects(work, StoreUnavailableError)
  await transact((tx) => later(tx, add('b')))
  assert.deepEqual(await listKept(), ['b'])
})

test('a connection that is lost is an outage, and nothing of the transaction is kept', async () => {
  const work = transact(async (tx) => {
    await later(tx, add('a'))
    await later(tx, sql`select pg_terminate_backend(pg_backend_pid())`)
    await add('b').execute(tx)
  })
  await assert.rejects(work, StoreUnavailableError)
  await transact((tx) => later(tx, add('c')))
  assert.deepEqual(await listKept(), ['c'])
})

test('outside of a transaction a statement does not wait', async () => {
  await later(engine.db, add('a'))
  assert.deepEqual(await listKept(), ['a'])
})

test('a transaction that may be lost does not wait for the log of the server, any other does', async () => {
  const ask = async (tx: Db) =>
    (
      await sql<{
        setting: string
      }>`select current_setting('synchronous_commit') as setting`.execute(tx)
    ).rows[0]?.setting
  for (let round = 0; round < 3; round += 1) {
    assert.equal(await engine.transaction(ask, true), 'off')
    assert.equal(await engine.transaction(ask, false), 'on')
  }
  await engine.transaction((tx) => later(tx, add('kept')), true)
  const undone = engine.transaction(async (tx) => {
    await later(tx, add('undone'))
    throw new Error('no')
  }, true)
  await assert.rejects(undone, /no/)
  assert.deepEqual(await listKept(), ['kept'])
})
