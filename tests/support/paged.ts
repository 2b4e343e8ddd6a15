/**
 * A provider of paged rows for tests of snapshots: its rows can be changed at any time, its pages begin after
 * a row (cursors) or at an offset, as those of the real ones do. It counts what is read.
 */
import assert from 'node:assert/strict'
import type { CachedAnswer } from '#fast/port.ts'
import type { AccountId, ConnectionId, LoginId, UpstreamId, UserId } from '#kernel/ids.ts'
import { addMicros, getZone, toMicros } from '#kernel/time.ts'
import type { SharedPlace } from '#paging/place.ts'
import type { AccountRef, CallContext, RowPage, RowReader, RowsQuery } from '#providers/port.ts'

export interface PagedRow {
  readonly id: string
  readonly time: number
  /** Of another account or pending: read, never shown. */
  readonly foreign: boolean
}

/**
 * `after`: a cursor names the time and id of the last row. `number`: offsets, with a total and a row of
 * overlap.
 */
export type Paging = 'after' | 'number'

export interface PagedWorld {
  /** By stream, newest first; tests may change them. */
  readonly streams: PagedRow[][]
  readonly reader: RowReader<RowPage<PagedRow>>
  readonly queries: readonly RowsQuery[]
  /** Every page that was read, as `stream:cursor`. */
  readonly reads: string[]
  /** Called before each page is answered; what it throws is the answer. */
  onRead: (cursor: string | null) => void
  /** Awaited before each page is answered. */
  wait: (call: CallContext) => Promise<void>
  /** The provider lists nothing, and says so with 200. */
  isBlank: boolean
  /** How many pages were read while it did. */
  blankPages: number
  /** The bank is silent: of the list there are only the rows of others. */
  isSilent: boolean
  /** Called before a page is answered while it is. */
  onSilent: () => void
  /** How many pages were asked to report rows that came before. */
  repeatedPages: number
  /** What `map` throws of a row; null: it can be read. */
  toFlaw: (row: PagedRow) => Error | null
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
    userId: 'user' as UserId,
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
  /** A full page announces another one, which may be empty. */
  readonly announces?: boolean
}): PagedWorld {
  const { streams, paging, pageSize, bodyBytes = 0, announces = false } = options
  const queries = streams.map((_rows, index) => makePagedQuery(index))
  const world: PagedWorld = {
    streams,
    queries,
    reads: [],
    onRead: () => undefined,
    wait: async () => undefined,
    isBlank: false,
    blankPages: 0,
    isSilent: false,
    onSilent: () => undefined,
    repeatedPages: 0,
    toFlaw: () => null,
    reader: null as never,
  }

  const overlap = paging === 'number' ? 1 : 0

  function encode(number: number, cursor: string | null): Uint8Array {
    if (world.isBlank) world.blankPages += 1
    if (world.isSilent) world.onSilent()
    const all = world.isBlank ? [] : (streams[number] ?? [])
    const rows = world.isSilent ? all.filter(({ foreign }) => foreign) : all
    const start = toStart(rows, cursor)
    const shown = rows.slice(start, start + pageSize)
    const end = start + shown.length
    const last = shown.at(-1)
    const hasNew = shown.length > (cursor === null ? 0 : overlap)
    const after = paging === 'after' ? `a${last?.time} ${last?.id}` : `n${end - overlap}`
    const isMore = end < rows.length || (announces && shown.length === pageSize)
    const next = isMore && hasNew ? after : null
    const text = JSON.stringify({ rows: shown, next, end, total: rows.length })
    return new Uint8Array(Buffer.from(text.padEnd(bodyBytes)))
  }

  /** A cursor goes on behind the place of its row, whether or not the row is still there. */
  function toStart(rows: readonly PagedRow[], cursor: string | null): number {
    if (cursor === null) return 0
    if (cursor.startsWith('n')) return Number(cursor.slice(1))
    const space = cursor.indexOf(' ')
    const [time, id] = [cursor.slice(1, space), cursor.slice(space + 1)]
    const found = rows.findIndex((row) => row.id === id && row.time === Number(time))
    if (found >= 0) return found + 1
    const below = rows.findIndex((row) => row.time <= Number(time))
    return below < 0 ? rows.length : below
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
      const step = pageSize - overlap
      for (let at = end - overlap + step; at + overlap < total; at += step) ahead.push(`n${at}`)
    }
    return {
      length: rows.length,
      next,
      ahead,
      total: paging === 'number' ? total : null,
      ownRows: rows.filter(({ foreign }) => !foreign).length,
      body,
      head: (index) =>
        at(index).foreign
          ? null
          : { id: at(index).id, account, time: addMicros(toMicros(0), at(index).time) },
      map(index) {
        const flaw = world.toFlaw(at(index))
        if (flaw !== null) throw flaw
        return at(index)
      },
      noteRepeated() {
        world.repeatedPages += 1
      },
    }
  }

  const reader: RowReader<RowPage<PagedRow>> = {
    pageSize,
    overlap,
    async read(query, cursor, call) {
      const number = query.accounts[0]?.id.split('-')[1] ?? ''
      world.reads.push(`${number}:${cursor ?? ''}`)
      await world.wait(call)
      world.onRead(cursor)
      const body = encode(Number(number), cursor)
      await Promise.resolve()
      return open(query, body)
    },
    open: (query, _cursor, body) => open(query, body),
  }
  return Object.assign(world, { reader })
}

