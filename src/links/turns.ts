/**
 * Actions on the links of one user take turns within a process: two removals of one login must not each believe that
 * the other connection still needs it. Across processes the store's own constraints hold.
 */

export interface Turns {
  /** Runs `work` when every earlier one of the same key has ended, however it ended. */
  take<T>(key: string, work: () => Promise<T>): Promise<T>
}

export function makeTurns(): Turns {
  const tails = new Map<string, Promise<unknown>>()

  function take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = tails.get(key) ?? Promise.resolve()
    const mine = before.then(work)
    // Who comes next waits for the end, not for success: the failure belongs to the caller of `mine` alone.
    const tail = mine.then(
      () => undefined,
      () => undefined,
    )
    tails.set(key, tail)
    void tail.then(() => {
      if (tails.get(key) === tail) tails.delete(key)
    })
    return mine
  }

  return { take }
}
