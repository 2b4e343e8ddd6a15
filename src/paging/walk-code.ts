/**
 * Encodes the state of a walk as bytes, and decodes it: each row's fingerprint and place, about ten bytes in total.
 * No body, no id, no amount. The layout has a version; bytes of another version are ignored.
 */
import type { PageCursor, TimeWindow } from '#providers/port.ts'
import { type ByteReader, type ByteWriter, makeByteReader, makeByteWriter } from './byte-code.ts'
import type { Print } from './fingerprint.ts'
import { addRow, makeRowTable, type RowTable } from './row-table.ts'
import type { Stream } from './stream.ts'
import { type AnyWalk, type Place, rowNumber, streamNumber, toPlace } from './walk-state.ts'

const layout = 1
/** Beyond this, the difference of two times is too large for the encoding. */
const maxWhole = 2 ** 50

type Kept = Pick<
  Stream<unknown>,
  | 'table'
  | 'consumed'
  | 'pages'
  | 'extras'
  | 'ahead'
  | 'ownRows'
  | 'lastOwnRows'
  | 'total'
  | 'received'
  | 'repeated'
  | 'ignored'
  | 'unlocated'
  | 'free'
>

export interface KeptStream extends Kept {
  /** The bounds that the walk began with; bounds computed later may differ. */
  readonly window: TimeWindow
}

export interface KeptWalk {
  readonly expiresAt: number
  readonly seed: Readonly<Print>
  readonly believed: boolean
  readonly streams: readonly KeptStream[]
  readonly merged: Place[]
}

export function encodeWalk(state: AnyWalk, expiresAt: number): Uint8Array {
  const { seed, believed, streams, merged } = state
  const out = makeByteWriter()
  out.count(layout)
  out.number(expiresAt)
  out.bits(seed.first)
  out.bits(seed.second)
  out.count(believed ? 1 : 0)
  out.count(streams.length)
  for (const stream of streams) encodeStream(out, stream, streams.length > 1)
  out.count(merged.length)
  // Each stream's rows keep their order, so the stream alone is written.
  for (const place of merged) out.count(streamNumber(place))
  return out.end()
}

/** Null when the bytes are not a walk, or have another version. */
export function decodeWalk(bytes: Uint8Array): KeptWalk | null {
  const from = makeByteReader(bytes)
  try {
    if (from.count() !== layout) return null
    const expiresAt = from.number()
    const seed = { first: from.bits(), second: from.bits() }
    const believed = from.count() === 1
    const streams = Array.from({ length: from.count() }, () => decodeStream(from))
    const next = streams.map(() => 0)
    const merged = Array.from({ length: from.count() }, () => {
      const stream = from.count()
      const row = next[stream] ?? 0
      next[stream] = row + 1
      return toPlace(stream, row)
    })
    const isWhole = merged.every((place) => {
      return rowNumber(place) < (streams[streamNumber(place)]?.table.count ?? 0)
    })
    return isWhole && from.isAtEnd() ? { expiresAt, seed, believed, streams, merged } : null
  } catch (error) {
    if (error instanceof RangeError || error instanceof SyntaxError) return null
    throw error
  }
}

function encodeStream(out: ByteWriter, stream: Stream<unknown>, isTimed: boolean): void {
  out.text(JSON.stringify(stream.query.window))
  for (const list of [stream.pages, stream.extras, stream.ahead]) {
    out.count(list.length)
    for (const cursor of list) out.text(cursor)
  }
  out.count(stream.total === null ? 0 : stream.total + 1)
  const { consumed, ownRows, lastOwnRows, received, repeated, unlocated, free } = stream
  for (const value of [consumed, ownRows, lastOwnRows, received, repeated, unlocated, free]) {
    out.count(value)
  }
  out.count(stream.ignored.size)
  for (const [key, page] of stream.ignored) {
    out.number(key)
    out.whole(page)
  }
  encodeRows(out, stream.table, isTimed || stream.table.copies !== null)
}

