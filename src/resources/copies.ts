/**
 * Numbers identical fills in the provider's order (reading R24a). A key is built of eight mapped fields, so it is asked
 * for only where two rows count at the same moment: rows of different moments cannot be alike.
 */

export interface Copies {
  /** 1 for the first row of its key, 2, 3 … for the later ones. `place` is what `keyAt` will be asked with. */
  number(time: number, place: number): number
}

/**
 * Starts before the first row.
 * @param keyAt the key of the row under this place; equal keys have equal times.
 */
export function makeCopies(keyAt: (place: number) => string): Copies {
  /** By time: the place of the only row so far, or how often each key occurred. */
  const moments = new Map<number, number | Map<string, number>>()

  return {
    number(time, place) {
      let known = moments.get(time)
      if (known === undefined) {
        moments.set(time, place)
        return 1
      }
      if (typeof known === 'number') {
        known = new Map([[keyAt(known), 1]])
        moments.set(time, known)
      }
      const key = keyAt(place)
      const number = (known.get(key) ?? 0) + 1
      known.set(key, number)
      return number
    },
  }
}
