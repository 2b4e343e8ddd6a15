/**
 * The rows of a page of activities. Most are only looked at: their ids and dates are found by a scan of the bytes. A row that
 * is shown is parsed, and its numbers keep every digit (reading R24). A page that the scan leaves alone is parsed as a whole.
 */
import { parseExactJson } from '#kernel/json.ts'
import { makeRowScanner, type RowScan } from '#kernel/row-scan.ts'
import { type Micros, parseInstantBytes } from '#kernel/time.ts'
import type { RowGlance } from '../port.ts'
import { isAscii, makeScannedRows, type RowSource } from '../row-source.ts'
import { microsPerDay, type ParseTime, readActivity } from './map-trade.ts'
import { findRows, type Row, readRows } from './numbers.ts'

export interface Activities {
  readonly length: number
  /** The object that contains the rows. */
  readonly envelope: Row
  /** What is looked at in a row. Throws `malformed` for anything but an object, as `exactRow` does. */
  row(index: number): Row
  /** The row with its numbers as text. */
  exactRow(index: number): Row
  /** As `RowPage.glance`. */
  glance(index: number, into: RowGlance): boolean | undefined
}

const list = 'data'
const texts = ['id', 'trade_date'] as const
const numbers = ['price', 'units', 'amount', 'fee'] as const
const [ofId, ofDate, firstNumber] = [0, 1, texts.length]
const scanRows = makeRowScanner(list, texts, numbers)

/** Opens a page; throws `malformed` when the body is not one. */
export function openActivities(body: Uint8Array, parseTime: ParseTime): Activities {
  const scan = scanRows(body)
  return scan === null ? parsePage(body) : toActivities(body, scan, parseTime)
}

function parsePage(body: Uint8Array): Activities {
  const { rows, envelope } = readRows(body, list)
  const row = (index: number) => readActivity(rows[index])
  return { length: rows.length, envelope, row, exactRow: row, glance: () => undefined }
}

function toActivities(body: Uint8Array, scan: RowScan, parseTime: ParseTime): Activities {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const rows = makeScannedRows(body, scan, firstNumber + numbers.length)
  return {
    length: rows.length,
    envelope: findRows(scan.envelope, list).envelope,
    row: rows.row,
    exactRow(index) {
      const row = rows.row(index)
      const exact: Record<string, unknown> = { ...row }
      for (const [place, key] of numbers.entries()) {
        if (typeof row[key] !== 'number') continue
        const from = rows.from(index, firstNumber + place)
        const to = rows.to(index, firstNumber + place)
        // Without a place some key of the row is unusual.
        exact[key] = to > 0 ? bytes.toString('latin1', from, to) : parseRow(bytes, scan, index)[key]
      }
      return exact
    },
    glance: makeGlance(bytes, rows, parseTime),
  }
}

function parseRow(bytes: Buffer, { bounds }: RowScan, index: number): Row {
  const text = bytes.toString('utf8', bounds[index * 2], bounds[index * 2 + 1])
  return readActivity(parseExactJson(text))
}

/** Every row that it judges is judged as by its parsed form. */
function makeGlance(bytes: Buffer, rows: RowSource, parseTime: ParseTime): Activities['glance'] {
  let lastFrom = -1
  let last: Micros | null = null
  return (index, into) => {
    const [from, to] = [rows.from(index, ofDate), rows.to(index, ofDate)]
    if (to <= from) return undefined
    // The place of the row before is the date of the row before.
    if (from !== lastFrom) {
      lastFrom = from
      last = readTime(bytes, from, to, parseTime)
    }
    if (last === null) return undefined
    into.time = last
    into.idFrom = rows.from(index, ofId)
    into.idTo = rows.to(index, ofId)
    return into.idTo > into.idFrom && isAscii(bytes, into.idFrom, into.idTo) ? true : undefined
  }
}

/** Most dates are moments, which need no text. Null for what only the parsed row can judge. */
function readTime(bytes: Buffer, from: number, to: number, parseTime: ParseTime): Micros | null {
  const time = parseInstantBytes(bytes, from, to)
  if (time !== null && time % microsPerDay !== 0) return time
  return parseTime(bytes.toString('utf8', from, to))?.time ?? null
}
