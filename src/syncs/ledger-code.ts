/**
 * How the ledger stores one month of one account: a header of two bytes, then 16 bytes for each row, sorted
 * by id. The first 8 are a fingerprint of the row's id, the last 8 one of its content; the lowest bit is set
 * when the provider no longer has the row. docs/decisions/0016-short-fingerprints.md gives the probability of
 * two equal ones.
 */
import { type PrintColumn, type SplitFingerprint, setPrint } from './print-table.ts'

/** Rows by their numbers, in columns. */
export interface LedgerEntries {
  readonly ids: PrintColumn
  /** Their lowest bit is unset; `unknownContent` where the content is unknown. */
  readonly contents: PrintColumn
  /** The provider did not have the row at the last read. */
  readonly gone: boolean[]
}

/** Bytes that this code cannot read: they were written by a newer version, or damaged. */
export class LedgerFormatError extends Error {
  override readonly name = 'LedgerFormatError'
}

/** The length of a fingerprint: an entry has one of the id and one of the content. */
const printBytes = 8
const wordBytes = 4
const entryBytes = 2 * printBytes
const headerBytes = 2
/** The version of this layout. */
const format = 2
const goneBit = 1

/**
 * The content of a row that was stored under another list of fields: its next content counts as unchanged.
 */
export const unknownContent: SplitFingerprint = { high: 0, low: 0 }

/** No rows yet. */
export function makeEntries(): LedgerEntries {
  return { ids: { high: [], low: [] }, contents: { high: [], low: [] }, gone: [] }
}

/**
 * @param rows the numbers of the rows to encode; their ids are distinct.
 * @param contentVersion the list of fields that the contents were made of: from 0 to 255.
 */
export function encodeLedger(
  { ids, contents, gone }: LedgerEntries,
  rows: readonly number[],
  contentVersion: number,
): Uint8Array {
  const bytes = new Uint8Array(headerBytes + rows.length * entryBytes)
  const view = new DataView(bytes.buffer)
  bytes[0] = format
  bytes[1] = contentVersion
  let at = headerBytes
  for (const row of rows.toSorted(byId(ids))) {
    writePrint(view, at, { high: ids.high[row] ?? 0, low: ids.low[row] ?? 0 })
    const low = (contents.low[row] ?? 0) | (gone[row] === true ? goneBit : 0)
    writePrint(view, at + printBytes, { high: contents.high[row] ?? 0, low })
    at += entryBytes
  }
  return bytes
}

function writePrint(view: DataView, at: number, { high, low }: SplitFingerprint): void {
  view.setInt32(at, high)
  view.setInt32(at + wordBytes, low)
}

/** In the order of the bytes, which has no sign. */
const byId =
  ({ high, low }: PrintColumn) =>
  (left: number, right: number): number =>
    unsigned(high[left]) - unsigned(high[right]) || unsigned(low[left]) - unsigned(low[right])

const unsigned = (word: number | undefined): number => (word ?? 0) >>> 0

/** Adds the rows to `entries`, and returns the version of the list of fields. @throws LedgerFormatError */
export function decodeLedger(bytes: Uint8Array, { ids, contents, gone }: LedgerEntries): number {
  const [version, contentVersion] = bytes
  if (version !== format || contentVersion === undefined) {
    throw new LedgerFormatError('the ledger was written in another format')
  }
  if ((bytes.byteLength - headerBytes) % entryBytes !== 0) {
    throw new LedgerFormatError('the ledger ends in the middle of a row')
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = headerBytes; at < bytes.byteLength; at += entryBytes) {
    const row = gone.length
    setPrint(ids, row, readPrint(view, at))
    const content = readPrint(view, at + printBytes)
    setPrint(contents, row, unmark(content))
    gone.push((content.low & goneBit) !== 0)
  }
  return contentVersion
}

const readPrint = (view: DataView, at: number): SplitFingerprint => ({
  high: view.getInt32(at),
  low: view.getInt32(at + wordBytes),
})

/** The content with its lowest bit unset. */
export function unmark({ high, low }: SplitFingerprint): SplitFingerprint {
  return { high, low: low & ~goneBit }
}
