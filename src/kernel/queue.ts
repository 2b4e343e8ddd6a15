/** Work that a process does one after another where it has the same key. */

export interface Queue {
  /** Runs `work` after every earlier one with the same key has ended, successfully or not. */
  take<T>(key: string, work: () => Promise<T>): Promise<T>
}

export function makeQueue(): Queue {
  const tails = new Map<string, Promise<unknown>>()

  function take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = tails.get(key) ?? Promise.resolve()
    const mine = before.then(work)
    // Later work waits for the end whatever the result; only the caller of `mine` gets its failure.
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
