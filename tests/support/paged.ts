/**
 * A provider of paged rows for tests of walks: its rows can be changed at any time, its pages begin after a row
 * (cursors) or at an offset (visible or hidden), as those of the real ones do. It counts what is read.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { AccountId, ConnectionId, LoginId, UpstreamId } from '#kernel/ids.ts'
import { getZone } from '#kernel/time.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { AccountRef, CallContext, RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import type { SharedWalks } from '#store/ports/kv.ts'

export interface PagedRow {
  readonly id: string
  readonly time: number
  /** Of another account or pending: read, never shown. */
  readonly foreign: boolean
}

/** `after`: a cursor names the last row. `number`: offsets, with a total. `hidden`: offsets that look like cursors. */
export type Paging = 'after' | 'number' | 'hidden'

export interface PagedWorld {
  /** By stream, newest first; tests may change them. */
  readonly streams: PagedRow[][]
  readonly reader: RowReader<RowPage<PagedRow>>
  readonly queries: readonly RowsQuery[]
  /** Every page that was read, as `stream:cursor`. */
  readonly reads: string[]
  /** Called before each page is answered. */
  onRead: () => void
}

export const aCall = (): CallContext => ({
  signal: new AbortController().signal,
  priority: 'user',
})

export function makePagedQuery(stream: number): RowsQuery {
  const account: AccountRef = {
    id: `account-${stream}` as AccountId,
    connectionId: 'connection' as ConnectionId,
    upstreamId: `u${stream}` as UpstreamId,
    name: 'Account',
    currency: 'AUD',
  }
  return {
    login: { id: 'login' as LoginId, upstreamUserId: 'u', secret: null, version: 1 },
    connection: {
      id: 'connection' as ConnectionId,
      upstreamId: 'c' as UpstreamId,
      status: 'active',
    },
    accounts: [account],
    scoped: true,
    window: { from: null, to: null },
    zone: getZone('UTC'),
  }
}

/** @param bodyBytes the least size of a body. */
export function makePagedWorld(options: {
  readonly streams: PagedRow[][]
  readonly paging: Paging
  readonly pageSize: number
  readonly bodyBytes?: number
}): PagedWorld {
  const { streams, paging, pageSize, bodyBytes = 0 } = options
  const queries = streams.map((_rows, index) => makePagedQuery(index))
  const world: PagedWorld = {
    streams,
    queries,
    reads: [],
    onRead: () => undefined,
    reader: null as never,
  }

  function encode(number: number, cursor: string | null): Uint8Array {
    const rows = streams[number] ?? []
    const start = toStart(rows, cursor)
    const shown = rows.slice(start, start + pageSize)
    const end = start + shown.length
    const next =
      end < rows.length ? (paging === 'after' ? `a${shown.at(-1)?.id}` : `n${end}`) : null
    const text = JSON.stringify({ rows: shown, next, end, total: rows.length })
    return new Uint8Array(Buffer.from(text.padEnd(bodyBytes)))
  }

  function toStart(rows: readonly PagedRow[], cursor: string | null): number {
    if (cursor === null) return 0
    if (cursor.startsWith('n')) return Number(cursor.slice(1))
    const found = rows.findIndex(({ id }) => id === cursor.slice(1))
    if (found >= 0) return found + 1
    const detail = 'no such cursor'
    throw new UpstreamError('fiskil', { kind: 'unavailable', status: 503, detail })
  }

  function open(query: RowsQuery, body: Uint8Array): RowPage<PagedRow> {
    const { rows, next, end, total } = JSON.parse(Buffer.from(body).toString()) as {
      rows: PagedRow[]
      next: string | null
      end: number
      total: number
    }
    const account = query.accounts[0]
    assert(account !== undefined)
    const at = (index: number) => rows[index] ?? assert.fail(`no row ${index}`)
    const ahead: string[] = []
    if (paging === 'number' && next !== null && rows.length === pageSize) {
      for (let start = end + pageSize; start < total; start += pageSize) ahead.push(`n${start}`)
    }
    return {
      length: rows.length,
      next,
      ahead,
      total: paging === 'number' ? total : null,
      ownRows: rows.filter(({ foreign }) => !foreign).length,
      body,
      head: (index) =>
        at(index).foreign ? null : { id: at(index).id, account, time: at(index).time },
      map: at,
    }
  }

  const reader: RowReader<RowPage<PagedRow>> = {
    pageSize,
    async read(query, cursor) {
      const number = query.accounts[0]?.id.split('-')[1] ?? ''
      world.reads.push(`${number}:${cursor ?? ''}`)
      world.onRead()
      const body = encode(Number(number), cursor)
      await Promise.resolve()
      return open(query, body)
    },
    open: (query, _cursor, body) => open(query, body),
  }
  return Object.assign(world, { reader })
}

/** What processes share, in memory: the contract of the shared store without expiry. */
export function makeSharedWalks(): SharedWalks & { readonly saves: () => number } {
  const kept = new Map<string, { version: string; bytes: Uint8Array }>()
  let saves = 0
  return {
    saves: () => saves,
    async load(key, known) {
      const found = kept.get(key)
      if (found === undefined) return { kind: 'none' }
      return found.version === known ? { kind: 'same' } : { kind: 'found', ...found }
    },
    async save(key, { expected, bytes }) {
      if ((kept.get(key)?.version ?? null) !== expected) return { kind: 'conflict' }
      const version = randomUUID()
      kept.set(key, { version, bytes: new Uint8Array(bytes) })
      saves += 1
      return { kind: 'saved', version }
    },
  }
}