export interface SharedMemory extends SharedPlace {
  /** The server of snapshots and bodies loses everything. */
  clear(): void
  /** The server of anchors loses everything. */
  clearAnchors(): void
  /** One snapshot or body is lost. */
  evict(pick: (below: number) => number): boolean
  /** While true the server of snapshots and bodies, or that of anchors, cannot be reached. */
  isDown: boolean
  isAnchorDown: boolean
  /** Awaited in each call. */
  wait: (what: 'load' | 'save') => Promise<void>
  saves(): number
}

/** What processes share, in memory: the contract of the shared store without expiry. */
export function makeSharedMemory(): SharedMemory {
  const bodies = new Map<string, CachedAnswer>()
  const wait = (what: 'load' | 'save') => shared.wait(what)
  const snapshots = makeValues({ isDown: () => shared.isDown, wait })
  const anchors = makeValues({ isDown: () => shared.isAnchorDown, wait })
  const shared: SharedMemory = {
    isDown: false,
    isAnchorDown: false,
    wait: async () => undefined,
    saves: () => snapshots.saves() + anchors.saves(),
    clear() {
      snapshots.kept.clear()
      bodies.clear()
    },
    clearAnchors: () => anchors.kept.clear(),
    evict(pick) {
      const keys = [...snapshots.kept.keys(), ...bodies.keys()]
      const key = keys[pick(keys.length)] ?? ''
      return snapshots.kept.delete(key) || bodies.delete(key)
    },
    snapshots: snapshots.values,
    anchors: anchors.values,
    bodies: {
      async get(key) {
        await wait('load')
        if (shared.isDown) return { kind: 'unavailable' }
        const answer = bodies.get(key)
        return answer === undefined ? { kind: 'miss' } : { kind: 'hit', answer }
      },
      async set(key, answer) {
        await wait('save')
        if (!shared.isDown) bodies.set(key, answer)
        return !shared.isDown
      },
    },
  }
  return shared
}

/** Values that are changed by compare-and-set. */
function makeValues({
  isDown,
  wait,
}: {
  readonly isDown: () => boolean
  readonly wait: SharedMemory['wait']
}) {
  const kept = new Map<string, { version: string; bytes: Uint8Array }>()
  let saves = 0
  const values: SharedPlace['snapshots'] = {
    async load(key, known) {
      await wait('load')
      if (isDown()) return { kind: 'unavailable' }
      const found = kept.get(key)
      if (found === undefined) return { kind: 'none' }
      return found.version === known ? { kind: 'same' } : { kind: 'found', ...found }
    },
    async save(key, { expected, bytes }) {
      await wait('save')
      if (isDown()) return { kind: 'unavailable' }
      if ((kept.get(key)?.version ?? null) !== expected) return { kind: 'conflict' }
      saves += 1
      const version = `${saves}`
      kept.set(key, { version, bytes: new Uint8Array(bytes) })
      return { kind: 'saved', version }
    },
  }
  return { kept, values, saves: () => saves }
}
