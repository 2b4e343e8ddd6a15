/**
 * The paged lists of the Up emulator: at most 100 entries, absolute links, cursors of a moment and an id. It
 * refuses what Up refuses: sizes above 100, times without a zone, a bare `+`, names that the list does not
 * have.
 */
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { categoryIds } from './categories.ts'
import { refusal } from './wire.ts'

const defaultSize = 20
const maxSize = 100

/** An entry of a list with its place in it: newest first, equal moments by id. */
export interface Placed<Entry> {
  readonly entry: Entry
  readonly at: number
  readonly id: string
}

type Place = readonly [at: number, id: string]

/** A refusal for a parameter that the list does not have, or of a wrong value; null: all are right. */
export function refuseQuery(
  { query }: EmulatorRequest,
  filters: readonly string[],
): EmulatorReply | null {
  const known = ['page[size]', 'page[after]', 'page[before]', ...filters]
  for (const [name, value] of query) {
    if (!known.includes(name)) return invalid(name, 'The parameter is not known.')
    const problem = check(name, value)
    if (problem !== null) return problem
  }
  return null
}

function check(name: string, value: string): EmulatorReply | null {
  switch (name) {
    case 'page[size]': {
      const size = /^\d{1,4}$/.test(value) ? Number(value) : 0
      return size >= 1 && size <= maxSize ? null : invalid(name, 'Must be from 1 to 100.')
    }
    case 'page[after]':
    case 'page[before]':
      return readPlace(value) === null ? invalid(name, 'Not a valid cursor.') : null
    case 'filter[since]':
    case 'filter[until]':
      return readInstant(value) === null ? invalid(name, 'Not a valid RFC 3339 date-time.') : null
    case 'filter[status]':
      return ['HELD', 'SETTLED'].includes(value) ? null : invalid(name, 'Not a valid status.')
    case 'filter[category]':
      return categoryIds.includes(value)
        ? null
        : refusal(404, 'Not Found', 'The category does not exist.', { parameter: name })
    default:
      return null
  }
}

const invalid = (parameter: string, detail: string) =>
  refusal(400, 'Invalid Parameter', detail, { parameter })

/** RFC 3339 with a zone. A `+` that was not encoded has become a blank, which is not one. */
export function readInstant(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}

/** One page of a list. `toWire` is only called for the entries of the page. */
export function pageOf<Entry>(
  request: EmulatorRequest,
  base: string,
  all: readonly Placed<Entry>[],
  toWire: (entry: Entry) => unknown,
): EmulatorReply {
  const { query } = request
  const size = Number(query.get('page[size]') ?? defaultSize)
  const after = readPlace(query.get('page[after]'))
  const before = readPlace(query.get('page[before]'))
  const sorted = all.toSorted((left, right) => compare([left.at, left.id], [right.at, right.id]))
  const isIn = ({ at, id }: Placed<Entry>) =>
    (after === null || compare([at, id], after) > 0) &&
    (before === null || compare([at, id], before) < 0)
  const rest = sorted.filter(isIn)
  const page = before !== null && after === null ? rest.slice(-size) : rest.slice(0, size)
  const [first] = page
  const last = page.at(-1)
  const hasMore = last !== undefined && sorted.at(-1) !== last
  const hasLess = first !== undefined && sorted[0] !== first
  const link = (name: string, { at, id }: Placed<Entry>) => {
    const parameters = new URLSearchParams(query)
    for (const cursor of ['page[after]', 'page[before]']) parameters.delete(cursor)
    parameters.set('page[size]', String(size))
    parameters.set(name, writePlace([at, id]))
    return `${base}${request.path.replace(/^\/api\/v1/, '')}?${parameters}`
  }
  return {
    status: 200,
    body: {
      data: page.map(({ entry }) => toWire(entry)),
      links: {
        prev: hasLess ? link('page[before]', first) : null,
        next: hasMore ? link('page[after]', last) : null,
      },
    },
  }
}

function compare(left: Place, right: Place): number {
  if (left[0] !== right[0]) return right[0] - left[0]
  return left[1] < right[1] ? -1 : left[1] > right[1] ? 1 : 0
}

function writePlace([at, id]: Place): string {
  return Buffer.from(JSON.stringify([new Date(at).toISOString(), id])).toString('base64')
}

function readPlace(text: string | null): Place | null {
  if (text === null) return null
  try {
    const [at, id]: [string, string] = JSON.parse(Buffer.from(text, 'base64').toString())
    const ms = Date.parse(at)
    return Number.isNaN(ms) || typeof id !== 'string' ? null : [ms, id]
  } catch {
    // The caller refuses what is no cursor.
    return null
  }
}
