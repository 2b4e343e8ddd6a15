/**
 * The state of a walk: its streams, the order of the merged rows, and which part of it windows were answered from.
 * Nothing is sorted: streams are merged by time, newest first, each in its own order (reading R16). The functions
 * work on plain state; they neither read nor wait.
 */
import type { RowPage, RowsQuery } from '#providers/port.ts'
import { type Fingerprint, makeFingerprint, makeFingerprintKey, type Print } from './fingerprint.ts'
import { emptyPage, type HeldPage, type PageHolder, type PageMemory } from './page-memory.ts'
import { noPage } from './row-table.ts'
import {
  cursorOf,
  goBack,
  type Mark,
  makeStream,
  markStream,
  restartStream,
  type Stream,
  type StreamSource,
  sizeOfStream,
} from './stream.ts'

export interface WalkSource<Page extends RowPage<unknown>> extends StreamSource<Page> {
  /** One per stream; equal times are merged in this order. */
  readonly queries: readonly RowsQuery[]
}

/** A merged row: stream and row in one number, because plain numbers need no garbage collection. */
export type Place = number
const rowsPerStream = 2 ** 32
export const toPlace = (stream: number, row: number): Place => stream * rowsPerStream + row
export const streamNumber = (place: Place): number => Math.floor(place / rowsPerStream)
export const rowNumber = (place: Place): number => place % rowsPerStream

export interface WalkState<Page extends RowPage<unknown>> {
  readonly source: WalkSource<Page>
  readonly memory: PageMemory
  readonly holder: PageHolder
  seed: Readonly<Print>
  fingerprint: Fingerprint
  streams: Stream<Page>[]
  /** The merged order when there are several streams; a single stream's order is that of its rows. */
  merged: Place[]
  /** The provider confirmed a doubted end; false again when another page is read. */
  believed: boolean
  /** Has changes that are not saved for other processes. */
  dirty: boolean
  /** The state that windows were answered from. Null: none yet. */
  answered: { readonly marks: readonly Mark[]; readonly merged: number } | null
  /** The pages where the latest windows begin, by stream: earlier pages are needed least, then those far ahead. */
  fronts: (readonly number[])[]
}

/** A walk with pages of any type. */
export type AnyWalk = WalkState<RowPage<unknown>>

/** Starts at the newest row. */
export function makeWalkState<Page extends RowPage<unknown>>(
  source: WalkSource<Page>,
  memory: PageMemory,
): WalkState<Page> {
  const seed = makeFingerprintKey()
  const state: WalkState<Page> = {
    source,
    memory,
    holder: { release: () => releaseLeastNeeded(state) },
    seed,
    fingerprint: makeFingerprint(seed),
    streams: source.queries.map((query) => makeStream(source, query)),
    merged: [],
    believed: false,
    dirty: false,
    answered: null,
    fronts: [],
  }
  return state
}

export const isDone = ({ streams }: AnyWalk): boolean =>
  streams.every(({ ahead }) => ahead.length === 0)

/** The number of rows whose place in the order is certain. */
export const countMerged = ({ streams }: AnyWalk): number =>
  streams.reduce((sum, { consumed }) => sum + consumed, 0)

export function placeAt({ streams, merged }: AnyWalk, position: number): Place {
  return (streams.length === 1 ? position : merged[position]) ?? 0
}

/**
 * True for an end that must be checked (reading R20b), unless it was confirmed and no page was read since: no stream
 * has any row of the connection, or an announced page came without one. One empty account among several is no such
 * end.
 */
export function isDoubtful({ streams, believed }: AnyWalk): boolean {
  if (believed) return false
  const ended = streams.filter(({ ahead }) => ahead.length === 0)
  if (ended.length === streams.length && ended.every(({ ownRows }) => ownRows === 0)) return true
  return ended.some(({ pages, lastOwnRows }) => pages.length > 1 && lastOwnRows === 0)
}

/**
 * Merges rows as far as the order is certain, which is while every unfinished stream has a row to compare. Pages of
 * the window are added to `shown` and stay parsed; others lose their parsed form once their rows are counted.
 */
export function merge<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  window: { readonly offset: number; readonly limit: number },
  shown: Set<HeldPage<Page>>,
): void {
  const { streams, merged } = state
  const end = window.offset + window.limit
  let count = countMerged(state)
  let [lastStream, lastPage] = [-1, noPage]
  for (;;) {
    const newest = findNewest(streams)
    const stream = newest === -1 ? undefined : streams[newest]
    if (stream === undefined) break
    const row = stream.consumed
    if (streams.length > 1) merged.push(toPlace(newest, row))
    stream.consumed = row + 1
    if (count >= window.offset && count < end) {
      const page = stream.table.pages[row] ?? noPage
      if (page !== lastPage || newest !== lastStream) {
        lastStream = newest
        lastPage = page
        const held = page === noPage ? undefined : stream.bodies.get(cursorOf(stream, page))
        if (held !== undefined) shown.add(held)
      }
    }
    count += 1
  }
  for (const stream of streams) dropUsed(stream, shown)
}

