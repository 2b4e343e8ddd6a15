/**
 * The answers that connections are still owed. Only a client that sends its next request without waiting is owed more than
 * one; how many may wait is bounded for each connection and for all of them together.
 */
import type { ServerResponse } from 'node:http'

/**
 * Above this many unanswered requests on one connection, no more are read from it until these are answered. More than one is
 * only owed to a client that does not wait for its answers.
 */
const mostUnanswered = 100
/**
 * What one read of a socket brings, 64 KiB, can be thousands of requests. With more than this waiting behind others on all
 * connections together, one that has more than a hundred of them is closed.
 */
const mostBehind = 5000

/** What one connection is owed. */
export interface OwedAnswers {
  /**
   * The latest answer that was not completed synchronously with its request; it may be finished by now. This slot is
   * written over: a set with an addition and a removal for each request would cost the garbage collector more than the
   * rest of the answer.
   */
  latestOwed: ServerResponse | null
  /** Answers before it, of requests that the client sent without waiting; some of them may be finished. */
  earlierOwed: ServerResponse[]
  /** When it has this length, finished ones are removed: rarely enough that a request costs the same however many wait. */
  tidyAt: number
  /** It is not read until the answers that it is owed are written. */
  isHeldBack: boolean
}

/** Of all connections of a listener. */
export interface OwedTotal {
  /** The length of all lists of earlier answers together. */
  behind: number
}

export function noneOwed(): OwedAnswers {
  return { latestOwed: null, earlierOwed: [], tidyAt: mostUnanswered, isHeldBack: false }
}

/** Tracks an answer that was not written synchronously with its request. */
export function expect(total: OwedTotal, owed: OwedAnswers, response: ServerResponse): void {
  const { latestOwed } = owed
  if (latestOwed !== null && !latestOwed.closed) {
    owed.earlierOwed.push(latestOwed)
    total.behind += 1
  }
  owed.latestOwed = response
  if (owed.earlierOwed.length < owed.tidyAt) return
  removeFinished(total, owed)
  if (owed.earlierOwed.length < mostUnanswered) return
  if (total.behind > mostBehind) response.req.socket.destroy()
  else holdBack(owed, response)
}

/** Forgets finished answers, which would otherwise stay until the next one. */
export function tidy(total: OwedTotal, owed: OwedAnswers): void {
  if (owed.earlierOwed.length > 0) removeFinished(total, owed)
  if (owed.latestOwed?.closed === true) owed.latestOwed = null
}

/** The connection has closed. */
export function forget(total: OwedTotal, owed: OwedAnswers): void {
  total.behind -= owed.earlierOwed.length
  owed.earlierOwed = []
}

/** The unfinished answers of a connection that were not completed synchronously with their requests. */
export function owedOf({ latestOwed, earlierOwed }: OwedAnswers): readonly ServerResponse[] {
  if (latestOwed === null) return []
  return [...earlierOwed, latestOwed].filter((response) => !response.closed)
}

function removeFinished(total: OwedTotal, owed: OwedAnswers): void {
  const { earlierOwed } = owed
  owed.earlierOwed = earlierOwed.filter((response) => !response.closed)
  total.behind += owed.earlierOwed.length - earlierOwed.length
  owed.tidyAt = Math.max(mostUnanswered, 2 * owed.earlierOwed.length)
}

/** Answers are written in the order of their requests: when this one is, all are. */
function holdBack(owed: OwedAnswers, response: ServerResponse): void {
  if (owed.isHeldBack) return
  owed.isHeldBack = true
  const { req } = response
  const { socket } = req
  // Node resumes a connection after each request, and when a body is asked for: this one's must still be read.
  const pauseAgain = () => {
    if (req.complete) socket.pause()
  }
  socket.on('resume', pauseAgain)
  req.once('end', pauseAgain)
  socket.pause()
  response.once('close', () => {
    owed.isHeldBack = false
    socket.off('resume', pauseAgain)
    req.off('end', pauseAgain)
    socket.resume()
  })
}
