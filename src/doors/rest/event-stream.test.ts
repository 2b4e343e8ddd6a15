/** What a stream of events holds while it lasts. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FollowedStream } from '#gate/feed-answers.ts'
import type { FollowedBatch } from '#webhooks/follow-events.ts'
import { readFirst, writeEvents } from './event-stream.ts'
import { makeUnreadStreams } from './unread-streams.ts'

const empty: FollowedBatch = { events: [], next: 'c2', isMore: false }

/** A stream of one event, whose body is held weakly, and then of nothing. */
function stage() {
  const waits = Promise.withResolvers<void>()
  const over = Promise.withResolvers<'ended'>()
  let body: WeakRef<Uint8Array> | null = null
  const stream: FollowedStream = {
    async read() {
      if (body !== null) return empty
      const bytes = Buffer.from('{"id":"e1"}')
      body = new WeakRef(bytes)
      return { events: [{ cursor: 'c1', body: bytes }], next: 'c1', isMore: false }
    },
    wait() {
      waits.resolve()
      return over.promise
    },
    leave() {},
    async recheck() {},
  }
  return {
    stream,
    waits: waits.promise,
    end: () => over.resolve('ended'),
    isHeld: () => body?.deref() !== undefined,
  }
}

test('R42: a stream that waits holds no event that it has sent', async () => {
  const { stream, waits, end, isHeld } = stage()
  const response = new PassThrough()
  let text = ''
  response.on('data', (chunk) => {
    text += String(chunk)
  })
  const writing = writeEvents({
    stream: await readFirst(stream),
    response: response as unknown as ServerResponse,
    signal: new AbortController().signal,
    unread: makeUnreadStreams(),
  })
  await waits
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // A weak reference lasts until the end of the turn in which it was made or read.
  for (let turns = 0; turns < 3; turns += 1) {
    await nextTurn()
    collect()
  }
  assert.equal(isHeld(), false)
  end()
  await writing
  assert.equal(text, 'retry: 1000\n\nid: c1\ndata: {"id":"e1"}\n\nid: c2\n\n')
})
