/**
 * How the ledger stores one month of one account: a header of two bytes, then 16 bytes for each row, sorted
 * by id. The first 8 are a fingerprint of the row's id, the last 8 one of its content; the lowest bit is set
 * when the provider no longer has the row. docs/decisions/0016-short-fingerprints.md gives the probability of
 * two equal ones.
 */

/** The first 64 bits of a keyed hash, unsigned. */
export type RowFingerprint = bigint

/** Rows by their numbers, in columns. */
export interface LedgerEntries {
  readonly ids: RowFingerprint[]
  /** Their lowest bit is unset; `unknownContent` where the content is unknown. */
  readonly contents: RowFingerprint[]
  /** The provider did not have the row at the last read. */
  readonly gone: boolean[]
}

/** Bytes that this code cannot read: they were written by a newer version, or damaged. */
export class LedgerFormatError extends Error {
  override readonly name = 'LedgerFormatError'
}

/** The length of a fingerprint: an entry has one of the id and one of the content. */
const printBytes = 8
const entryBytes = 2 * printBytes
const headerBytes = 2
/** The version of this layout. */
const format = 2
const goneBit = 1n

/**
 * The content of a row that was stored under another list of fields: its next content counts as unchanged.
 */
export const unknownContent: RowFingerprint = 0n

/** No rows yet. */
export function makeEntries(): LedgerEntries {
  return { ids: [], contents: [], gone: [] }
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
  for (const row of rows.toSorted((left, right) =>
    (ids[left] ?? 0n) < (ids[right] ?? 0n) ? -1 : 1,
  )) {
    const content = contents[row] ?? unknownContent
    view.setBigUint64(at, ids[row] ?? 0n)
    view.setBigUint64(at + printBytes, gone[row] === true ? content | goneBit : content)
    at += entryBytes
  }
  return bytes
}

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
    const content = view.getBigUint64(at + printBytes)
    ids.push(view.getBigUint64(at))
    contents.push(unmark(content))
    gone.push((content & goneBit) !== 0n)
  }
  return contentVersion
}

/** The content with its lowest bit unset. */
export const unmark = (content: RowFingerprint): RowFingerprint => content & ~goneBit
