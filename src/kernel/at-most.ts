/**
 * The bound of an LRU table by the number of its entries. A table with `max` takes its whole space when it is
 * made, which is most of the time that a start spends on tables; one of a total size grows with its entries.
 */

/** For `new LRUCache(atMost(1000))`: the least recently used entry goes when another one does not fit. */
export function atMost(entries: number) {
  return { maxSize: entries, sizeCalculation: () => 1 } as const
}
