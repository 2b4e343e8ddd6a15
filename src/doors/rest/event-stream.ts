/**
 * Writes events as `text/event-stream` (HTML standard, Server-sent events): each with its cursor as `id:`, so
 * that `Last-Event-ID` resumes behind it, and a comment while none comes. A client that does not read gets
 * nothing more until it does; what waits for it is one batch, and what waits for all of them is bounded.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ApiError, apiError } from '#contract/errors.ts'
import type { FollowedStream } from '#gate/feed-answers.ts'
import type { FollowedBatch } from '#webhooks/follow-events.ts'
import type { Unread, UnreadStreams } from './unread-streams.ts'

/** Proxies end a connection on which nothing comes for a minute. */
const heartbeatMs = 25_000
/** Then the stream ends, and the client's next request acknowledges what it received. */
const longestMs = 600_000
/** After the end of a stream a client waits so long before it asks again. */
const retryMs = 1000

/** The query of a stream: a client that resumes names the last event that it received. */
export function resumedQuery({ headers }: IncomingMessage, rawQuery: string): string {
  const lastId = headers['last-event-id']
  if (typeof lastId !== 'string' || lastId === '') return rawQuery
  const query = new URLSearchParams(`?${rawQuery}`)
  query.set('after', lastId)
  return query.toString()
}

/** The same failure, about the header where that came in place of `after`. */
export function blameHeader({ headers }: IncomingMessage, thrown: unknown): unknown {
  const isAboutHeader = thrown instanceof ApiError && thrown.entry === 'invalid_params'
  if (!isAboutHeader || !headers['last-event-id']) return thrown
  const details = thrown.details?.map((text) => text.replace(/^after:/, 'Last-Event-ID:')) ?? []
  return apiError(thrown.entry, { details, cause: thrown })
}

/**
 * The same stream once it is read for the first time: an error then still has its status. What was read is
 * held until it is taken, and by nothing that lasts as long as the stream.
 */
export async function readFirst(stream: FollowedStream): Promise<FollowedStream> {
  let first: FollowedBatch | null = await stream.read()
  return {
    ...stream,
    async read() {
      const batch = first ?? (await stream.read())
      first = null
      return batch
    },
  }
}

export interface StreamOptions {
  readonly stream: FollowedStream
  readonly response: ServerResponse
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  readonly unread: UnreadStreams
}

/** Resolves at the end of the stream, whoever ended it. The head is written already. */
export async function writeEvents(options: StreamOptions): Promise<void> {
  const { stream, response, signal, unread } = options
  const leave = () => stream.leave()
  signal.addEventListener('abort', leave, { once: true })
  const endsAt = performance.now() + longestMs
  let told = ''
  let shared: Unread['shared'] = { of: stream, bytes: 0 }
  const send = (block: Uint8Array | string) => write({ response, signal, unread, shared }, block)
  try {
    response.write(`retry: ${retryMs}\n\n`)
    while (!signal.aborted) {
      const { events, next, isMore } = await stream.read()
      const bytes = events.reduce((sum, { body }) => sum + body.byteLength, 0)
      shared = { of: events, bytes }
      await sendAll(events, send)
      // A block without data only moves the place of a client that resumes.
      const isMoved = next !== told && events.at(-1)?.cursor !== next
      if (isMoved) await send(`id: ${next}\n\n`)
      told = next
      const left = endsAt - performance.now()
      if (left <= 0) return
      if (events.length > 0 || isMore) {
        await nextTurn()
        // The client may have taken long to read, and rows may have changed meanwhile.
        await stream.recheck()
      } else {
        const woken = await stream.wait(Math.min(heartbeatMs, left))
        if (woken === 'ended' || signal.aborted) return
        if (woken === 'time') await send(': waiting\n\n')
        else await stream.recheck()
      }
    }
  } finally {
    signal.removeEventListener('abort', leave)
    stream.leave()
  }
}

/** A function of its own: what it holds is not held while the stream waits. */
async function sendAll(
  events: FollowedBatch['events'],
  send: (block: Uint8Array) => Promise<void>,
): Promise<void> {
  for (const { cursor, body } of events) await send(toBlock(cursor, body))
}

/** Events are JSON of one line. */
function toBlock(cursor: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`id: ${cursor}\ndata: `), body, Buffer.from('\n\n')])
}

interface Receiver extends Pick<StreamOptions, 'response' | 'signal' | 'unread'> {
  /** The batch that the block is of. */
  readonly shared: Unread['shared']
}

/** Resolves when the client has taken enough of what it was sent, or is gone. */
async function write(
  { response, signal, unread, shared }: Receiver,
  block: Uint8Array | string,
): Promise<void> {
  if (signal.aborted || response.destroyed) return
  if (response.write(block)) return
  await new Promise<void>((resolve) => {
    const held = {
      bytes: response.writableLength,
      shared,
      end: () => void response.destroy(),
    }
    const go = () => {
      response.off('drain', go)
      signal.removeEventListener('abort', go)
      unread.remove(held)
      resolve()
    }
    response.once('drain', go)
    signal.addEventListener('abort', go, { once: true })
    unread.add(held)
  })
}
