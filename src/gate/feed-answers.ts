/**
 * The last steps of a request for events (reading R42), once it is counted and entitled: its parameters, then
 * an answer that may wait, or a stream. It holds no place and is in no cache.
 */
import { apiError } from '#contract/errors.ts'
import type { EventsQuery } from '#contract/event-query.ts'
import { EventEnvelope } from '#contract/events.ts'
import { listEvents } from '#contract/operations.ts'
import { readQuery } from '#contract/query.ts'
import { parseWithBigIntegers } from '#kernel/json.ts'
import { answerEvents, type EventsAnswer } from '#webhooks/answer-events.ts'
import type { EventFollower, Following, FollowingCaller } from '#webhooks/follow-events.ts'

export interface FeedAnswersOptions {
  readonly events: Pick<EventFollower, 'begin'>
  readonly requestTimeoutMs: number
  readonly checkReplies: boolean
}

export interface AskedFeed {
  readonly caller: FollowingCaller
  /** As received, without "?". */
  readonly rawQuery: string
  /** Throws when the caller may not read any more. */
  readonly recheck: () => Promise<void>
}

export interface FollowedStream extends Following {
  readonly recheck: () => Promise<void>
}

export interface FeedAnswers {
  answer(fetching: AskedFeed, signal: AbortSignal): Promise<EventsAnswer>
  /** `leave` must follow. */
  follow(fetching: AskedFeed): Promise<FollowedStream>
}

/** What a request's time leaves for everything but waiting (reading R20c). */
const answerTimeMs = 5000

/** Answers `GET /v1/events`: at once, after a wait that fits into the time of a request, or as a stream. */
export function makeFeedAnswers(options: FeedAnswersOptions): FeedAnswers {
  const { events, requestTimeoutMs, checkReplies } = options
  return {
    async answer({ caller, rawQuery, recheck }, signal) {
      const query = read(rawQuery)
      const following = await events.begin(caller, query)
      const waitMs = Math.max(0, Math.min(query.wait * 1000, requestTimeoutMs - answerTimeMs))
      const answer = await answerEvents(following, { waitMs, signal, recheck })
      if (checkReplies) check(answer.body)
      return answer
    },
    async follow({ caller, rawQuery, recheck }) {
      return { ...(await events.begin(caller, read(rawQuery))), recheck }
    },
  }
}

function read(rawQuery: string): EventsQuery {
  // The "?" is added because URLSearchParams strips one, which could belong to the first name.
  const parsed = readQuery(listEvents.query, new URLSearchParams(`?${rawQuery}`))
  if (!parsed.ok) throw apiError('invalid_params', { details: parsed.details })
  return parsed.value
}

function check(body: Uint8Array): void {
  const { data } = parseWithBigIntegers(Buffer.from(body).toString('utf8')) as { data: unknown[] }
  for (const event of data) EventEnvelope.parse(event)
}
