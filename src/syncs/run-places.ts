/**
 * Places for the runs of this process, in a bounded number. Callers who wait for a place get one before due
 * work does, in the order of their requests.
 */

/** Held by one run, or by a caller that checks whether a run is possible. */
export interface RunPlace {
  /** Releases it; further calls have no effect. */
  release(): void
}

export interface RunPlaces {
  /** Null: no place is free. */
  take(): RunPlace | null
  /** Waits for one; null when the signal is aborted first, too many wait already, or places are closed. */
  wait(signal: AbortSignal): Promise<RunPlace | null>
  /** From now on no waiting caller gets a place. */
  close(): void
}

interface RunPlaceLimits {
  readonly inAll: number
  readonly waiting: number
}

export function makeRunPlaces(limits: RunPlaceLimits): RunPlaces {
  const waiting = new Set<(place: RunPlace | null) => void>()
  let taken = 0
  let isClosed = false

  function makePlace(): RunPlace {
    let isHeld = true
    return {
      release() {
        if (!isHeld) return
        isHeld = false
        const [next] = waiting
        // Handed over without becoming free, so that due work does not get it.
        if (next === undefined) taken -= 1
        else next(makePlace())
      },
    }
  }

  function take(): RunPlace | null {
    if (taken >= limits.inAll) return null
    taken += 1
    return makePlace()
  }

  return {
    take,
    async wait(signal) {
      if (isClosed || signal.aborted) return null
      const free = take()
      if (free !== null) return free
      if (waiting.size >= limits.waiting) return null
      const { promise, resolve } = Promise.withResolvers<RunPlace | null>()
      const giveUp = () => settle(null)
      const settle = (place: RunPlace | null) => {
        waiting.delete(settle)
        signal.removeEventListener('abort', giveUp)
        resolve(place)
      }
      waiting.add(settle)
      signal.addEventListener('abort', giveUp)
      return promise
    },
    close() {
      isClosed = true
      for (const settle of [...waiting]) settle(null)
    },
  }
}
