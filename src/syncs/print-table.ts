/**
 * Finds entries by a fingerprint that they have: a hash table with open addressing. Fingerprints are random, so their first
 * characters are the hash already; a `Map` computes another one of each text that it is asked for, and takes three times as
 * long. An entry whose fingerprint changes is added again, and is not found by the former one any more.
 */

export interface PrintTable<Entry> {
  find(print: string): Entry | undefined
  add(entry: Entry): void
}

/** Of the table at least half is free. */
const smallestSize = 64

/** @param printOf what an entry is found by; at least 3 characters, each of one byte. */
export function makePrintTable<Entry>(
  entries: Iterable<Entry>,
  printOf: (entry: Entry) => string,
): PrintTable<Entry> {
  let slots = new Array<Entry | undefined>(smallestSize).fill(undefined)
  let used = 0

  /** The place of the entry with this fingerprint, or the free one where it belongs. */
  function placeOf(print: string): number {
    const mask = slots.length - 1
    const hash = print.charCodeAt(0) | (print.charCodeAt(1) << 8) | (print.charCodeAt(2) << 16)
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const entry = slots[place]
      if (entry === undefined || printOf(entry) === print) return place
    }
  }

  function grow(): void {
    const former = slots
    slots = new Array<Entry | undefined>(former.length * 2).fill(undefined)
    used = 0
    for (const entry of former) if (entry !== undefined) put(entry)
  }

  function put(entry: Entry): void {
    const place = placeOf(printOf(entry))
    if (slots[place] === undefined) used += 1
    slots[place] = entry
  }

  function add(entry: Entry): void {
    if (used * 2 >= slots.length) grow()
    put(entry)
  }

  for (const entry of entries) add(entry)
  return { find: (print) => slots[placeOf(print)], add }
}
