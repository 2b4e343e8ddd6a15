/** Which consents are mailed about, when, and how often; each by the real store. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeMigratedPlace } from '#tests/contract/store/place.ts'
import { addLink, now } from '#tests/contract/store/rows.ts'
import { makeCompose } from './compose.ts'
import { makeExpiryNotices } from './expiry-notices.ts'
import { reconnectDueAt } from './reconnect-due.ts'

const day = 86_400_000
const never = new AbortController().signal

/** A connection whose consent ends in this many days, and a clock of whole days. */
async function open(t: TestContext, days: number) {
  let time = now
  const clock = { now: () => time }
  const place = makeMigratedPlace()
  const store = await place.open({ reconnectDueAt, clock })
  t.after(async () => {
    await store.close()
    await place.remove()
  })
  const { user, connection } = await addLink(store)
  await store.users.confirmEmail(user.id, now)
  await store.connections.setConsentExpiry(connection.id, now + days * day)
  const origin = () => 'https://bank.example'
  const compose = makeCompose({ store, clock, origin, defaultZone: 'Pacific/Auckland' })
  return {
    store,
    connection,
    pass(count: number) {
      time += count * day
    },
    /** One run, and the letters that it leads to. */
    async run() {
      await makeExpiryNotices({ store, clock }).run(never)
      const claimed = await store.mails.claim({ now: time, leaseMs: 1, limit: 10 })
      const letters = []
      for (const mail of claimed) {
        letters.push(await compose(mail))
        await store.mails.end(mail)
      }
      return letters
    },
  }
}

test('a consent that ends is mailed about 14 and 3 days before, each once', async (t) => {
  const { run, pass, connection } = await open(t, 20)
  assert.deepEqual(await run(), [])
  pass(6.5)
  const [first, ...more] = await run()
  assert.deepEqual(more, [])
  assert.match(first?.subject ?? '', /^The permission to read .* ends on 10 December 2026$/)
  assert.ok(first?.text.includes(`\nhttps://bank.example/connections/${connection.id}\n`))
  for (let days = 0; days < 10; days += 1) {
    assert.deepEqual(await run(), [])
    pass(1)
  }
  pass(0.6)
  assert.equal((await run()).length, 1)
  assert.deepEqual(await run(), [])
  pass(5)
  assert.deepEqual(await run(), [])
})

test('a consent that is first seen in its last days is mailed about once, and one that has ended not at all', async (t) => {
  const late = await open(t, 2)
  assert.equal((await late.run()).length, 1)
  assert.deepEqual(await late.run(), [])
  const ended = await open(t, -1)
  assert.deepEqual(await ended.run(), [])
})

test('a renewed consent is another matter, and a mail about the former one is not sent', async (t) => {
  const { run, store, connection, pass } = await open(t, 10)
  await store.mails.readBacklog(0)
  await makeExpiryNotices({ store, clock: { now: () => now } }).run(never)
  await store.connections.setConsentExpiry(connection.id, now + 90 * day)
  assert.deepEqual(await run(), [null])
  pass(80)
  const [letter] = await run()
  assert.match(letter?.subject ?? '', /ends on 18 February 2027$/)
})

test('a connection that is not active is not mailed about: it has to be reconnected in any case', async (t) => {
  const { run, store, connection } = await open(t, 2)
  await store.connections.setStatus(connection.id, 'invalidated')
  assert.deepEqual(await run(), [])
})

test('however many consents end, every one is mailed about', async (t) => {
  const { store } = await open(t, 2)
  for (let count = 0; count < 250; count += 1) {
    const { connection } = await addLink(store)
    await store.connections.setConsentExpiry(connection.id, now + 5 * day)
  }
  await makeExpiryNotices({ store, clock: { now: () => now } }).run(never)
  assert.equal((await store.mails.readBacklog(0)).waiting, 251)
})
