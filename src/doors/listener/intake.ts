/**
 * What one turn of the event loop takes in from all connections of a listener. A thousand packets that arrive
 * together would otherwise be parsed and answered in one turn, and everything else would wait for it:
 * monitoring, timers, other people's answers.
 */

/**
 * After this many reads and parts of bodies, counted since the last measured turn, the time of a turn is
 * measured: where little is read, nobody pays for it.
 */
const measureFrom = 64
/** After this time nothing more is read in this turn. */
const mostMs = 20
/**
 * Requests of one connection in one turn. A client that waits for its answers sends one. Turns are told apart
 * only where requests come fast, so that others pay nothing for it: of the `countFrom` before that, some may
 * belong to an earlier turn.
 */
const mostOfOne = 12
const countFrom = 4

/**
 * Connections that were read in a turn that was full wait until the others were read too: the system names
 * those first that it named before, and a few busy clients would be all that is served. After the first turn
 * that is not full, nobody is left to read: the round ends.
 */
export interface Intake {
  /**
   * Counts a new connection. Once more of them have come in a round than are open, the next ones wait for the
   * next round. Without that bound, new connections could keep those that were read waiting for ever.
   */
  makeShare(): Share
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
  /** The round in which it was read last. */
  round: number
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
  /**
   * A round ends with the first measured turn that is not full; after a full turn no connection is read twice
   * in it.
   */
  let round = 1
  /** Connections that came after the first full turn of this round. */
  let joined = 0
  const beginMeasuring = () => {
    if (startedAt !== null) return
    startedAt = performance.now()
    setImmediate(endTurn)
  }
  const endTurn = () => {
    turn += 1
    counted = 0
    startedAt = null
    const wasBusy = isBusy
    isBusy = isFull
    isFull = false
    if (!isBusy) {
      round += 1
      joined = 0
      if (!wasBusy) return
    }
    beginMeasuring()
    for (const [connection, share] of open) {
      if (mayRead(share)) connection.resume()
    }
  }
  const mayRead = (share: Share) => !isFull && (!isBusy || share.round !== round)
  const count = () => {
    if (isFull) return
    counted += 1
    if (startedAt === null) {
      if (counted >= measureFrom) beginMeasuring()
      return
    }
    if (performance.now() - startedAt < mostMs) return
    isFull = true
    for (const connection of open.keys()) connection.pause()
  }
  return {
    makeShare() {
      if (isBusy) joined += 1
      return { turn: 0, requests: 0, round: joined > open.size ? round : 0 }
    },
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
      beginMeasuring()
      return share.requests <= (isBusy ? 1 : mostOfOne)
    },
    mayRead,
  }
}
