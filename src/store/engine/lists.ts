/**
 * Lists of the hot statements, whose text is the same for any number of rows, so that it is prepared once: PostgreSQL takes
 * them as one parameter, SQLite runs the statement once for each row. Other lists are built by Kysely in batches of bounded
 * length (`batches.ts`).
 */
import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { Engine } from './engine.ts'
import { EachRow } from './sqlite-statements.ts'
import type { Db } from './tables.ts'

type Kind = Engine['kind']

/** The value that `isListed` takes: ids that are UUIDs. */
export function toIdList(kind: Kind, ids: readonly string[]): string {
  return kind === 'postgres' ? `{${ids.join(',')}}` : JSON.stringify(ids)
}

/** True for rows whose id in `column` (trusted text) is on the list: a search of an index for each. */
export function isListed(kind: Kind, column: string, list: string): RawBuilder<boolean> {
  const name = sql.raw(column)
  return kind === 'postgres'
    ? sql<boolean>`${name} = any(${list}::uuid[])`
    : sql<boolean>`${name} in (select value from json_each(${list}))`
}

type Value = string | number | Date | Uint8Array | null
type Columns = { readonly [name: string]: 'uuid' | 'text' | 'integer' | 'timestamptz' | 'bytea' }
type RowOf<Of extends Columns> = { readonly [Name in keyof Of]: Value }

/** The row that the statement is run for. */
export interface Given<Of extends Columns> {
  readonly value: { readonly [Name in keyof Of]: RawBuilder<unknown> }
  /** What the values are selected from. Empty on SQLite. */
  readonly from: RawBuilder<unknown>
}

/**
 * Makes a statement that does the same for each row of a list, in any order. `columns`: their SQL types; the names are
 * trusted text. `build` uses the values of a row, and no other ones, and names their source once.
 */
export function makeForRows<Of extends Columns, Result>(
  columns: Of,
  build: (given: Given<Of>) => RawBuilder<Result>,
): (kind: Kind, db: Db, rows: readonly RowOf<Of>[]) => CompiledQuery<Result> {
  const built: { [kind in Kind]?: CompiledQuery<Result> } = {}
  return (kind, db, rows) => {
    built[kind] ??= build(kind === 'sqlite' ? byRow(columns) : byList(columns)).compile(db)
    const query = built[kind]
    if (kind === 'postgres') return { ...query, parameters: [toJson(columns, rows)] }
    // The parameters of the statement are the names of the columns.
    const names = query.parameters as readonly string[]
    const values = rows.map((row) => names.map((name) => row[name]))
    return { ...query, parameters: [new EachRow(values)] }
  }
}

function byRow<Of extends Columns>(columns: Of): Given<Of> {
  return { value: toValues(columns, (name) => sql`${name}`), from: sql`` }
}

function byList<Of extends Columns>(columns: Of): Given<Of> {
  const value = toValues(columns, (name, type) =>
    sql.raw(type === 'bytea' ? `decode(given.${name}, 'hex')` : `given.${name}`),
  )
  const read = Object.entries(columns).map(
    ([name, type]) => `${name} ${type === 'bytea' ? 'text' : type}`,
  )
  // The parameter is set when the statement runs.
  const from = sql`from json_to_recordset(${null}::json) as given (${sql.raw(read.join(', '))})`
  return { value, from }
}

function toValues<Of extends Columns>(
  columns: Of,
  make: (name: string, type: string) => RawBuilder<unknown>,
) {
  const entries = Object.entries(columns).map(([name, type]) => [name, make(name, type)])
  return Object.fromEntries(entries) as Given<Of>['value']
}

/** Bytes in hexadecimal, instants in ISO 8601. */
function toJson<Of extends Columns>(columns: Of, rows: readonly RowOf<Of>[]): string {
  const names = Object.keys(columns).filter((name) => columns[name] === 'bytea')
  if (names.length === 0) return JSON.stringify(rows)
  return JSON.stringify(
    rows.map((row) => ({
      ...row,
      ...Object.fromEntries(names.map((name) => [name, toHex(row[name])])),
    })),
  )
}

const toHex = (value: Value | undefined): string | null =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : null
