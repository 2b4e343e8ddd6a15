/**
 * The rows of a reading as bytes: a first line that says where each day lies, then the rows as JSON, each
 * with a comma behind it, so that neighbouring days are a list once they stand between brackets. A page
 * parses the days that it shows, not the years around them. Pure.
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
  /** The pending rows lie behind the last day. */
  readonly days: readonly DayPlace[]
}

export function writeKeptRows({ rows, pending, count }: KeptRows): Uint8Array {
  const texts: Buffer[] = []
  const days: DayPlace[] = []
  let end = 0
  for (const ofDay of groupByDay(rows)) {
    const text = toBytes(ofDay)
    texts.push(text)
    end += text.length
    days.push({ day: ofDay[0]?.day ?? null, end, rows: ofDay.length })
  }
  const index: Index = { count, days }
  return Buffer.concat([Buffer.from(`${JSON.stringify(index)}\n`), ...texts, toBytes(pending)])
}

const toBytes = (rows: readonly AnyRow[]): Buffer =>
  Buffer.from(rows.map((row) => `${JSON.stringify(row)},`).join(''))

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
  /** For `parseRows`. */
  readonly rows: Uint8Array
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
  const index = JSON.parse(bytes.toString('utf8', 0, start)) as Index
  return { ...index, rest: bytes.subarray(start) }
}

/** Rows that were kept. */
export function parseRows(bytes: Uint8Array): readonly AnyRow[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  return JSON.parse(`[${text.slice(0, -1)}]`) as AnyRow[]
}

/** The rows that are not booked yet. */
export function readKeptPending(body: Uint8Array): readonly AnyRow[] {
  const { days, rest } = openKeptRows(body)
  return parseRows(rest.subarray(days.at(-1)?.end ?? 0))
}

/** The currency of the newest rows, where they have one alone. */
export function findKeptCurrency(body: Uint8Array): string | null {
  const { rows } = sliceKeptRows(body, { until: null, isFirst: true }, 1)
  const currencies = parseRows(rows).flatMap((row) => (isReadable(row) ? row.currency : []))
  const [currency = null, ...others] = new Set(currencies)
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
  const start = first < 0 ? days.length : first
  let at = start
  for (let rows = 0; at < days.length && rows < least; at += 1) rows += days[at]?.rows ?? 0
  const last = days[at - 1]
  const rows = rest.subarray(days[start - 1]?.end ?? 0, last?.end ?? 0)
  if (at === start || at === days.length) return { count, rows, until: null }
  // Rows of an unknown day are never the end of a page: no day leads on from them.
  return { count, rows, until: last?.day ?? latest }
}

/** After every day that a bank can tell. */
const latest = '9999-12-31'
