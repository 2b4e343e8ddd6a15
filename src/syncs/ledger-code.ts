/**
 * How the ledger stores one month of one account: a header of two bytes, then 24 bytes for each row, sorted by id. The
 * first 16 are a fingerprint of the row's id, the last 8 one of its content; the lowest bit is set when the provider no
 * longer has the row. Fingerprints are text of one character for each byte (latin1), so that they can be keys of maps.
 */

export interface LedgerEntry {
  /** 16 characters. */
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

export const idBytes = 16
export const contentBytes = 8
const entryBytes = idBytes + contentBytes
const headerBytes = 2
/** The version of this layout. */
const format = 1
const goneBit = 1

/** The content of a row that was stored under another list of fields: its next content counts as unchanged. */
export const unknownContent = '\0'.repeat(contentBytes)

/** @param blob its ids are distinct; the content version is from 0 to 255. */
export function encodeLedger({ contentVersion, entries }: LedgerBlob): Uint8Array {
  const bytes = Buffer.alloc(headerBytes + entries.length * entryBytes)
  bytes[0] = format
  bytes[1] = contentVersion
  const sorted = entries.toSorted((left, right) => (left.id < right.id ? -1 : 1))
  sorted.forEach(({ id, content, isGone }, index) => {
    const at = headerBytes + index * entryBytes
    bytes.write(id, at, idBytes, 'latin1')
    bytes.write(content, at + idBytes, contentBytes, 'latin1')
    const last = at + entryBytes - 1
    bytes[last] = ((bytes[last] ?? 0) & ~goneBit) | (isGone ? goneBit : 0)
  })
  return bytes
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
  const entries: LedgerEntry[] = []
  for (let at = headerBytes; at < bytes.length; at += entryBytes) {
    entries.push({
      id: bytes.toString('latin1', at, at + idBytes),
      ...readContent(bytes, at + idBytes),
    })
  }
  return { contentVersion, entries }
}

function readContent(bytes: Buffer, at: number): Pick<LedgerEntry, 'content' | 'isGone'> {
  const last = bytes[at + contentBytes - 1] ?? 0
  const head = bytes.toString('latin1', at, at + contentBytes - 1)
  return {
    content: head + String.fromCharCode(last & ~goneBit),
    isGone: (last & goneBit) !== 0,
  }
}
