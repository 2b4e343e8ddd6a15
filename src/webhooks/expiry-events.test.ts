/** Which ends of consents are announced, when, and how often; each by the real store. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { addEndpoint } from '#tests/contract/store/event-rows.ts'
import { openSqliteStore } from '#tests/contract/store/place.ts'
import { addLink, now } from '#tests/contract/store/rows.ts'
import { makeExpiryEvents, nearestDays } from './expiry-events.ts'

const day = 86_400_000
const never = new AbortController().signal

/** A connection whose consent ends in this many days, and the days of the clock on which it was announced. */
async function open(t: TestContext, days: number) {
  let time = now
  const store = await openSqliteStore(t)
  const { user, connection } = await addLink(store)
  const end = now + days * day
  await store.connections.setConsentExpiry(connection.id, end)
  const task = makeExpiryEvents({ store, clock: { now: () => time } })
  return {
    store,
    connection,
    end,
    watch: () => addEndpoint(store, user.id, { events: ['connection.expiring'] }),
    pass(count: number) {
      time += count * day
    },
    /** One run; how many days before the end each announcement was that waits. */
    async run() {
      await task.run(never)
      const waiting = await store.connectionEvents.listWaiting(100)
      return waiting.map(({ createdAt, expiresAt }) => ((expiresAt ?? 0) - createdAt) / day)
    },
  }
}

test('R41: the end of a consent is announced 30, 7 and 1 days before, each once, and not after it', async (t) => {
  const { run, pass, watch } = await open(t, 40.5)
  await watch()
  for (let days = 0; days < 45; days += 1) {
    await run()
    await run()
    pass(1)
  }
  assert.deepEqual(await run(), [29.5, 6.5, 0.5])
})

test('R41: after a process was down over days of announcement, only the nearest that is still true follows', async (t) => {
  const { run, pass, watch } = await open(t, 40)
  await watch()
  assert.deepEqual(await run(), [])
  pass(35)
  assert.deepEqual(await run(), [5])
  assert.deepEqual(await run(), [5])
  pass(4.5)
  assert.deepEqual(await run(), [5, 0.5])
  pass(1)
  assert.deepEqual(await run(), [5, 0.5])
})

test('R41: an endpoint that comes late, and a connection that is active again, get the nearest day that is still true', async (t) => {
  const { run, pass, watch, store, connection } = await open(t, 20)
  assert.deepEqual(await run(), [])
  pass(10)
  await watch()
  assert.deepEqual(await run(), [10])
  await store.connections.setStatus(connection.id, 'invalidated')
  pass(5)
  assert.deepEqual(await run(), [10])
  await store.connections.setStatus(connection.id, 'active')
  assert.deepEqual(await run(), [10, 5])
})

test('R41: a renewed consent is announced anew', async (t) => {
  const { run, pass, watch, store, connection, end } = await open(t, 6)
  await watch()
  assert.deepEqual(await run(), [6])
  await store.connections.setConsentExpiry(connection.id, end + 90 * day)
  assert.deepEqual(await run(), [6])
  pass(89)
  assert.deepEqual(await run(), [6, 7])
})

test('R41: the nearest day is that of the moment, to the millisecond', () => {
  const cases = [
    [30 * day + 1, null],
    [30 * day, 30],
    [7 * day + 1, 30],
    [7 * day, 7],
    [day, 1],
    [1, 1],
    [0, null],
    [-day, null],
  ] as const
  for (const [remaining, days] of cases) assert.equal(nearestDays(remaining), days)
})
