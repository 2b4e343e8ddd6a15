/**
 * What a good answer promises beyond its schema: it was asked for properly (readings R11, R12, R14), its page
 * is the one that was asked for, its rows are within the requested days, and no other user's connection was
 * read.
 */
import type { DescribedOperation } from './described.ts'

interface Page {
  readonly data?: readonly { readonly date?: string }[]
  readonly pagination?: {
    readonly total: number | null
    readonly limit: number
    readonly offset: number
    readonly hasMore: boolean
  }
}

/**
 * The first promise that a 200 breaks, in words; null when it keeps them all. `foreign`: ids of other users.
 */
export function findBrokenPromise(
  operation: DescribedOperation,
  rawQuery: string,
  body: Page,
  foreign: readonly string[],
): string | null {
  const query = new URLSearchParams(rawQuery)
  return (
    findBadParameter(operation, query) ??
    findForeign(operation, query, foreign) ??
    findBadPage(operation, query, body) ??
    findStrayRow(query, body)
  )
}

function findBadParameter(operation: DescribedOperation, query: URLSearchParams): string | null {
  for (const { name, required, kind } of operation.parameters) {
    const [value, ...more] = query.getAll(name)
    if (more.length > 0) return `R11: ${name} was given more than once`
    if (value === undefined && required) return `${name} is required and was not given`
    if (value === '') return `R11: ${name} was empty`
    if (value !== undefined && kind === 'integer' && !/^\d+$/.test(value)) {
      return `R11: ${name} was no whole number`
    }
    if (value !== undefined && kind === 'date' && !/^\d{4}-\d{2}-\d{2}(?:$|[Tt])/.test(value)) {
      return `R14: ${name} was no date`
    }
  }
  return null
}

/** Reading R12: what is not the caller's is not found, whatever else is asked. */
function findForeign(
  operation: DescribedOperation,
  query: URLSearchParams,
  foreign: readonly string[],
): string | null {
  for (const { name, kind } of operation.parameters) {
    // `accountIds` takes precedence: `accountId` is not looked at then.
    if (name === 'accountId' && query.has('accountIds')) continue
    if (kind !== 'id' && kind !== 'ids') continue
    const ids = query.get(name)?.toLowerCase().split(',') ?? []
    const found = ids.find((id) => foreign.includes(id))
    if (found !== undefined) return `R12: ${name} names ${found}, which is somebody else's`
  }
  return null
}

function findBadPage(
  operation: DescribedOperation,
  query: URLSearchParams,
  { data = [], pagination }: Page,
): string | null {
  if (pagination === undefined) return null
  const { total, limit, offset, hasMore } = pagination
  const clamp = operation.parameters.find((parameter) => parameter.name === 'limit')?.clampedTo
  const most = Math.min(Number(query.get('limit') ?? limit), clamp ?? limit)
  if (limit > most) return `R11: the page's limit is ${limit}, at most ${most} was due`
  if (offset !== Number(query.get('offset') ?? 0)) return `the page's offset is ${offset}`
  if (data.length > limit) return `${data.length} rows on a page of ${limit}`
  if (!hasMore && total === null) return 'R17: nothing more, and no total'
  if (!hasMore && data.length > 0 && total !== offset + data.length) {
    return `R17: nothing more behind ${offset} + ${data.length} rows, and a total of ${total}`
  }
  return null
}

const plainDay = /^\d{4}-\d{2}-\d{2}$/

/** Reading R16a: filtering agrees with the date that is shown. */
function findStrayRow(query: URLSearchParams, { data = [] }: Page): string | null {
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? '']
  const stray = data.find(
    ({ date }) =>
      date !== undefined &&
      ((plainDay.test(from) && date < from) || (plainDay.test(to) && date > to)),
  )
  return stray === undefined ? null : `R16a: a row of ${stray.date} between ${from} and ${to}`
}
