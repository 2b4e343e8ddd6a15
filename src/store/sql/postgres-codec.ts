/**
 * Between PostgreSQL's types and the values that the queries speak of: instants read as milliseconds, int8 stays text
 * (`pg` does that), booleans and bytes are what `pg` makes of them. Instants are written as `Date`.
 */
import { types } from 'pg'

const { TIMESTAMPTZ } = types.builtins

/** The type parsers of every connection; nothing global is changed. */
export const postgresTypes = { getTypeParser: getParser as typeof types.getTypeParser }

function getParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  const parse = types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown
  if (oid !== TIMESTAMPTZ) return parse
  return (value) => {
    const date = parse(value)
    if (!(date instanceof Date)) throw new Error(`PostgreSQL gave an instant as ${typeof date}`)
    return date.getTime()
  }
}
