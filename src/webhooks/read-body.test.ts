import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EventId, newId } from '#kernel/ids.ts'
import type { SealedBody } from '#store/ports/events.ts'
import { makeReadBody } from './read-body.ts'

/** Events whose payloads exist; notes which were read together. */
function makeEvents(existing: readonly EventId[]) {
  const bodies = new Map<EventId, SealedBody>(
    existing.map((id) => [
      id,
      { open: async () => Buffer.from(id), sealResponse: () => new Uint8Array() },
    ]),
  )
  const read: EventId[][] = []
  const readBodies = async (ids: readonly EventId[]) => {
    read.push([...ids])
    return new Map([...bodies].filter(([id]) => ids.includes(id)))
  }
  return { bodies, read, readBodies }
}

const newIds = (length: number) => Array.from({ length }, () => newId<EventId>())

test('payloads that are asked for in one turn are read at once, and one of several deliveries once', async () => {
  const [one, two, gone] = newIds(3) as [EventId, EventId, EventId]
  const events = makeEvents([one, two])
  const readBody = makeReadBody(events)
  const found = await Promise.all([one, two, one, gone].map((id) => readBody(id)))
  assert.deepEqual(found, [
    events.bodies.get(one),
    events.bodies.get(two),
    events.bodies.get(one),
    undefined,
  ])
  assert.deepEqual(events.read, [[one, two, gone]])
  // It may have been destroyed meanwhile.
  events.bodies.delete(one)
  assert.equal(await readBody(one), undefined)
  assert.equal(events.read.length, 2)
})

test('one read is bounded', async () => {
  const ids = newIds(150)
  const events = makeEvents(ids)
  const readBody = makeReadBody(events)
  const found = await Promise.all(ids.map((id) => readBody(id)))
  assert.ok(found.every((body) => body !== undefined))
  assert.deepEqual(
    events.read.map(({ length }) => length),
    [64, 64, 22],
  )
})

test('an error of the store reaches everybody who asked, and the next read is another', async () => {
  const [id] = newIds(1) as [EventId]
  const events = makeEvents([id])
  let isAway = true
  const readBodies = async (ids: readonly EventId[]) => {
    if (isAway) throw new Error('the store is away')
    return events.readBodies(ids)
  }
  const readBody = makeReadBody({ readBodies })
  const results = await Promise.allSettled([readBody(id), readBody(id)])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  isAway = false
  assert.equal(await readBody(id), events.bodies.get(id))
})
