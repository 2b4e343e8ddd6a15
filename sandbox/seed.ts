/**
 * The only source of random numbers for made-up data: the same seed gives the same numbers on every machine.
 * For the sandbox only; nothing here is fit for secrets, and amounts of money are composed as text from its
 * integers.
 */

export interface Random {
  /** The next number, from 0 up to but not including 1. */
  next(): number
  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number
  /** One entry of a list that is not empty. */
  pick<Entry>(list: readonly Entry[]): Entry
}

/**
 * Makes a random number generator from a text: FNV-1a hashes the seed to 32 bits, mulberry32 draws from them.
 * Streams of different seeds are independent, so every person and account can have its own.
 */
export function makeRandom(seed: string): Random {
  let state = hashSeed(seed)

  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }

  function int(min: number, max: number): number {
    if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || max < min) {
      throw new RangeError(`no whole number from ${min} to ${max}`)
    }
    return min + Math.floor(next() * (max - min + 1))
  }

  function pick<Entry>(list: readonly Entry[]): Entry {
    const index = int(0, list.length - 1)
    // `as`: the index is within the list, which `int` has just proved by not throwing for an empty one.
    return list[index] as Entry
  }

  return { next, int, pick }
}

/** FNV-1a over the UTF-16 units of the text, 32 bits. */
function hashSeed(seed: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < seed.length; index += 1) {
    hash = Math.imul(hash ^ seed.charCodeAt(index), 0x01000193)
  }
  return hash | 0
}
