/**
 * Lists as one parameter, so that the text of a statement is the same for any number of rows: an array or
 * JSON on PostgreSQL, JSON on SQLite. Other lists are built by Kysely in batches of bounded length
 * (`batches.ts`).
 */
import { type RawBuilder, sql } from 'kysely'
import type { Engine } from './engine.ts'

type Kind = Engine['kind']

/** A statement whose text differs between the engines. */
export function perKind<Build>(make: (kind: Kind) => Build): Record<Kind, Build> {
  return { sqlite: make('sqlite'), postgres: make('postgres') }
}

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

/** The value that `fromRows` takes: bytes in hexadecimal, instants in ISO 8601. */
export function toRowList<Of extends Columns>(
  rows: readonly { readonly [Name in keyof Of]: Value }[],
): string {
  return JSON.stringify(
    rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toText(value)])),
    ),
  )
}

const toText = (value: Value) =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value

/** The rows of the list as the table `given`. `columns`: their SQL types; the names are trusted text. */
export function fromRows(kind: Kind, columns: Columns, list: string): RawBuilder<unknown> {
  const types = Object.entries(columns)
  const isBytes = (type: string) => type === 'bytea'
  if (kind === 'sqlite') {
    const read = types.map(([name, type]) =>
      isBytes(type) ? `unhex(value ->> '${name}') as ${name}` : `value ->> '${name}' as ${name}`,
    )
    return sql`(select ${sql.raw(read.join(', '))} from json_each(${list})) as given`
  }
  const read = types.map(([name, type]) =>
    isBytes(type) ? `decode(${name}, 'hex') as ${name}` : name,
  )
  const named = types.map(([name, type]) => `${name} ${isBytes(type) ? 'text' : type}`)
  return sql`(
    select ${sql.raw(read.join(', '))}
    from json_to_recordset(${list}::json) as read (${sql.raw(named.join(', '))})
  ) as given`
}
