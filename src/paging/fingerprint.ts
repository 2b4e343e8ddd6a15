/**
 * Fingerprints of row ids: 64 bits, keyed by a random seed per walk. They identify rows after the bodies are evicted.
 * Two different ids collide with a probability of 2^-64. Nobody outside can search for a collision, because the
 * provider chooses the ids and the seed never leaves the service.
 */
import { randomBytes } from 'node:crypto'

/** Two numbers of 32 bits. */
export interface Print {
  first: number
  second: number
}

/** Writes the fingerprint of a text into `into`; the same one however the text is given. */
export interface Fingerprint {
  ofText(text: string, into: Print): void
  /** Of the ASCII characters from `from` up to `to`. */
  ofAscii(bytes: Uint8Array, from: number, to: number, into: Print): void
}

export function makeFingerprintKey(): Readonly<Print> {
  const bytes = randomBytes(8)
  return { first: bytes.readInt32LE(0), second: bytes.readInt32LE(4) }
}

/** Two FNV-like sums over two characters at a time, mixed at the end as in MurmurHash3. */
export function makeFingerprint(seed: Readonly<Print>): Fingerprint {
  return {
    ofText(text, into) {
      const { length } = text
      let first = 0x811c9dc5 ^ length ^ seed.first
      let second = 0x9747b28c ^ seed.second
      for (let at = 0; at < length; at += 2) {
        // After the end `charCodeAt` gives NaN, which counts as 0; the length was mixed in first.
        const two = text.charCodeAt(at) ^ (text.charCodeAt(at + 1) << 16)
        first = Math.imul(first ^ two, 0x01000193)
        first ^= first >>> 15
        second = Math.imul(second + two, 0xcc9e2d51)
        second ^= second >>> 13
      }
      into.first = stir(first)
      into.second = stir(second)
    },
    ofAscii(bytes, from, to, into) {
      let first = 0x811c9dc5 ^ (to - from) ^ seed.first
      let second = 0x9747b28c ^ seed.second
      for (let at = from; at < to; at += 2) {
        const next = at + 1 < to ? (bytes[at + 1] ?? 0) : 0
        const two = (bytes[at] ?? 0) ^ (next << 16)
        first = Math.imul(first ^ two, 0x01000193)
        first ^= first >>> 15
        second = Math.imul(second + two, 0xcc9e2d51)
        second ^= second >>> 13
      }
      into.first = stir(first)
      into.second = stir(second)
    },
  }
}

/** A number of 52 bits, never 0, usable as the key of a map or in a column. */
export function toNumber({ first, second }: Readonly<Print>): number {
  return (first >>> 0) * 2 ** 20 + ((second >>> 12) | 1)
}

function stir(bits: number): number {
  let stirred = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  stirred = Math.imul(stirred ^ (stirred >>> 13), 0xc2b2ae35)
  return stirred ^ (stirred >>> 16)
}

export const emptyPrint = (): Print => ({ first: 0, second: 0 })
