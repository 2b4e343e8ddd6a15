/** Cursors that are no longer kept, and where to go on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, codeOf, startService } from '#tests/support/service.ts'
import { emit } from './emitted.ts'

const day = 86_400_000

function oldestOf(answer: Answer): string {
  assert.equal(answer.status, 410)
  assert.equal(codeOf(answer), 'cursor_expired')
  const [line] = answer.body.error.details
  assert.match(line, /^oldest: [A-Za-z0-9_-]+$/)
  return line.slice('oldest: '.length)
}

test('R42: a cursor before destroyed events is 410, and the oldest one in the details goes on', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { store } = service.app
  const user = await service.createUser()
  const get = (query: string) => service.get(`/v1/events${query}`, user)
  const { next } = (await get('')).body
  const at = service.clock.now()
  await emit(store, user.id, { at })
  await emit(store, user.id, { at })
  const [kept] = await emit(store, user.id, { at: at + 4 * day })
  await store.events.shred({ acceptedBefore: at + day, now: at + 4 * day, limit: 500 })
  const oldest = oldestOf(await get(`?after=${next}`))
  const found = await get(`?after=${oldest}`)
  assert.deepEqual(found.body.data, [JSON.parse(kept ?? '')])

  await store.events.shred({ acceptedBefore: at + 5 * day, now: at + 8 * day, limit: 500 })
  assert.equal(oldestOf(await get(`?after=${next}`)), found.body.next)
  await store.events.sweepReceipts({ before: at + 40 * day, limit: 500 })
  assert.equal(oldestOf(await get(`?after=${next}`)), found.body.next)
  assert.deepEqual((await get(`?after=${found.body.next}`)).body.data, [])
})

test('R42: a consumer that asks without a cursor begins with the oldest kept event', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { store } = service.app
  const user = await service.createUser()
  const get = (query: string) => service.get(`/v1/events${query}`, user)
  await get('')
  const at = service.clock.now()
  await emit(store, user.id, { at })
  const [kept] = await emit(store, user.id, { at: at + 4 * day })
  await store.events.shred({ acceptedBefore: at + day, now: at + 4 * day, limit: 500 })
  assert.deepEqual((await get('')).body.data, [JSON.parse(kept ?? '')])
})

test('R42: after the ledger has ended, cursors of before are 410', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { store } = service.app
  const user = await service.createUser()
  const get = (query: string) => service.get(`/v1/events${query}`, user)
  const { next } = (await get('')).body
  const [first] = await store.consumers.list(user.id)
  assert.ok(first)
  await store.transact(async (tx) => {
    await tx.consumers.delete(first.id)
    await tx.ledgers.end(user.id)
  })
  const oldest = oldestOf(await get(`?after=${next}`))
  const [body] = await emit(store, user.id)
  assert.deepEqual((await get(`?after=${oldest}`)).body.data, [JSON.parse(body ?? '')])
})
