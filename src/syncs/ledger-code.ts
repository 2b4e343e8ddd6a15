/**
 * How the ledger stores one month of one account: a header of two bytes, then 16 bytes for each row, sorted by id. The
 * first 8 are a fingerprint of the row's id, the last 8 one of its content; the lowest bit is set when the provider no
 * longer has the row. Fingerprints are text of one character for each byte (latin1), so that they can be keys of maps.
 * docs/decisions/0016-short-fingerprints.md gives the probability of two equal ones.
 */

export interface LedgerEntry {
  /** 8 characters. */
  readonly id: string
  /** 8 characters, the lowest bit of the last one unset; `unknownContent` where the content is unknown. */
  readonly content: string
  /** The provider did not have the row at the last read. */
  readonly isGone: boolean
}

export interface LedgerBlob {
  /** Which list of fields the content fingerprints were made of. */
  readonly contentVersion: number
  readonly entries: readonly LedgerEntry[]
}

/** Bytes that this code cannot read: they were written by a newer version, or damaged. */
export class LedgerFormatError extends Error {
  override readonly name = 'LedgerFormatError'
}

export const idBytes = 8
export const contentBytes = 8
const entryBytes = idBytes + contentBytes
const headerBytes = 2
/** The version of this layout. */
const format = 2
const goneBit = 1

/** The content of a row that was stored under another list of fields: its next content counts as unchanged. */
export const unknownContent = '\0'.repeat(contentBytes)

/** @param blob its ids are distinct; the content version is from 0 to 255. */
export function encodeLedger({ contentVersion, entries }: LedgerBlob): Uint8Array {
  const rows = entries.map(({ id, content, isGone }) => id + (isGone ? markGone(content) : content))
  const header = String.fromCharCode(format, contentVersion)
  return Buffer.from(header + rows.sort().join(''), 'latin1')
}

/** @throws LedgerFormatError */
export function decodeLedger(given: Uint8Array): LedgerBlob {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  const [version, contentVersion] = bytes
  if (version !== format || contentVersion === undefined) {
    throw new LedgerFormatError('the ledger was written in another format')
  }
  if ((bytes.length - headerBytes) % entryBytes !== 0) {
    throw new LedgerFormatError('the ledger ends in the middle of a row')
  }
  const text = bytes.toString('latin1')
  const entries: LedgerEntry[] = []
  for (let at = headerBytes; at < text.length; at += entryBytes) {
    const content = text.slice(at + idBytes, at + entryBytes)
    const isGone = (lastByteOf(content) & goneBit) !== 0
    const id = text.slice(at, at + idBytes)
    entries.push({ id, content: isGone ? unmark(content) : content, isGone })
  }
  return { contentVersion, entries }
}

const lastByteOf = (content: string): number => content.charCodeAt(contentBytes - 1)
const markGone = (content: string): string => withLast(content, lastByteOf(content) | goneBit)

/** The content with its lowest bit unset. */
export function unmark(content: string): string {
  return withLast(content, lastByteOf(content) & ~goneBit)
}

const withLast = (content: string, byte: number): string =>
  content.slice(0, contentBytes - 1) + String.fromCharCode(byte)
