/** Work that a process does one after another where it has the same key. */

export interface Queue {
  /**
   * Runs `work` after every earlier one with the same key has ended, successfully or not. Where `until`
   * aborts before its turn has come, it never runs.
   * @throws MissedTurnError for that; otherwise what `work` throws.
   */
  take<T>(key: string, work: () => Promise<T>, until?: AbortSignal): Promise<T>
}

/** The caller stopped waiting before the work began. */
export class MissedTurnError extends Error {
  override readonly name = 'MissedTurnError'
}

export function makeQueue(): Queue {
  const tails = new Map<string, Promise<unknown>>()

  function take<T>(key: string, work: () => Promise<T>, until?: AbortSignal): Promise<T> {
    const before = tails.get(key) ?? Promise.resolve()
    const answer = Promise.withResolvers<T>()
    const miss = () => answer.reject(new MissedTurnError('earlier work took too long'))
    if (until?.aborted === true) miss()
    until?.addEventListener('abort', miss, { once: true })
    const mine = before.then(async () => {
      until?.removeEventListener('abort', miss)
      if (until?.aborted !== true) answer.resolve(await work())
    })
    // Later work waits for the end whatever the result; only the caller gets a failure.
    const tail = mine.catch(answer.reject)
    tails.set(key, tail)
    void tail.then(() => {
      if (tails.get(key) === tail) tails.delete(key)
    })
    return answer.promise
  }

  return { take }
}