/** The stream whose next row is the newest; -1 when there is none, or when more must be read to decide. */
function findNewest(streams: readonly Stream<unknown>[]): number {
  let best = -1
  let bestTime = Number.NEGATIVE_INFINITY
  for (let index = 0; index < streams.length; index += 1) {
    const stream = streams[index]
    if (stream === undefined) continue
    const { table, consumed } = stream
    if (consumed >= table.count) {
      if (stream.ahead.length > 0) return -1
      continue
    }
    const time = table.times[consumed] ?? 0
    if (best === -1 || time > bestTime) {
      best = index
      bestTime = time
    }
  }
  return best
}

/** Releases the parsed form of pages that are merged completely and not part of the window. */
function dropUsed<Page>(stream: Stream<Page>, shown: ReadonlySet<HeldPage<Page>>): void {
  const { table, consumed } = stream
  const next = consumed < table.count ? (table.pages[consumed] ?? noPage) : stream.pages.length
  for (const held of stream.bodies.values()) {
    if (held.parsed !== null && held.page < next && !shown.has(held)) held.parsed = null
  }
}

/** Fixes the place of every row merged so far, because a window is answered from it. */
export function markAnswered(state: AnyWalk): void {
  state.answered = { marks: state.streams.map(markStream), merged: state.merged.length }
}

/**
 * Restarts a stream from its first page; the part that windows were answered from keeps its places. Returns the
 * number of pages read since then, which must be read again.
 */
export function restart<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  index: number,
): number {
  const { source, streams, answered } = state
  const old = streams[index]
  if (old === undefined) throw new RangeError(`there is no stream ${index}`)
  state.merged.length = answered?.merged ?? 0
  streams.forEach((stream, other) => {
    stream.consumed = answered?.marks[other]?.at.consumed ?? 0
  })
  dropBodies(state, old)
  const fixed = Math.min(old.consumed, old.table.count)
  streams[index] = restartStream(source, old, fixed)
  state.believed = false
  state.dirty = true
  const mark = answered?.marks[index]
  return old.pages.length - (mark?.stream === old ? mark.pageCount : 0)
}

/** Drops what was read since the latest answer, or everything when there is none. */
export function rollBack<Page extends RowPage<unknown>>(state: WalkState<Page>): void {
  const { answered, source } = state
  for (const stream of state.streams) dropBodies(state, stream)
  if (answered === null) {
    renew(state)
    return
  }
  state.merged.length = answered.merged
  state.streams = answered.marks.map((mark) => {
    // All marks are of streams of this walk.
    const stream = mark.stream as Stream<Page>
    goBack(source, stream, mark)
    return stream
  })
}

/** Restarts with no known rows. */
export function renew<Page extends RowPage<unknown>>(state: WalkState<Page>): void {
  for (const stream of state.streams) dropBodies(state, stream)
  state.streams = state.streams.map(({ query }) => makeStream(state.source, query))
  state.merged = []
  state.answered = null
  state.believed = false
  state.fronts = []
  state.dirty = true
}

export function hold<Page>(
  state: Pick<AnyWalk, 'memory' | 'holder'>,
  stream: Stream<Page>,
  held: HeldPage<Page>,
): void {
  drop(state, stream, stream.bodies.get(held.cursor))
  stream.bodies.set(held.cursor, held)
  state.memory.add(state.holder, held.body.length)
}

export function dropBodies<Page>(
  state: Pick<AnyWalk, 'memory' | 'holder'>,
  stream: Stream<Page>,
): void {
  for (const held of [...stream.bodies.values()]) drop(state, stream, held)
}

function drop<Page>(
  { memory, holder }: Pick<AnyWalk, 'memory' | 'holder'>,
  stream: Stream<Page>,
  held: HeldPage<Page> | undefined,
): void {
  if (held === undefined) return
  stream.bodies.delete(held.cursor)
  memory.add(holder, -emptyPage(held))
}

/** Several readers may use one walk. */
const maxFronts = 4

/** Records the pages where a window begins, by stream. */
export function addFront(state: AnyWalk, pages: readonly number[]): void {
  state.fronts.push(pages)
  if (state.fronts.length > maxFronts) state.fronts.shift()
}

/** Evicts a page that no request is using: first a page that every window has passed, then the one furthest ahead. */
function releaseLeastNeeded({ streams, fronts }: AnyWalk): number {
  const all = streams.flatMap((stream, index) =>
    [...stream.bodies.values()].map((held) => ({ stream, held, index })),
  )
  const free = all.filter(({ held }) => held.parsed === null)
  const ranked = free.map((one) => {
    const begins = fronts.length === 0 ? [0] : fronts.map((front) => front[one.index] ?? 0)
    return { ...one, rank: rankOf(one.held.page, begins) }
  })
  const [first, ...others] = ranked
  if (first === undefined) return 0
  const { stream, held } = others.reduce((a, b) => (b.rank > a.rank ? b : a), first)
  stream.bodies.delete(held.cursor)
  return emptyPage(held)
}

function rankOf(page: number, begins: readonly number[]): number {
  const before = begins.filter((begin) => begin <= page)
  return before.length > 0 ? page - Math.max(...before) : 2 ** 30 + Math.min(...begins) - page
}

/** Bytes held, excluding page bodies. */
export function sizeOfWalk({ streams, merged }: AnyWalk): number {
  return streams.reduce((sum, stream) => sum + sizeOfStream(stream), merged.length * 8)
}
