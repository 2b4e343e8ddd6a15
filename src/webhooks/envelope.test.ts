import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chunkLimits, EventEnvelope } from '#contract/events.ts'
import { type ConnectionId, newId, type SyncRunId, type UserId } from '#kernel/ids.ts'
import { parseEvent } from '#tests/support/synced-event.ts'
import { type EventDraft, makeEvents, toReplay } from './envelope.ts'

const ids = {
  userId: newId<UserId>(),
  connectionId: newId<ConnectionId>(),
  runId: newId<SyncRunId>(),
}
const createdAt = Date.UTC(2026, 10, 20, 3, 15, 0, 999)

function draftOf(news: readonly string[], updated: readonly string[] = []): EventDraft {
  return { ...ids, type: 'transactions.synced', createdAt, new: news, updated }
}

const textOf = (body: Uint8Array) => Buffer.from(body).toString('utf8')
const objectOf = (index: number, text = '') => JSON.stringify({ id: `row-${index}`, text })
const objects = (count: number, text = '') =>
  Array.from({ length: count }, (_, index) => objectOf(index, text))

function makeTransaction(id: string, amount = '-1234'): string {
  const account = newId()
  const fields = {
    id,
    object: 'transaction',
    amount: 0,
    currency: 'aud',
    status: 'posted',
    description: 'Kaffee — ☕',
    direction: 'debit',
    class: 'payment',
    account_id: account,
    account_name: 'Everyday',
    account: 'Everyday',
    local_date: '2026-11-20',
    transaction_date: '2026-11-20T03:00:00Z',
    post_date: '2026-11-20T03:00:00Z',
    merchant_name: null,
    category: null,
    merchant_category_code: null,
    reference: null,
    extended_description: null,
  }
  return JSON.stringify(fields).replace('"amount":0', `"amount":${amount}`)
}

test('an event is the envelope of the contract, keys in its order', () => {
  const [event] = makeEvents(draftOf([makeTransaction('a')], [makeTransaction('b')]))
  assert.ok(event)
  const envelope = JSON.parse(textOf(event.body))
  assert.deepEqual(EventEnvelope.parse(envelope), envelope)
  const names = ['id', 'object', 'type', 'api_version', 'created', 'data', 'metadata']
  assert.deepEqual(Object.keys(envelope), names)
  assert.deepEqual(Object.keys(envelope.data), ['new', 'updated'])
  assert.equal(envelope.id, event.id)
  assert.equal(envelope.created, Date.UTC(2026, 10, 20, 3, 15) / 1000)
  assert.deepEqual(Object.entries(envelope.metadata), [
    ['sync_run_id', ids.runId],
    ['new_count', 1],
    ['updated_count', 1],
    ['chunk', 1],
    ['total_chunks', 1],
  ])
})

test('an amount beyond 2^53 is an exact event of the contract, also in a replay', () => {
  const [event] = makeEvents(draftOf([makeTransaction('a', '9007199254740993')]))
  assert.ok(event)
  for (const body of [event.body, toReplay(event.body)]) {
    const [row] = parseEvent(textOf(body)).data.new
    assert.ok(row?.object === 'transaction')
    assert.equal(row.amount, 9_007_199_254_740_993n)
  }
})

test('R32: a run without new or updated rows is one event with empty arrays, chunk 1 of 1', () => {
  const events = [...makeEvents(draftOf([]))]
  assert.equal(events.length, 1)
  assert.equal(events[0]?.isEmpty, true)
  const envelope = JSON.parse(textOf(events[0]?.body ?? new Uint8Array()))
  assert.deepEqual(EventEnvelope.parse(envelope), envelope)
  assert.deepEqual(envelope.data, { new: [], updated: [] })
  assert.deepEqual(envelope.metadata, {
    sync_run_id: ids.runId,
    new_count: 0,
    updated_count: 0,
    chunk: 1,
    total_chunks: 1,
  })
})

test('R33: a chunk holds at most 100 objects, new ones before updated ones, each chunk with an id of its own', () => {
  const events = [...makeEvents(draftOf(objects(150), objects(60)))]
  const envelopes = events.map(({ body }) => JSON.parse(textOf(body)))
  assert.deepEqual(
    envelopes.map(({ data }) => [data.new.length, data.updated.length]),
    [
      [100, 0],
      [50, 50],
      [0, 10],
    ],
  )
  assert.deepEqual(
    envelopes.map(({ metadata }) => [metadata.chunk, metadata.total_chunks]),
    [
      [1, 3],
      [2, 3],
      [3, 3],
    ],
  )
  // The counts are of the whole run.
  assert.ok(envelopes.every(({ metadata }) => metadata.new_count === 150))
  assert.ok(envelopes.every(({ metadata }) => metadata.updated_count === 60))
  assert.equal(new Set(events.map(({ id }) => id)).size, 3)
  assert.deepEqual(
    events.map(({ chunk, totalChunks }) => [chunk, totalChunks]),
    [
      [1, 3],
      [2, 3],
      [3, 3],
    ],
  )
})

