import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Kysely, SqliteDialect } from 'kysely'
import { makeKeptQueries } from './kept-queries.ts'
import type { Db, Tables } from './tables.ts'

const database = async () => {
  throw new Error('nothing is run here')
}
const db: Db = new Kysely<Tables>({ dialect: new SqliteDialect({ database }) })

interface Given {
  readonly [name: string]:
    | string
    | number
    | readonly string[]
    | readonly { readonly month: number }[]
  readonly ids: readonly string[]
  readonly before: number
  readonly rows: readonly { readonly month: number }[]
}

let builds = 0

const select = (of: Db, { ids, before, rows }: Given) => {
  builds += 1
  return of
    .selectFrom('ledger_months')
    .select('month')
    .where('month', '<', before)
    .where('account_id', 'in', ids as never)
    .where(
      'month',
      'in',
      rows.map(({ month }) => month),
    )
    .where('month', '>', 7)
}

test('a statement is built once for each length of its lists, and has the values of each call', () => {
  const kept = makeKeptQueries()
  builds = 0
  const given = (ids: string[], before: number, month: number): Given => ({
    ids,
    before,
    rows: [{ month }],
  })
  const first = kept.compile(select, db, given(['a', 'b'], 3, 5))
  const second = kept.compile(select, db, given(['c', 'd'], 4, 6))
  assert.deepEqual(first.parameters, [3, 'a', 'b', 5, 7])
  assert.deepEqual(second.parameters, [4, 'c', 'd', 6, 7])
  assert.equal(first.sql, second.sql)
  assert.equal(builds, 1)
  const third = kept.compile(select, db, given(['e'], 4, 6))
  assert.deepEqual(third.parameters, [4, 'e', 6, 7])
  assert.equal(builds, 2)
})

test('a statement keeps a bounded number of texts; further ones are built each time and are right', () => {
  const kept = makeKeptQueries()
  builds = 0
  const longest = Array.from({ length: 70 }, (_, index) => `id ${index}`)
  const round = () => {
    for (let length = 1; length <= 70; length += 1) {
      const ids = longest.slice(0, length)
      const { parameters } = kept.compile(select, db, { ids, before: 1, rows: [] as never[] })
      assert.deepEqual(parameters, [1, ...ids, 7])
    }
  }
  round()
  assert.equal(builds, 70)
  round()
  assert.equal(builds, 76)
})
