/**
 * What one turn of the event loop takes in from all connections of a listener. A thousand packets that arrive
 * together would otherwise be parsed and answered in one turn, and everything else would wait for it:
 * monitoring, timers, other people's answers.
 */

/** From so many reads and parts of bodies on, the time of a turn is measured: others pay nothing for it. */
const measureFrom = 64
/** After this time nothing more is read in this turn. */
const mostMs = 20
/**
 * Requests of one connection in one turn. A client that waits for its answers sends one. Turns are told apart
 * only where requests come fast, so that others pay nothing for it: of `countFrom` before that, some may
 * belong to an earlier turn.
 */
const mostOfOne = 12
const countFrom = 4

/**
 * Connections that were read in a turn that was full wait until the others were read too: the system names
 * those first that it named before, and a few busy clients would be all that is served. After so many turns
 * they wait no longer.
 */
const mostTurns = 50

export interface Intake {
  /** Counts one part of a body. */
  count(): void
  countRead(share: Share): void
  /** Counts a request of a connection; false when there are too many of it. */
  countOf(share: Share): boolean
  /** Whether the connection is read in this turn. */
  mayRead(share: Share): boolean
}

/** What one connection has of a turn. */
export interface Share {
  turn: number
  requests: number
  /** In which it was read last. */
  round: number
}

export function noShare(): Share {
  return { turn: 0, requests: 0, round: 0 }
}

interface Reading {
  pause(): unknown
  resume(): unknown
}

/** `open`: the connections of the listener. */
export function makeIntake(open: ReadonlyMap<Reading, Share>): Intake {
  let turn = 0
  let counted = 0
  /** When measuring began in this turn; null: not yet. */
  let startedAt: number | null = null
  let isFull = false
  /** The turn before was full. */
  let isBusy = false
  /** Full turns, and the one after them, make a round: no connection is read twice in it. */
  let round = 0
  let fullTurns = 0
  const awaitEnd = () => {
    if (startedAt !== null) return
    startedAt = performance.now()
    if (fullTurns === 0) round += 1
    setImmediate(endTurn)
  }
  const endTurn = () => {
    turn += 1
    counted = 0
    startedAt = null
    isBusy = isFull
    isFull = false
    const wasHeld = fullTurns > 0
    fullTurns = isBusy && fullTurns < mostTurns ? fullTurns + 1 : 0
    if (!isBusy && !wasHeld) return
    awaitEnd()
    for (const [connection, share] of open) {
      if (mayRead(share)) connection.resume()
    }
  }
  const mayRead = (share: Share) => !isFull && (fullTurns === 0 || share.round !== round)
  const count = () => {
    if (isFull) return
    counted += 1
    if (startedAt === null) {
      if (counted >= measureFrom) awaitEnd()
      return
    }
    if (performance.now() - startedAt < mostMs) return
    isFull = true
    for (const connection of open.keys()) connection.pause()
  }
  return {
    count,
    countRead(share) {
      share.round = round
      count()
    },
    countOf(share) {
      if (share.turn !== turn) {
        share.turn = turn
        share.requests = 0
      }
      share.requests += 1
      if (share.requests < countFrom && !isBusy) return true
      awaitEnd()
      return share.requests <= (isBusy ? 1 : mostOfOne)
    },
    mayRead,
  }
}
