/**
 * Made-up rows in every table of an embedded store, values that are hard to copy among them, and every row of
 * both sides as plain text, read without the code that copies. A table that a migration adds is filled and
 * compared like the others.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'
import { makeSealer } from '#store/seal.ts'
import { keyA } from '#tests/contract/store/place.ts'
import type { PostgresPlace } from './postgres-place.ts'

const rowsOfTable = 40
const files = ['tributary.db', 'event-keys.db']
/** The lists that each store has for itself. */
const own = ['schema_migrations', 'meta']

const controls = Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1)).join('')
const texts = [
  '',
  ' ',
  '\\N',
  '\\.',
  `\\x00${controls}\x7f`,
  'Kōwhai 🏦 "quoted" \u2028',
  'é\tb\r\n',
]
const instants = [
  '1970-01-01T00:00:00.000Z',
  '2026-11-20T03:15:00.123Z',
  '1999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59.999Z',
  '+012026-01-01T00:00:00.001Z',
  '-000044-03-15T12:00:00.000Z',
]
const integers = [0, 1, -1, 2_147_483_647, -2_147_483_648]

interface Column {
  readonly name: string
  readonly type: string
  readonly isNullable: boolean
}

type Row = Record<string, SQLInputValue>

/** The next one of a list, again and again. */
function cycle<Value>(values: readonly Value[]): () => Value {
  let count = 0
  return () => values[count++ % values.length] as Value
}

const next = {
  text: cycle(texts),
  timestamptz: cycle(instants),
  integer: cycle(integers),
  bigint: cycle([0, 4_294_967_295, -1, Number.MAX_SAFE_INTEGER]),
  boolean: cycle([0, 1]),
  bytea: cycle<() => Uint8Array>([
    () => new Uint8Array(0),
    () => new Uint8Array(randomBytes(32)),
    () => new Uint8Array([0, 0xff, 0x5c, 0x0a, 0x09]),
  ]),
  large: cycle([0, 100, 200_000]),
  isNull: cycle([true, false, false]),
}

/** A value that no other row has, where the type allows it. */
function makeValue({ name, type, isNullable }: Column): SQLInputValue {
  // The store opens under the keys that such columns name.
  if (/_key$/.test(name) && type === 'text' && name !== 'key') return makeSealer([keyA]).current
  if (isNullable && next.isNull()) return null
  if (type === 'uuid') return randomUUID()
  if (type === 'text') return `${next.text()}${randomUUID()}`
  if (type === 'timestamptz') return next.timestamptz()
  if (type === 'integer') return next.integer()
  if (type === 'bigint') return next.bigint()
  if (type === 'boolean') return next.boolean()
  // An index takes no such bytes.
  if (/^(?:payload|entries|response)$/.test(name)) return new Uint8Array(randomBytes(next.large()))
  if (type === 'bytea') return Buffer.concat([next.bytea()(), randomBytes(16)])
  throw new Error(`the test has no values of the type ${type}`)
}

/** Fills every table of the closed store in `dataDir`. */
export function fillEveryTable(dataDir: string): void {
  for (const file of files) {
    const db = new DatabaseSync(join(dataDir, file))
    db.exec('pragma foreign_keys = on; begin')
    const left = new Set(listTables(db).filter((name) => !own.includes(name)))
    while (left.size > 0) {
      const ready = [...left].find((name) => parentsOf(db, name).every((one) => !left.has(one)))
      if (ready === undefined) throw new Error('tables refer to each other in a circle')
      fillTable(db, ready)
      left.delete(ready)
    }
    db.exec('commit')
    db.close()
  }
}

const listTables = (db: DatabaseSync): string[] =>
  db
    .prepare("select name from sqlite_schema where type = 'table' order by name")
    .all()
    .map(({ name }) => String(name))

const parentsOf = (db: DatabaseSync, table: string): string[] =>
  listReferences(db, table).map(({ parent }) => parent)

interface Reference {
  readonly parent: string
  readonly columns: readonly { readonly from: string; readonly to: string }[]
}

/** Those of most columns first. */
function listReferences(db: DatabaseSync, table: string): Reference[] {
  const rows = db
    .prepare('select id, "table" as parent, "from", "to" from pragma_foreign_key_list(?)')
    .all(table)
  const groups = Map.groupBy(rows, ({ id }) => Number(id))
  return [...groups.values()]
    .map((group) => ({
      parent: String(group[0]?.parent),
      columns: group.map(({ from, to }) => ({ from: String(from), to: String(to) })),
    }))
    .sort((one, other) => other.columns.length - one.columns.length)
}

