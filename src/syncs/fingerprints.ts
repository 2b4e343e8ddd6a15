/**
 * Keyed fingerprints of rows (reading R35): amounts, days and merchants can be guessed, so a plain hash would
 * reveal them. Once the user's key is destroyed, the stored fingerprints reveal nothing.
 */
import { hash } from 'node:crypto'
import type { AccountId } from '#kernel/ids.ts'
import { type RowFingerprint, unmark } from './ledger-code.ts'

export interface Fingerprints {
  /** Fingerprint of a row's id within its account. */
  idOf(id: string): RowFingerprint
  /**
   * Fingerprint of a row's id and canonical content, so that this one alone finds a row that did not change.
   * Its lowest bit is unset: the ledger stores there whether the row is gone.
   */
  contentOf(id: string, content: string): RowFingerprint
}

/** @param key the user's 32 bytes. */
export function makeFingerprints(key: Uint8Array, accountId: AccountId): Fingerprints {
  const macId = makeMac(key, `id|${accountId}|`)
  const macContent = makeMac(key, `content|${accountId}|`)
  return {
    idOf: (id) => macId(id, ''),
    // The length says where the id ends.
    contentOf: (id, content) => unmark(macContent(`${id.length}|${id}`, content)),
  }
}

const blockBytes = 64
const digestBytes = 32
const fingerprintBytes = 8
/** UTF-8 of one UTF-16 code unit. */
const maxBytesOfUnit = 3
const usualBytes = 2 * 1024

/**
 * HMAC-SHA256 (RFC 2104 §2) of a fixed text followed by two others, cut to its first 64 bits. It uses two
 * plain hashes: a run makes at least one HMAC for each row, and an `Hmac` object for each would cost twice as
 * much, mostly in the garbage collector.
 */
function makeMac(key: Uint8Array, head: string): (text: string, rest: string) => RowFingerprint {
  if (key.byteLength > blockBytes) throw new RangeError('a key of a fingerprint is too long')
  const start = blockBytes + Buffer.byteLength(head)
  const makeInner = (bytes: number) => {
    const made = Buffer.alloc(bytes)
    pad(made, key, 0x36)
    made.write(head, blockBytes, 'utf8')
    return made
  }
  let inner = makeInner(start + usualBytes)
  const outer = Buffer.alloc(blockBytes + digestBytes)
  pad(outer, key, 0x5c)
  const first = Buffer.alloc(fingerprintBytes)
  const firstBits = new DataView(first.buffer, first.byteOffset)
  return (text, rest) => {
    const most = start + maxBytesOfUnit * (text.length + rest.length)
    if (most > inner.byteLength) inner = makeInner(most)
    let end = start + inner.write(text, start, 'utf8')
    end += inner.write(rest, end, 'utf8')
    outer.write(hash('sha256', inner.subarray(0, end), 'latin1'), blockBytes, 'latin1')
    first.write(hash('sha256', outer, 'latin1'), 'latin1')
    return firstBits.getBigUint64(0)
  }
}

function pad(block: Buffer, key: Uint8Array, byte: number): void {
  block.fill(byte, 0, blockBytes)
  for (const [index, value] of key.entries()) block[index] = value ^ byte
}
