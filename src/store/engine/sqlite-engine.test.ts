import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { makeSqlitePlace } from '#tests/contract/store/place.ts'
import { openSqlite } from './sqlite-engine.ts'
import type { Db } from './tables.ts'

const [normal, full] = [1, 2]
const place = makeSqlitePlace()
await (await place.open()).close()
const engine = openSqlite(place.dataDir, () => {})
await sql`create table notes (note text)`.execute(engine.db)
after(async () => {
  await engine.close()
  await place.remove()
})

const readSync = async (db: Db) =>
  (await sql<{ synchronous: number }>`pragma synchronous`.execute(db)).rows[0]?.synchronous
const add = (tx: Db, note: string) => sql`insert into notes values (${note})`.execute(tx)
const listNotes = async () =>
  (await sql<{ note: string }>`select note from notes order by note`.execute(engine.db)).rows.map(
    ({ note }) => note,
  )

test('only a transaction that may be lost does not wait for the disk, and only until its end', async () => {
  assert.equal(await readSync(engine.db), full)
  for (let round = 0; round < 2; round += 1) {
    const seen = await Promise.all([
      engine.transaction(readSync, true),
      engine.transaction(readSync, false),
      engine.transaction(readSync, true),
      readSync(engine.db),
    ])
    assert.deepEqual(seen, [normal, full, normal, full])
  }
})

test('a transaction that may be lost is committed or rolled back, and the next one waits for the disk', async () => {
  await engine.transaction((tx) => add(tx, 'kept'), true)
  await assert.rejects(
    engine.transaction(async (tx) => {
      await add(tx, 'undone')
      throw new Error('no')
    }, true),
    /no/,
  )
  assert.deepEqual(await listNotes(), ['kept'])
  assert.equal(await readSync(engine.db), full)
})
