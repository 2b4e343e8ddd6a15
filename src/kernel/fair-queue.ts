/**
 * The order of work that few can have done at once, fair by address: every address with waiting work gets one
 * turn per round, so that much work of one address delays the others by one turn. Those who are known are
 * served first, but after three of those in a row one of the others is served. Every wait is bounded in
 * number and in time.
 */

export interface FairTurn {
  /** Turns are shared fairly between these: the address as counted, or another name. */
  readonly from: string
  readonly isKnown: boolean
}

export interface FairQueue {
  /** Runs `work` when its turn comes. @throws what `toBusyError` makes; what `work` throws. */
  run<T>(turn: FairTurn, work: () => Promise<T>): Promise<T>
}

export interface FairQueueOptions {
  readonly maxAtOnce: number
  /** How many addresses may wait. */
  readonly maxAddresses: number
  /** How much work of one address may wait. */
  readonly maxPerAddress: number
  readonly maxWaitMs: number
  /** `full`: too many wait; `late`: the wait took too long. */
  readonly toBusyError: (why: 'full' | 'late') => Error
}

/** Parallel turns of those who are known must not shut out the others. */
const knownInARow = 3

export function makeFairQueue(options: FairQueueOptions): FairQueue {
  const lines = [makeLine(options), makeLine(options)] as const
  let running = 0
  /** Consecutive turns of those who are known. */
  let known = 0

  function next(): Waiting | null {
    for (const line of known < knownInARow ? ([0, 1] as const) : ([1, 0] as const)) {
      const waiting = lines[line].next()
      if (waiting === null) continue
      known = line === 0 ? known + 1 : 0
      return waiting
    }
    return null
  }

  /**
   * The waiting one inherits the turn directly, so that work that arrives meanwhile cannot overtake it.
   */
  function handOver(): void {
    const waiting = next()
    if (waiting === null) running -= 1
    else waiting.begin()
  }

  return {
    async run(turn, work) {
      if (running < options.maxAtOnce) running += 1
      else await lines[turn.isKnown ? 0 : 1].wait(turn.from)
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

/** One line: each address's first waiting work in turn. */
function makeLine({ maxAddresses, maxPerAddress, maxWaitMs, toBusyError }: FairQueueOptions) {
  const slots = new Map<string, Waiting[]>()

  function leave(from: string, waiting: Waiting): void {
    const slot = slots.get(from) ?? []
    const at = slot.indexOf(waiting)
    if (at === -1) return
    slot.splice(at, 1)
    if (slot.length === 0) slots.delete(from)
  }

  return {
    wait(from: string): Promise<void> {
      const slot = slots.get(from)
      const isFull = slot === undefined ? slots.size >= maxAddresses : slot.length >= maxPerAddress
      if (isFull) return Promise.reject(toBusyError('full'))
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          leave(from, waiting)
          reject(toBusyError('late'))
        }, maxWaitMs)
        const waiting = {
          begin() {
            clearTimeout(timer)
            resolve()
          },
        }
        if (slot === undefined) slots.set(from, [waiting])
        else slot.push(waiting)
      })
    },

    /** Removes the next one; its address moves to the end of the line. */
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