function fillTable(db: DatabaseSync, table: string): void {
  const columns = db.prepare('select * from pragma_table_info(?)').all(table)
  const described = columns.map(
    ({ name, type, notnull, pk }): Column => ({
      name: String(name),
      type: String(type).toLowerCase(),
      isNullable: notnull === 0 && pk === 0,
    }),
  )
  const references = listReferences(db, table)
  let count = 0
  for (let attempt = 0; attempt < rowsOfTable * 5 && count < rowsOfTable; attempt += 1) {
    const row: Row = Object.fromEntries(described.map((one) => [one.name, makeValue(one)]))
    if (!references.reduce((fits, one) => fits && refer(db, row, one), true)) continue
    count += Number(insert(db, table, row))
  }
  if (count < 3) throw new Error(`the test fills ${table} with ${count} rows`)
}

/** Lets the row refer to a parent that agrees with what it refers to already; false: there is none. */
const bound = new WeakMap<Row, Set<string>>()
function refer(db: DatabaseSync, row: Row, { parent, columns }: Reference): boolean {
  const fixed = bound.get(row) ?? new Set()
  const agreed = columns.filter(({ from }) => fixed.has(from))
  const where = agreed.map(({ to }) => ` and "${to}" = ?`).join('')
  const found = db
    .prepare(`select * from "${parent}" where true${where} order by random() limit 1`)
    .get(...agreed.map(({ from }) => row[from] ?? null))
  if (found === undefined) return false
  for (const { from, to } of columns) {
    row[from] = found[to] ?? null
    fixed.add(from)
  }
  bound.set(row, fixed)
  return true
}

/** False: another row has the same key. */
function insert(db: DatabaseSync, table: string, row: Row): boolean {
  const names = Object.keys(row)
    .map((name) => `"${name}"`)
    .join(', ')
  const values = Object.values(row)
  const marks = values.map(() => '?').join(', ')
  const { changes } = db
    .prepare(`insert or ignore into "${table}" (${names}) values (${marks})`)
    .run(...values)
  return changes === 1
}

/** Every row by its table, sorted. */
export type Dump = ReadonlyMap<string, readonly string[]>

export function dumpSqlite(dataDir: string): Dump {
  const dump = new Map<string, string[]>()
  for (const file of files) {
    const db = new DatabaseSync(join(dataDir, file), { readOnly: true })
    for (const table of listTables(db).filter((name) => name !== 'schema_migrations')) {
      const types = new Map(
        db
          .prepare('select name, type from pragma_table_info(?)')
          .all(table)
          .map(({ name, type }) => [String(name), String(type)]),
      )
      const rows = db.prepare(`select * from "${table}"`).all()
      dump.set(table, rows.map((row) => toLine(row, types)).sort())
    }
    db.close()
  }
  return dump
}

function toLine(row: Record<string, SQLOutputValue>, types: ReadonlyMap<string, string>): string {
  const plain = Object.entries(row).map(([name, value]) => {
    const type = types.get(name)
    if (value === null) return [name, null]
    if (value instanceof Uint8Array) return [name, Buffer.from(value).toString('hex')]
    if (type === 'boolean') return [name, value === 1]
    // As the client of PostgreSQL returns it.
    if (type === 'bigint') return [name, String(value)]
    return [name, type === 'timestamptz' ? Date.parse(String(value)) : value]
  })
  return JSON.stringify(plain.sort(([one], [other]) => String(one).localeCompare(String(other))))
}

/** As the server's own functions write the rows. */
export async function dumpPostgres({ ask }: Pick<PostgresPlace, 'ask'>): Promise<Dump> {
  const columns =
    await ask(`select c.table_schema || '.' || c.table_name as place, c.table_name as table,
      c.column_name as name, c.data_type as type
    from information_schema.columns c
    where c.table_schema in (current_schema(), current_schema() || '_event_keys')
      and c.table_name <> 'schema_migrations'`)
  const dump = new Map<string, string[]>()
  for (const [place, own] of Map.groupBy(columns, (one) => String(one.place))) {
    const listed = own.map(
      ({ name, type }) => `${toPlain(String(name), String(type))} as "${name}"`,
    )
    const rows = await ask(`select ${listed.join(', ')} from ${place}`)
    const lines = rows.map((row) =>
      JSON.stringify(
        Object.entries(row)
          .map(([name, value]) => [
            name,
            isMoment(own, name) && value !== null ? Number(value) : value,
          ])
          .sort(([one], [other]) => String(one).localeCompare(String(other))),
      ),
    )
    dump.set(String(own[0]?.table), lines.sort())
  }
  // What the copy itself writes.
  dump.set('meta', dump.get('meta')?.filter((line) => !line.includes('copied_at')) ?? [])
  return dump
}

function isMoment(columns: readonly Record<string, unknown>[], name: string): boolean {
  return columns.some((one) => one.name === name && String(one.type).startsWith('timestamp'))
}

function toPlain(name: string, type: string): string {
  if (type === 'bytea') return `encode("${name}", 'hex')`
  if (type.startsWith('timestamp')) return `(extract(epoch from "${name}") * 1000)::numeric(30, 6)`
  return type === 'uuid' ? `"${name}"::text` : `"${name}"`
}
