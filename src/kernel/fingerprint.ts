/**
 * Fingerprints of texts: whole numbers of 52 bits, keyed by a random seed. They identify rows whose bodies
 * are gone. Among 5,000 ids two collide with a probability of 3 in 10^9. Nobody outside can search for a
 * collision, because the provider chooses the ids and the seed never leaves the service.
 */
import { randomInt } from 'node:crypto'

export type Print = number
export type Fingerprint = (text: string) => Print

/** 48 bits, as many as `randomInt` gives. */
export const makeSeed = (): number => randomInt(2 ** 48 - 1)

/** The fingerprint of a set of rows, which is the same in every order. */
export const addPrints = (one: Print, other: Print): Print => (one + other) % 2 ** 52

/** Two FNV-like sums over two characters at a time, mixed at the end as in MurmurHash3. */
export function makeFingerprint(seed: number): Fingerprint {
  return (text) => {
    const { length } = text
    let first = 0x811c9dc5 ^ length ^ seed
    let second = 0x9747b28c ^ (seed / 2 ** 16)
    for (let at = 0; at < length; at += 2) {
      // After the end `charCodeAt` gives NaN, which counts as 0; the length was mixed in first.
      const two = text.charCodeAt(at) ^ (text.charCodeAt(at + 1) << 16)
      first = Math.imul(first ^ two, 0x01000193)
      first ^= first >>> 15
      second = Math.imul(second + two, 0xcc9e2d51)
      second ^= second >>> 13
    }
    return stir(first) * 2 ** 20 + (stir(second) >>> 12)
  }
}

function stir(bits: number): number {
  let stirred = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  stirred = Math.imul(stirred ^ (stirred >>> 13), 0xc2b2ae35)
  return (stirred ^ (stirred >>> 16)) >>> 0
}
