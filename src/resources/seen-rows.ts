/**
 * Which rows of a read were met before, by the ids that the provider gives them. It keeps fingerprints in plain arrays:
 * thousands of ids as text would live as long as the walk and cost the collector more than everything else it does. A
 * fingerprint alone decides nothing: two that are equal are settled by the ids themselves, so no row is lost to chance.
 */

import { releaseBytes } from '#providers/release-bytes.ts'

export interface SeenRows {
  /** Remembers a row; false when one with the same id was added before. `place` is what `idAt` will be asked with. */
  add(id: string, place: number): boolean
  /** Bytes held. */
  size(): number
  /** Gives its memory back; nothing may be asked of it any more. */
  close(): void
}

/** Writes down two numbers of 32 bits that tell texts apart. */
export type Fingerprint = (text: string, into: { first: number; second: number }) => void

const firstCapacity = 64
const growth = 4
const bytesPerSlot = 16

/**
 * Starts with nothing seen.
 * @param idAt the id of a row that was added under this place, a whole number from 0 on; asked for hardly ever. Null where
 * nobody can tell any more: then equal fingerprints (one chance in 2^64) have to do.
 */
export function makeSeenRows(
  idAt: (place: number) => string | null,
  fingerprint: Fingerprint = mix,
): SeenRows {
  let capacity = firstCapacity
  let count = 0
  const print = { first: 0, second: 0 }
  let prints = new Int32Array(capacity * 2)
  // One more than the place, so that 0 is a free slot.
  let places = new Float64Array(capacity)

  function grow(): void {
    const [oldPrints, oldPlaces] = [prints, places]
    capacity *= growth
    prints = new Int32Array(capacity * 2)
    places = new Float64Array(capacity)
    for (let slot = 0; slot < oldPlaces.length; slot += 1) {
      const place = oldPlaces[slot] ?? 0
      if (place === 0) continue
      let free = (oldPrints[slot * 2] ?? 0) & (capacity - 1)
      while (places[free] !== 0) free = (free + 1) & (capacity - 1)
      put(free, oldPrints[slot * 2] ?? 0, oldPrints[slot * 2 + 1] ?? 0, place)
    }
    releaseBytes(oldPrints)
    releaseBytes(oldPlaces)
  }

  function put(slot: number, first: number, second: number, place: number): void {
    prints[slot * 2] = first
    prints[slot * 2 + 1] = second
    places[slot] = place
  }

  return {
    add(id, place) {
      if (count * 2 >= capacity) grow()
      fingerprint(id, print)
      const { first, second } = print
      let slot = first & (capacity - 1)
      for (;;) {
        const known = places[slot] ?? 0
        if (known === 0) break
        const isAlike = prints[slot * 2] === first && prints[slot * 2 + 1] === second
        if (isAlike && (idAt(known - 1) ?? id) === id) return false
        slot = (slot + 1) & (capacity - 1)
      }
      put(slot, first, second, place + 1)
      count += 1
      return true
    },
    size: () => capacity * bytesPerSlot,
    close() {
      releaseBytes(prints)
      releaseBytes(places)
    },
  }
}

/** Two FNV-like sums over four characters at a time, stirred at the end as MurmurHash3 does. */
const mix: Fingerprint = (text, into) => {
  const { length } = text
  let first = 0x811c9dc5 ^ length
  let second = 0x9747b28c
  for (let at = 0; at < length; at += 4) {
    // Beyond the end there is NaN, which counts as 0 here; the length was mixed in first.
    const four =
      text.charCodeAt(at) ^
      (text.charCodeAt(at + 1) << 8) ^
      (text.charCodeAt(at + 2) << 16) ^
      (text.charCodeAt(at + 3) << 24)
    first = Math.imul(first ^ four, 0x01000193)
    first ^= first >>> 15
    second = Math.imul(second + four, 0xcc9e2d51)
    second ^= second >>> 13
  }
  into.first = stir(first)
  into.second = stir(second)
}

function stir(bits: number): number {
  let stirred = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  stirred = Math.imul(stirred ^ (stirred >>> 13), 0xc2b2ae35)
  return stirred ^ (stirred >>> 16)
}
