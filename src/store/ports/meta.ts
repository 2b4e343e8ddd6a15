/** The store's mark, which shows whether the store was restored from a backup. */

/** A number that only grows in a running store; a restored backup has a smaller one. */
export interface StoreMark {
  read(): Promise<number>
  advance(): Promise<void>
}
