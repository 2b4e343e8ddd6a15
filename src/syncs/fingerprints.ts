/**
 * Keyed fingerprints of rows (reading R35): amounts, days and merchants can be guessed, so a plain hash would reveal
 * them. Once the user's key is destroyed, the stored fingerprints reveal nothing.
 */
import { hash } from 'node:crypto'
import type { AccountId } from '#kernel/ids.ts'
import { contentBytes, idBytes, unmark } from './ledger-code.ts'

export interface Fingerprints {
  /** Fingerprint of a row's id within its account. */
  idOf(id: string): string
  /**
   * Fingerprint of a row's id and canonical content, so that this one alone finds a row that did not change. Its lowest bit
   * is unset: the ledger stores there whether the row is gone.
   */
  contentOf(id: string, content: string): string
}

/** @param key the user's 32 bytes. */
export function makeFingerprints(key: Uint8Array, accountId: AccountId): Fingerprints {
  const mac = makeMac(key)
  return {
    idOf: (id) => mac(`id|${accountId}|${id}`).slice(0, idBytes),
    // The length says where the id ends.
    contentOf: (id, content) =>
      unmark(mac(`content|${accountId}|${id.length}|${id}${content}`).slice(0, contentBytes)),
  }
}

const blockBytes = 64
const digestBytes = 32
/** UTF-8 of one UTF-16 code unit. */
const maxBytesOfUnit = 3

/**
 * HMAC-SHA256 (RFC 2104 §2) of texts, as one character for each byte. It uses two plain hashes: a run makes at least one
 * HMAC for each row, and an `Hmac` object for each would cost four times as much, mostly in the garbage collector.
 */
function makeMac(key: Uint8Array): (text: string) => string {
  if (key.byteLength > blockBytes) throw new RangeError('a key of a fingerprint is too long')
  let inner = Buffer.alloc(2 * 1024)
  const outer = Buffer.alloc(blockBytes + digestBytes)
  pad(inner, key, 0x36)
  pad(outer, key, 0x5c)
  return (text) => {
    const most = blockBytes + maxBytesOfUnit * text.length
    if (most > inner.byteLength) {
      inner = Buffer.alloc(most)
      pad(inner, key, 0x36)
    }
    const end = blockBytes + inner.write(text, blockBytes, 'utf8')
    outer.write(hash('sha256', inner.subarray(0, end), 'latin1'), blockBytes, 'latin1')
    return hash('sha256', outer, 'latin1')
  }
}

function pad(block: Buffer, key: Uint8Array, byte: number): void {
  block.fill(byte, 0, blockBytes)
  for (const [index, value] of key.entries()) block[index] = value ^ byte
}
