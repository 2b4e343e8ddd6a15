/**
 * Converts between PostgreSQL's types and the values of the queries: instants are read as milliseconds and
 * written as `Date`; int8 stays text; booleans and bytes are as `pg` returns them.
 */
import { types } from 'pg'

const { TIMESTAMPTZ } = types.builtins

/** The type parsers of every connection; no global setting of `pg` is changed. */
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
