/**
 * Fiskil's lists: bodies decoded strictly, bare arrays (v1, v2) and wrapped ones (v3) read alike, and the
 * cursor taken from `links.next`. The link itself is never followed, so that a token is only sent to the
 * configured base address.
 */
import { isRecord, parseExactJson } from '#kernel/json.ts'
import { malformed } from './failures.ts'

export interface ListPage {
  readonly rows: readonly unknown[]
  /** The value of `page[after]` for the next page; null at the end. */
  readonly next: string | null
}

/** Fiskil's largest page; it clamps larger sizes. */
export const pageSize = 1000

const maxCursorLength = 4096

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Decodes UTF-8 strictly and parses JSON; throws UpstreamError `malformed`. */
export function readJson(body: Uint8Array): unknown {
  return decode(body, (text) => JSON.parse(text))
}

/** Does what `readJson` does, and keeps every number as its source text (reading R24). */
export function readExactJson(body: Uint8Array): unknown {
  return decode(body, parseExactJson)
}

function decode(body: Uint8Array, parse: (text: string) => unknown): unknown {
  try {
    return parse(decoder.decode(body))
  } catch (cause) {
    throw malformed('the answer is not JSON', cause)
  }
}

/**
 * Reads one page of a list from a parsed body.
 * @param key the key of the rows in the wrapped form.
 * @param base our own base address, which a relative link starts from. The host of an absolute link does not
 *   matter (behind a gateway it differs from ours), because only the cursor is read.
 */
export function readListPage(value: unknown, key: string, base: URL): ListPage {
  if (Array.isArray(value)) return { rows: value, next: null }
  if (!isRecord(value)) throw malformed(`the answer is not a list of ${key}`)
  const rows = value[key]
  if (!Array.isArray(rows)) throw malformed(`the answer has no list "${key}"`)
  // An empty page is the end, whatever its link says (docs/providers/fiskil.md, Reading).
  return { rows, next: rows.length === 0 ? null : readCursor(value.links, base) }
}

function readCursor(links: unknown, base: URL): string | null {
  if (links === undefined || links === null) return null
  if (!isRecord(links)) throw malformed('links is not an object')
  const { next } = links
  if (next === undefined || next === null || next === '') return null
  const url = typeof next === 'string' ? URL.parse(next, base) : null
  if (url === null) throw malformed('links.next is not a URL')
  const cursor = url.searchParams.get('page[after]')
  if (cursor === null || cursor === '' || cursor.length > maxCursorLength) {
    throw malformed('links.next has no readable page[after]')
  }
  return cursor
}
