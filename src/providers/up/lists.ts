/**
 * Up's lists: `{data, links: {prev, next}}`. Of a link only the cursor is used and the link itself is never
 * followed, so that a token is only sent to the configured base address.
 */
import { isRecord, readField } from '#kernel/json.ts'
import type { CallContext } from '../port.ts'
import type { UpClient, UpRequest } from './client.ts'
import { malformed } from './failures.ts'

/** A resource of a list as parsed; every field is validated when it is used. */
export type WireRow = Readonly<Record<string, unknown>>

export interface ListPage {
  readonly rows: readonly WireRow[]
  /** The value of `page[after]` for the next page; null at the end. */
  readonly next: string | null
}

/** Up's largest page; it refuses larger sizes. */
export const pageSize = 100
const maxCursorLength = 2048

/** Reads one page of a list. @throws UpstreamError `malformed` */
export function readListPage(body: Uint8Array, parse: (text: string) => unknown): ListPage {
  const parsed = readBody(body, parse)
  const rows: unknown = isRecord(parsed) ? parsed.data : undefined
  if (!isRecord(parsed) || !Array.isArray(rows)) throw malformed('the answer has no list "data"')
  if (!rows.every(isRecord)) throw malformed('an entry of a list is not an object')
  return { rows, next: readCursor(parsed.links) }
}

/** @throws UpstreamError `malformed` for a body that is not JSON. */
export function readBody(body: Uint8Array, parse: (text: string) => unknown): unknown {
  try {
    return parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'))
  } catch (cause) {
    throw malformed('the answer is not JSON', cause)
  }
}

function readCursor(links: unknown): string | null {
  if (!isRecord(links)) throw malformed('a list has no links')
  const { next } = links
  if (next === null) return null
  const cursor = typeof next === 'string' ? URL.parse(next)?.searchParams.get('page[after]') : null
  if (!cursor || cursor.length > maxCursorLength) {
    throw malformed('the link to the next page has no cursor')
  }
  return cursor
}

/** The path of one page of a list. */
export function toTarget(
  path: string,
  filters: Readonly<Record<string, string>>,
  after: string | null,
): string {
  const parameters = new URLSearchParams({
    'page[size]': String(pageSize),
    ...filters,
    ...(after === null ? {} : { 'page[after]': after }),
  })
  return `${path}?${parameters}`
}

export interface WholeList {
  readonly path: string
  readonly filters: Readonly<Record<string, string>>
  /** Pages after which the list counts as unreadable. */
  readonly maxPages: number
}

/** Reads every page of a short list. @throws UpstreamError, also for a cursor that comes again. */
export async function readWholeList(
  client: UpClient,
  { token, call, parse }: ListReading,
  { path, filters, maxPages }: WholeList,
): Promise<readonly WireRow[]> {
  const rows: WireRow[] = []
  const seen = new Set<string>()
  let after: string | null = null
  for (let count = 0; count < maxPages; count += 1) {
    const request: UpRequest = { route: path, target: toTarget(path, filters, after) }
    const page: ListPage = readListPage(await client.get(token, request, call), parse)
    rows.push(...page.rows)
    if (page.next === null) return rows
    if (seen.has(page.next)) throw malformed('the cursors form a cycle')
    seen.add(page.next)
    after = page.next
  }
  throw malformed(`a list of ${path} has more than ${maxPages} pages`)
}

export interface ListReading {
  readonly token: string
  readonly call: CallContext
  readonly parse: (text: string) => unknown
}

/** Up's ids are UUIDs. Others are accepted as far as every store and every path can hold them. */
export function isStorableId(id: unknown): id is string {
  return typeof id === 'string' && /^[\x21-\x7e]{1,200}$/.test(id)
}

/** The id of a related resource; null where the relationship is empty. @throws UpstreamError `malformed` */
export function readRelated(row: WireRow, name: string): string | null {
  const data = readField(readField(row.relationships, name), 'data')
  if (data === null) return null
  const id = readField(data, 'id')
  if (typeof id !== 'string' || id === '') throw malformed(`the ${name} of a row cannot be read`)
  return id
}