test('R33: one object that is larger than a chunk has its own event, uncut', () => {
  const large = objectOf(0, 'x'.repeat(2 * chunkLimits.maxBytes))
  const events = [...makeEvents(draftOf([objectOf(1), large, objectOf(2)]))]
  const texts = events.map(({ body }) => textOf(body))
  assert.equal(texts.length, 3)
  assert.ok(texts[1]?.includes(large))
  assert.deepEqual(
    texts.map((text) => JSON.parse(text).data.new.length),
    [1, 1, 1],
  )
})

test('R33: no chunk is over 100 objects or 64 KiB, nothing is lost, doubled or moved, and no chunk could take the next object', () => {
  // Characters of one to four bytes, so that bytes and letters differ.
  const text = fc.string({
    unit: fc.constantFrom('a', 'é', '☕', '🐋', '"', '\n'),
    maxLength: 6000,
  })
  const list = fc.array(text, { maxLength: 130 })
  fc.assert(
    fc.property(list, list, (news, updated) => {
      const draft = draftOf(
        news.map((one, index) => objectOf(index, one)),
        updated.map((one, index) => objectOf(index + 1000, one)),
      )
      const events = [...makeEvents(draft)]
      const bodies = events.map(({ body }) => textOf(body))
      const data = bodies.map((body) => JSON.parse(body).data)
      const rejoin = (name: 'new' | 'updated') => data.flatMap((one) => one[name])
      assert.deepEqual(
        rejoin('new'),
        draft.new.map((one) => JSON.parse(one)),
      )
      assert.deepEqual(
        rejoin('updated'),
        draft.updated.map((one) => JSON.parse(one)),
      )
      const sizes = data.map((one) => one.new.length + one.updated.length)
      for (const [index, event] of events.entries()) {
        const size = sizes[index] ?? 0
        assert.ok(size <= chunkLimits.maxObjects)
        assert.ok(event.body.byteLength <= chunkLimits.maxBytes || size === 1)
        const next = data[index + 1]
        if (next === undefined) continue
        const bytes = Buffer.byteLength(JSON.stringify(next.new[0] ?? next.updated[0]))
        // Thirty bytes: counts of chunks are reserved at their longest.
        const isFull = event.body.byteLength + bytes + 30 > chunkLimits.maxBytes
        assert.ok(size === chunkLimits.maxObjects || isFull)
      }
    }),
    { numRuns: 25 },
  )
})

test('numbers go through as they are written, also those that no float holds', () => {
  const amount = '-90071992547409931234567890'
  const [event] = makeEvents(draftOf([`{"amount":${amount}}`]))
  assert.ok(event)
  assert.ok(textOf(event.body).includes(`{"amount":${amount}}`))
  assert.ok(textOf(toReplay(event.body)).includes(`{"amount":${amount}}`))
})

test('R33: a replay has the bytes of the original but for a sync_run_id of null', () => {
  // Texts that look like the end of an envelope do not mislead it.
  const trap = '"metadata":{"sync_run_id":null,"new_count":1,"updated_count":1,"chunk":1}}'
  const events = [
    ...makeEvents(draftOf([objectOf(1, trap), makeTransaction('b')], objects(120, trap))),
  ]
  for (const { body } of events) {
    const wanted = textOf(body).replace(
      new RegExp(`"sync_run_id":"${ids.runId}"(?=[^"]*"new_count":\\d+[^{}]*}}$)`),
      '"sync_run_id":null',
    )
    const replay = textOf(toReplay(body))
    assert.equal(replay, wanted)
    assert.notEqual(replay, textOf(body))
    assert.equal(JSON.parse(replay).metadata.sync_run_id, null)
    // A replay of a replay changes nothing any more.
    assert.equal(textOf(toReplay(toReplay(body))), replay)
  }
})

test('what is no envelope is not replayed', () => {
  for (const text of ['', '{}', '{"metadata":{"sync_run_id":7}}', '"metadata":{']) {
    assert.throws(() => toReplay(Buffer.from(text)), /no metadata/)
  }
})
