/**
 * The rows of a page's body, parsed only where somebody needs them: of most rows only a few texts are looked at, and those are
 * found by a scan of the bytes. Each row is exactly what JSON.parse makes of the page.
 */
import type { RowScan } from '#kernel/row-scan.ts'

export type ParsedRow = Readonly<Record<string, unknown>>

export interface RowSource {
  readonly length: number
  /** The row with all its fields. */
  row(index: number): ParsedRow
  /**
   * Where the text of a field stands in the body, without quotes and escapes. `field`: its place in the list of scanned
   * names. An end of 0: only `row` can say what the field is.
   */
  from(index: number, field: number): number
  to(index: number, field: number): number
  /**
   * Makes a look-up of a field's text: its value, null for any other text, undefined where only `row` can say what the field is.
   */
  lookUp<Value>(
    field: number,
    values: ReadonlyMap<string, Value>,
  ): (index: number) => Value | null | undefined
}

/** Rows that are parsed together: a parse of its own for each costs half as much again. */
const rowsPerBlock = 32

/** Rows of a scanned body; `fields` is the number of names in the scan. */
export function makeScannedRows(body: Uint8Array, scan: RowScan, fields: number): RowSource {
  const { length, bounds, texts } = scan
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const blocks: (readonly ParsedRow[] | undefined)[] = []

  function parseBlock(block: number): readonly ParsedRow[] {
    const first = block * rowsPerBlock
    const last = Math.min(first + rowsPerBlock, length) - 1
    const rows = bytes.toString('utf8', bounds[first * 2], bounds[last * 2 + 1])
    return JSON.parse(`[${rows}]`)
  }
  const from = (index: number, field: number) => texts[(index * fields + field) * 2] ?? 0
  const to = (index: number, field: number) => texts[(index * fields + field) * 2 + 1] ?? 0

  return {
    length,
    row(index) {
      const number = Math.floor(index / rowsPerBlock)
      const block = blocks[number] ?? parseBlock(number)
      blocks[number] = block
      return rowAt(block, index % rowsPerBlock)
    },
    from,
    to,
    lookUp<Value>(field: number, values: ReadonlyMap<string, Value>) {
      const known = [...values].map(([text, value]) => ({ name: toBytes(text), value }))
      let lastFrom = -1
      let last: Value | null = null
      return (index: number) => {
        const end = to(index, field)
        if (end === 0) return undefined
        const begin = from(index, field)
        // The place of the row before is the text of the row before.
        if (begin !== lastFrom) {
          lastFrom = begin
          last = known.find(({ name }) => isSame(bytes, begin, end, name))?.value ?? null
        }
        return last
      }
    },
  }
}

/** Rows that are parsed already. */
export function makeParsedRows(rows: readonly ParsedRow[]): RowSource {
  return {
    length: rows.length,
    row: (index) => rowAt(rows, index),
    from: () => 0,
    to: () => 0,
    lookUp: () => () => undefined,
  }
}

function rowAt(rows: readonly ParsedRow[], index: number): ParsedRow {
  const row = rows[index]
  if (row === undefined) throw new RangeError(`the page has no row ${index}`)
  return row
}

/** Null for a text that UTF-8 cannot write: no text of a page without escapes is the same. */
function toBytes(text: string): Uint8Array | null {
  return text.isWellFormed() ? new Uint8Array(Buffer.from(text)) : null
}

function isSame(bytes: Uint8Array, from: number, to: number, name: Uint8Array | null): boolean {
  if (name === null || to - from !== name.length) return false
  for (let at = 0; at < name.length; at += 1) if (bytes[from + at] !== name[at]) return false
  return true
}

/** Whether the characters of this part of the body are ASCII. */
export function isAscii(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if ((bytes[at] ?? 0) > 127) return false
  return true
}
