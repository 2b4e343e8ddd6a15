/** Answers to requests for events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerEvents } from './answer-events.ts'
import type { FollowedBatch } from './follow-events.ts'

const passedOver = (next: string): FollowedBatch => ({ events: [], next, isMore: true })
const found: FollowedBatch = {
  events: [{ cursor: 'c9', body: Buffer.from('{"id":"e"}') }],
  next: 'c9',
  isMore: false,
}

function answer(batches: readonly FollowedBatch[], waitMs: number) {
  const left = [...batches]
  return answerEvents(
    {
      async read() {
        return left.shift() ?? assert.fail('read although the events are found')
      },
      wait: () => assert.fail('waited although there is more'),
      leave() {},
    },
    { waitMs, signal: new AbortController().signal, recheck: async () => {} },
  )
}

for (const waitMs of [0, 55_000])
  test(`R42: behind events that are not seen the next one is answered at once, with a wait of ${waitMs} ms`, async () => {
    const { body, waitedMs } = await answer([passedOver('c1'), passedOver('c2'), found], waitMs)
    assert.equal(Buffer.from(body).toString(), '{"data":[{"id":"e"}],"next":"c9"}')
    assert.equal(waitedMs, 0)
  })

test('R42: who gets the same batch gets the same bytes, which exist once', async () => {
  const [one, other] = [await answer([found], 0), await answer([found], 0)]
  assert.equal(one.body, other.body)
})
