/**
 * What one turn of the event loop takes in from all connections of a listener. A thousand packets that arrive together
 * would otherwise be parsed and answered in one turn, and everything else would wait for it: monitoring, timers,
 * other people's answers.
 */

/** From so many requests and parts of bodies on, the time of a turn is measured: others pay nothing for it. */
const measureFrom = 64
/** After this time nothing more is read in this turn. */
const mostMs = 20
/**
 * Requests of one connection in one turn. A client that waits for its answers sends one. Turns are told apart only where
 * requests come fast, so that others pay nothing for it: of `countFrom` before that, some may belong to an earlier turn.
 */
const mostOfOne = 12
const countFrom = 4

export interface Intake {
  /** Counts one request, or one part of a body. */
  count(): void
  /** Counts a request of a connection; false when there are too many of it. */
  countOf(share: Share): boolean
  /** Until the next turn, no connection is read. */
  readonly isFull: boolean
}

/** What one connection has of a turn. */
export interface Share {
  turn: number
  requests: number
}

/** `pause` ends the reading of all connections, `resume` begins it again. */
export function makeIntake(pause: () => void, resume: () => void): Intake {
  let turn = 0
  let counted = 0
  /** When measuring began in this turn; null: not yet. */
  let startedAt: number | null = null
  let isFull = false
  /** The turn before was full. */
  let isBusy = false
  const awaitEnd = () => {
    if (startedAt !== null) return
    startedAt = performance.now()
    setImmediate(endTurn)
  }
  const endTurn = () => {
    turn += 1
    counted = 0
    startedAt = null
    isBusy = isFull
    if (!isFull) return
    isFull = false
    resume()
    awaitEnd()
  }
  const count = () => {
    if (isFull) return
    counted += 1
    if (startedAt === null) {
      if (counted >= measureFrom) awaitEnd()
      return
    }
    if (performance.now() - startedAt < mostMs) return
    isFull = true
    pause()
  }
  return {
    get isFull() {
      return isFull
    },
    count,
    countOf(share) {
      count()
      if (share.turn !== turn) {
        share.turn = turn
        share.requests = 0
      }
      share.requests += 1
      if (share.requests < countFrom && !isBusy) return true
      awaitEnd()
      return share.requests <= (isBusy ? 1 : mostOfOne)
    },
  }
}
