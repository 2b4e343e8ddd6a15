/**
 * The order in which passwords are hashed: a few at once, since each takes 19 MiB and a core. The queue is
 * fair by address: every address with waiting sign-ins gets one turn per round, so that many sign-ins from
 * one address delay the others by one turn. Operators and browsers that signed in before are served first,
 * but after three of those in a row one of the others is served. Every wait is bounded in number and in time.
 */

/** Whose password it is. */
export interface HashingTurn {
  /** Turns are shared fairly between these: the address as counted, or the user whose browser is known. */
  readonly from: string
  /** A browser that signed in before, or an operator. */
  readonly isKnown: boolean
}

/** Too many people are signing in at once. */
export class PasswordsBusyError extends Error {
  override readonly name = 'PasswordsBusyError'
}

export interface HashingQueue {
  /**
   * Runs `work` when its turn comes. @throws PasswordsBusyError when the queue is full or the wait too long.
   */
  run<T>(turn: HashingTurn, work: () => Promise<T>): Promise<T>
}

export interface HashingQueueOptions {
  readonly maxAtOnce: number
  /** How many addresses may wait. */
  readonly maxAddresses: number
  /** Over all addresses, how many sign-ins may wait in addition to the first one of each address. */
  readonly maxOverflow: number
  readonly maxWaitMs: number
}

/** At an assumed 70 hashes a second, the last of this many sign-ins waits about as long as `maxWaitMs`. */
const defaults: HashingQueueOptions = {
  maxAtOnce: 4,
  maxAddresses: 1000,
  maxOverflow: 63,
  maxWaitMs: 10_000,
}

/** Parallel sign-ins from known browsers must not shut out unknown ones. */
const knownInARow = 3

export function makeHashingQueue(given: Partial<HashingQueueOptions> = {}): HashingQueue {
  const options = { ...defaults, ...given }
  const queues = [makeQueue(options), makeQueue(options)] as const
  let running = 0
  /** Consecutive turns of known browsers. */
  let known = 0

  function next(): Waiting | null {
    for (const queue of known < knownInARow ? ([0, 1] as const) : ([1, 0] as const)) {
      const waiting = queues[queue].next()
      if (waiting === null) continue
      known = queue === 0 ? known + 1 : 0
      return waiting
    }
    return null
  }

  /**
   * The waiting one inherits the turn directly, so that a sign-in that arrives meanwhile cannot overtake it.
   */
  function handOver(): void {
    const waiting = next()
    if (waiting === null) running -= 1
    else waiting.begin()
  }

  return {
    async run(turn, work) {
      if (running < options.maxAtOnce) running += 1
      else await queues[turn.isKnown ? 0 : 1].wait(turn.from)
      try {
        return await work()
      } finally {
        handOver()
      }
    },
  }
}

interface Waiting {
  begin(): void
}

/** A queue by address: each address's first waiting sign-in in turn. */
function makeQueue({ maxAddresses, maxOverflow, maxWaitMs }: HashingQueueOptions) {
  const slots = new Map<string, Waiting[]>()
  let overflow = 0

  function leave(from: string, waiting: Waiting): void {
    const slot = slots.get(from) ?? []
    const at = slot.indexOf(waiting)
    if (at === -1) return
    slot.splice(at, 1)
    if (slot.length === 0) slots.delete(from)
    else overflow -= 1
  }

  return {
    wait(from: string): Promise<void> {
      const slot = slots.get(from)
      const isFull = slot === undefined ? slots.size >= maxAddresses : overflow >= maxOverflow
      if (isFull) return Promise.reject(new PasswordsBusyError('too many sign-ins at once'))
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          leave(from, waiting)
          reject(new PasswordsBusyError('a sign-in waited too long in the hashing queue'))
        }, maxWaitMs)
        const waiting = {
          begin() {
            clearTimeout(timer)
            resolve()
          },
        }
        if (slot === undefined) slots.set(from, [waiting])
        else {
          slot.push(waiting)
          overflow += 1
        }
      })
    },

    /** Removes the next one; its address moves to the end of the queue. */
    next(): Waiting | null {
      for (const [from, slot] of slots) {
        const [first] = slot
        if (first === undefined) continue
        leave(from, first)
        const rest = slots.get(from)
        if (rest !== undefined) {
          slots.delete(from)
          slots.set(from, rest)
        }
        return first
      }
      return null
    },
  }
}
