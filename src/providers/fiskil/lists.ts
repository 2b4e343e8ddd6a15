/**
 * Fiskil's lists: bodies decoded strictly, bare arrays (v1, v2) and wrapped ones (v3) read alike, and the cursor taken
 * out of `links.next`. The link itself is never followed: a token is only ever sent to our own base address.
 */
import { NumberText, parseExactJson } from '#kernel/json.ts'
import { malformed } from './refusal.ts'

export interface ListPage {
  readonly rows: readonly unknown[]
  /** The value of `page[after]` for the next page; null at the end. */
  readonly next: string | null
}

/** The largest page that Fiskil gives; larger sizes are clamped by it. */
export const pageSize = 1000

const maxCursorLength = 4096

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Decodes UTF-8 strictly and parses JSON; throws UpstreamError `malformed`. */
export function readJson(body: Uint8Array): unknown {
  return decode(body, (text) => JSON.parse(text))
}

/** The same with every number as its source text (reading R24). */
export function readExactJson(body: Uint8Array): unknown {
  return decode(body, parseExactJson)
}

function decode(body: Uint8Array, parse: (text: string) => unknown): unknown {
  try {
    return parse(decoder.decode(body))
  } catch (cause) {
    throw malformed('the answer is no JSON', cause)
  }
}

/**
 * Reads one page of a list out of a parsed body.
 * @param key the resource's name in the wrapped form.
 * @param base our own base address, which a relative link starts from. The host of an absolute one does not matter
 * (behind a gateway it is another than ours): only the cursor is taken out of it.
 */
export function readListPage(value: unknown, key: string, base: URL): ListPage {
  if (Array.isArray(value)) return { rows: value, next: null }
  if (!isRecord(value)) throw malformed(`the answer is no list of ${key}`)
  const rows = value[key]
  if (!Array.isArray(rows)) throw malformed(`the answer has no list "${key}"`)
  // An empty page is the end, whatever its link says (page "Paging").
  return { rows, next: rows.length === 0 ? null : readCursor(value.links, base) }
}

function readCursor(links: unknown, base: URL): string | null {
  if (links === undefined || links === null) return null
  if (!isRecord(links)) throw malformed('links is no object')
  const { next } = links
  if (next === undefined || next === null || next === '') return null
  const url = typeof next === 'string' ? URL.parse(next, base) : null
  if (url === null) throw malformed('links.next is no URL')
  const cursor = url.searchParams.get('page[after]')
  if (cursor === null || cursor === '' || cursor.length > maxCursorLength) {
    throw malformed('links.next has no readable page[after]')
  }
  return cursor
}

/** True for a JSON object: neither null, a list nor the text of a number. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  return !Array.isArray(value) && !(value instanceof NumberText)
}
