/**
 * The forms of the Fiskil emulator's answers: error bodies as the provider writes them (two kinds), and lists
 * in pages with cursors. The callers decide what is listed.
 */
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'

const maxPageSize = 1000
const defaultPageSize = 100

export interface Refusal {
  readonly status: number
  readonly name: string
  readonly message: string
}

/** A refusal of a data endpoint. */
export function dataError(refusal: Refusal): EmulatorReply {
  return {
    status: refusal.status,
    body: { id: 'err_sandbox', name: refusal.name, message: refusal.message },
  }
}

/**
 * A refusal of a sign-in or consent endpoint: the same with three booleans, under a content type of its own.
 */
export function serviceError(refusal: Refusal): EmulatorReply {
  return {
    status: refusal.status,
    headers: { 'content-type': 'application/vnd.goa.error' },
    body: {
      id: 'err_sandbox',
      name: refusal.name,
      message: refusal.message,
      fault: refusal.status >= 500,
      temporary: refusal.status === 503,
      timeout: false,
    },
  }
}

export interface Listed {
  /** The cursor of a page that ends here. */
  readonly key: string
  readonly body: unknown
}

/**
 * One page of a list: `page[size]` is clamped to 1,000, a size that is no positive number is refused with
 * 400, a cursor that names no row answers 503 as the live service does. `links.next` is a whole URL on the
 * host that was asked.
 */
export function page(
  request: EmulatorRequest,
  resource: string,
  rows: readonly Listed[],
): EmulatorReply {
  const sizeText = request.query.get('page[size]')
  const size = sizeText === null ? defaultPageSize : Number(sizeText)
  if (!Number.isInteger(size) || size < 1) {
    return dataError({ status: 400, name: 'bad_request', message: 'page[size] must be positive' })
  }
  const cursor = request.query.get('page[after]')
  const found = cursor === null ? -1 : rows.findIndex((row) => toCursor(row.key) === cursor)
  if (cursor !== null && found === -1) {
    return dataError({ status: 503, name: 'service_unavailable', message: 'please try again' })
  }
  const start = found + 1
  const shown = rows.slice(start, start + Math.min(size, maxPageSize))
  const last = shown.at(-1)
  const more = start + shown.length < rows.length && last !== undefined
  return {
    status: 200,
    body: {
      [resource]: shown.map((row) => row.body),
      links: more ? { next: nextUrl(request, toCursor(last.key)) } : {},
    },
  }
}

function nextUrl(request: EmulatorRequest, cursor: string): string {
  const query = new URLSearchParams(request.query)
  query.set('page[after]', cursor)
  return `http://${request.headers.host ?? 'localhost'}${request.path}?${query}`
}

function toCursor(key: string): string {
  return Buffer.from(`after:${key}`).toString('base64url')
}
