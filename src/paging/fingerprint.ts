/**
 * Fingerprints of row ids: 64 bits, keyed by a random seed. They identify rows whose bodies are gone. Two
 * different ids collide with a probability of 2^-64. Nobody outside can search for a collision, because the
 * provider chooses the ids and the seed never leaves the service.
 */
import { randomBytes } from 'node:crypto'

/** Two numbers of 32 bits. */
export interface Print {
  readonly first: number
  readonly second: number
}

export type Fingerprint = (text: string) => Print

export function makeSeed(): Print {
  const bytes = randomBytes(8)
  return { first: bytes.readUInt32LE(0), second: bytes.readUInt32LE(4) }
}

/** Two FNV-like sums over two characters at a time, mixed at the end as in MurmurHash3. */
export function makeFingerprint(seed: Print): Fingerprint {
  return (text) => {
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
    return { first: stir(first), second: stir(second) }
  }
}

function stir(bits: number): number {
  let stirred = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  stirred = Math.imul(stirred ^ (stirred >>> 13), 0xc2b2ae35)
  return (stirred ^ (stirred >>> 16)) >>> 0
}

export const isSamePrint = (one: Print | null, other: Print | null): boolean =>
  one?.first === other?.first && one?.second === other?.second

/** A number of 53 bits, usable as the key of a set. */
export const toNumber = ({ first, second }: Print): number => first * 2 ** 21 + (second >>> 11)
