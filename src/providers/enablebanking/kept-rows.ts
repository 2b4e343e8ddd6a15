/**
 * The rows of a reading as bytes: a first line that says where each day lies, then the rows of each day as
 * JSON. A page parses the days that it shows, not the years around them. Pure.
 */
import { type AnyRow, isReadable, type KeptRows } from './rows.ts'

/** A day, newest first: its rows are `rows` in number, and end `end` bytes behind the first line. */
interface DayPlace {
  /** Null: rows of an unknown day, before all others. */
  readonly day: string | null
  readonly end: number
  readonly rows: number
}

interface Index {
  /** Rows of any status. */
  readonly count: number
  readonly days: readonly DayPlace[]
  /** Where the pending rows end, which lie behind the days. Absent: there are none. */
  readonly pendingEnd?: number
}

export function writeKeptRows({ rows, pending, count }: KeptRows): Uint8Array {
  const texts: Buffer[] = []
  const days: DayPlace[] = []
  let end = 0
  for (const ofDay of groupByDay(rows)) {
    const text = Buffer.from(JSON.stringify(ofDay))
    texts.push(text)
    end += text.length
    days.push({ day: ofDay[0]?.day ?? null, end, rows: ofDay.length })
  }
  const index: Index = { count, days }
  if (pending.length > 0) {
    const text = Buffer.from(JSON.stringify(pending))
    texts.push(text)
    return join({ ...index, pendingEnd: end + text.length }, texts)
  }
  return join(index, texts)
}

function join(index: Index, texts: readonly Buffer[]): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify(index)}\n`), ...texts])
}

function groupByDay(rows: readonly AnyRow[]): AnyRow[][] {
  const groups: AnyRow[][] = []
  for (const row of rows) {
    const last = groups.at(-1)
    if (last !== undefined && last[0]?.day === row.day) last.push(row)
    else groups.push([row])
  }
  return groups
}

export interface RowsSlice {
  /** Rows of any status in the whole reading: they prove that the consent is alive. */
  readonly count: number
  readonly rows: readonly AnyRow[]
  /** The rows before this day come next; null: there are none. */
  readonly until: string | null
}

interface OpenRows extends Index {
  /** What lies behind the first line. */
  readonly rest: Buffer
}

function openKeptRows(body: Uint8Array): OpenRows {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const start = bytes.indexOf('\n') + 1
  // Nothing else was ever kept as the first line.
  const index = JSON.parse(bytes.subarray(0, start).toString()) as Index
  return { ...index, rest: bytes.subarray(start) }
}

/** The rows that are not booked yet. */
export function readKeptPending(body: Uint8Array): readonly AnyRow[] {
  const { days, pendingEnd, rest } = openKeptRows(body)
  if (pendingEnd === undefined) return []
  return JSON.parse(rest.subarray(days.at(-1)?.end ?? 0, pendingEnd).toString()) as AnyRow[]
}

/** The currency of the newest rows, where they have one alone. */
export function findKeptCurrency(body: Uint8Array): string | null {
  const { rows } = sliceKeptRows(body, { until: null, isFirst: true }, 1)
  const [currency = null, ...others] = new Set(rows.filter(isReadable).map((row) => row.currency))
  return others.length === 0 ? currency : null
}

/** Where a page begins. */
export interface SliceStart {
  /** Its rows are before this day; null: the newest of all. */
  readonly until: string | null
  /** The first page of a list also has the rows of an unknown day. */
  readonly isFirst: boolean
}

/** Whole days, the newest ones first, until there are `least` rows. */
export function sliceKeptRows(
  body: Uint8Array,
  { until, isFirst }: SliceStart,
  least: number,
): RowsSlice {
  const { count, days, rest } = openKeptRows(body)
  const isBefore = ({ day }: DayPlace) => until === null || (day === null ? isFirst : day < until)
  const first = days.findIndex(isBefore)
  const rows: AnyRow[] = []
  let at = first < 0 ? days.length : first
  for (; at < days.length && rows.length < least; at += 1) {
    const from = days[at - 1]?.end ?? 0
    const ofDay = rest.subarray(from, days[at]?.end ?? from).toString()
    for (const row of JSON.parse(ofDay) as AnyRow[]) rows.push(row)
  }
  const last = days[at - 1]?.day ?? null
  // Rows of an unknown day are never the end of a page: no day leads on from them.
  if (at < days.length && rows.length > 0 && last === null) return { count, rows, until: latest }
  return { count, rows, until: at < days.length && last !== null ? last : null }
}

/** After every day that a bank can tell. */
const latest = '9999-12-31'
