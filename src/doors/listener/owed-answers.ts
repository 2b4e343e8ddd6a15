/**
 * The answers that connections are still owed. Only a client that sends its next request without waiting is
 * owed more than one; how many may wait is bounded for each connection and for all of them together.
 */
import type { ServerResponse } from 'node:http'

/** With this many unanswered requests on one connection the next one is not accepted. */
const mostUnanswered = 8
/** With this many waiting behind others on all connections together, none is accepted behind another. */
const mostBehind = 1000

/** What one connection is owed. */
export interface OwedAnswers {
  /**
   * The latest answer that was not completed synchronously with its request; it may be finished by now. This
   * slot is written over: a set with an addition and a removal for each request would cost the garbage
   * collector more than the rest of the answer.
   */
  latestOwed: ServerResponse | null
  /** Answers before it, of requests that the client sent without waiting; some of them may be finished. */
  earlierOwed: ServerResponse[]
}

/** What all connections of a listener are owed. */
export interface OwedTotal {
  /** The length of all lists of earlier answers together. */
  behind: number
}

export function noneOwed(): OwedAnswers {
  return { latestOwed: null, earlierOwed: [] }
}

/** Whether the connection may be owed one more. */
export function mayOwe(total: OwedTotal, owed: OwedAnswers): boolean {
  tidy(total, owed)
  if (owed.latestOwed === null) return true
  return owed.earlierOwed.length + 1 < mostUnanswered && total.behind < mostBehind
}

/** Tracks an answer that was not written synchronously with its request. */
export function expectAnswer(total: OwedTotal, owed: OwedAnswers, response: ServerResponse): void {
  const { latestOwed } = owed
  if (latestOwed !== null && !latestOwed.closed) {
    owed.earlierOwed.push(latestOwed)
    total.behind += 1
  }
  owed.latestOwed = response
}

/** Forgets finished answers, which would otherwise stay until the next one. */
export function tidy(total: OwedTotal, owed: OwedAnswers): void {
  const { earlierOwed } = owed
  if (earlierOwed.length > 0) {
    owed.earlierOwed = earlierOwed.filter((response) => !response.closed)
    total.behind += owed.earlierOwed.length - earlierOwed.length
  }
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
