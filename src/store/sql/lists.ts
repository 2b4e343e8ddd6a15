/**
 * Lists in one parameter: the text of the statement is the same for any number of rows, so that it is prepared once. Lists
 * of the hot statements only; the others are built by Kysely in batches of bounded length (`batches.ts`).
 */
import { type RawBuilder, sql } from 'kysely'
import type { Engine } from './engine.ts'

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

/** The columns of a list with their SQL types; names and types are trusted text. */
export type Columns<Row> = {
  readonly [Name in keyof Row]: 'uuid' | 'text' | 'integer' | 'timestamptz' | 'bytea'
}

/** The value that `toTable` takes: bytes in hexadecimal, instants in ISO 8601 or as `Date`. */
export function toRows<Row extends object>(_columns: Columns<Row>, rows: readonly Row[]): string {
  return JSON.stringify(rows)
}

/** The rows as a table for `from`, named `given`. */
export function toTable<Row>(kind: Kind, columns: Columns<Row>, rows: string): RawBuilder<unknown> {
  const entries = Object.entries(columns) as [string, string][]
  if (kind === 'sqlite') {
    const values = entries.map(([name, type]) => {
      const value = `value ->> '${name}'`
      return `${type === 'bytea' ? `unhex(${value})` : value} as ${name}`
    })
    return sql`(select ${sql.raw(values.join(', '))} from json_each(${rows})) as given`
  }
  const read = entries.map(([name, type]) => `${name} ${type === 'bytea' ? 'text' : type}`)
  const values = entries.map(([name, type]) =>
    type === 'bytea' ? `decode(${name}, 'hex') as ${name}` : name,
  )
  return sql`(select ${sql.raw(values.join(', '))}
    from json_to_recordset(${rows}::json) as listed (${sql.raw(read.join(', '))})) as given`
}