function decodeStream(from: ByteReader): KeptStream {
  const window: TimeWindow = JSON.parse(from.text() ?? 'null')
  const readList = () => Array.from({ length: from.count() }, () => toCursor(from.text()))
  const [pages, extras, ahead] = [readList(), readList(), readList()]
  const total = from.count() - 1
  const [consumed, ownRows, lastOwnRows] = [from.count(), from.count(), from.count()]
  const [received, repeated, unlocated, free] = [
    from.count(),
    from.count(),
    from.count(),
    from.count(),
  ]
  const ignored = new Map<number, number>()
  for (let left = from.count(); left > 0; left -= 1) ignored.set(from.number(), from.whole())
  const table = decodeRows(from)
  return {
    window,
    pages,
    extras,
    ahead,
    total: total < 0 ? null : total,
    consumed,
    ownRows,
    lastOwnRows,
    received,
    repeated,
    unlocated,
    free,
    ignored,
    table,
  }
}

const toCursor = (text: string | null): PageCursor | null => text

function encodeRows(out: ByteWriter, table: RowTable, isTimed: boolean): void {
  const { count, prints, copies, keys } = table
  out.count(count)
  out.count(copies === null ? 0 : 1)
  for (let index = 0; index < count * 2; index += 1) out.bits(prints[index] ?? 0)
  encodePlaces(out, table)
  encodeTimes(out, isTimed ? table.times.subarray(0, count) : null)
  if (copies === null || keys === null) return
  for (let row = 0; row < count; row += 1) {
    const key = keys[row] ?? 0
    out.count((copies[row] ?? 1) * 2 + (key === 0 ? 0 : 1))
    if (key !== 0) out.number(key)
  }
}

function decodeRows(from: ByteReader): RowTable {
  const count = from.count()
  const table = makeRowTable(from.count() === 1)
  const print = { first: 0, second: 0 }
  const nowhere = { page: 0, row: 0 }
  for (let row = 0; row < count; row += 1) {
    print.first = from.bits()
    print.second = from.bits()
    addRow(table, print, 0, nowhere)
  }
  decodePlaces(from, table)
  decodeTimes(from, table)
  if (table.copies === null || table.keys === null) return table
  for (let row = 0; row < count; row += 1) {
    const code = from.count()
    table.copies[row] = Math.floor(code / 2)
    if (code % 2 === 1) table.keys[row] = from.number()
  }
  return table
}

/** One byte for a row that is on the same page as the previous row, a little further down. */
function encodePlaces(out: ByteWriter, { count, pages, rows }: RowTable): void {
  let [page, row] = [0, -1]
  for (let index = 0; index < count; index += 1) {
    const [nextPage, nextRow] = [pages[index] ?? 0, rows[index] ?? 0]
    if (nextPage === page && nextRow > row) out.count(nextRow - row)
    else {
      out.count(0)
      out.count(nextPage + 1)
      out.count(nextRow + 1)
    }
    page = nextPage
    row = nextRow
  }
}

function decodePlaces(from: ByteReader, { count, pages, rows }: RowTable): void {
  let [page, row] = [0, -1]
  for (let index = 0; index < count; index += 1) {
    const step = from.count()
    if (step > 0) row += step
    else {
      page = from.count() - 1
      row = from.count() - 1
    }
    pages[index] = page
    rows[index] = row
  }
}

/** Times are needed where streams are merged, and where fills with equal times are numbered. */
function encodeTimes(out: ByteWriter, times: Float64Array | null): void {
  const isWhole = times?.every((time) => Math.abs(time) < maxWhole && Number.isInteger(time))
  out.count(times === null ? 0 : isWhole === true ? 1 : 2)
  if (times === null) return
  let before = 0
  for (const time of times) {
    if (isWhole === true) out.whole(time - before)
    else out.number(time)
    before = time
  }
}

function decodeTimes(from: ByteReader, { count, times }: RowTable): void {
  const kind = from.count()
  if (kind === 0) return
  let before = 0
  for (let row = 0; row < count; row += 1) {
    before = kind === 1 ? before + from.whole() : from.number()
    times[row] = before
  }
}
