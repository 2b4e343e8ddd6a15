/** Cursors that are no longer kept, and where to go on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadSecrets } from '#settings/secrets.ts'
import { readConfig } from '#src/config.ts'
import { makeSealer } from '#store/seal.ts'
import { type Answer, codeOf, type Service, startService } from '#tests/support/service.ts'
import { makeCursors } from '#webhooks/cursor.ts'
import { emit } from './emitted.ts'

const day = 86_400_000

function oldestOf(answer: Answer): string {
  assert.equal(answer.status, 410)
  assert.equal(codeOf(answer), 'cursor_expired')
  const [line] = answer.body.error.details
  assert.match(line, /^oldest: [A-Za-z0-9_-]+$/)
  return line.slice('oldest: '.length)
}

async function keysOf({ dataDir }: Service): Promise<readonly Uint8Array[]> {
  const config = readConfig({ DATA_DIR: dataDir, SANDBOX: 'true' })
  return (await loadSecrets(config)).encryptionKeys.reveal()
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

test('R42: cursors from before a backup was restored pass over no event that came since', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { store } = service.app
  const user = await service.createUser()
  const get = (query: string) => service.get(`/v1/events${query}`, user)
  const bodies = [...(await emit(store, user.id))]
  const { next } = (await get('')).body
  bodies.splice(0, 1, ...(await emit(store, user.id)))
  const feed = await store.consumers.findFeed(user.id)
  assert.ok(feed)
  const cursors = makeCursors(makeSealer(await keysOf(service)).deriveAll('event-cursor'))
  const write = (position: number) => cursors.write(user.id, { feedId: feed.id, position })
  assert.equal(write(0), next)
  // What two programs had received when the store was at another event than now.
  const [one, other] = [write(3), write(4)]
  const [oldest, again] = [
    oldestOf(await get(`?after=${one}`)),
    oldestOf(await get(`?after=${one}`)),
  ]
  assert.equal(oldest, again)
  for (let run = 0; run < 5; run += 1) bodies.push(...(await emit(store, user.id)))
  for (const cursor of [one, other, next]) oldestOf(await get(`?after=${cursor}`))
  const found = await get(`?after=${oldest}`)
  assert.deepEqual(
    found.body.data,
    bodies.map((body) => JSON.parse(body)),
  )
  assert.deepEqual((await get(`?after=${found.body.next}`)).body.data, [])
})

test('R42: a cursor that a key signed which was replaced is 410, and nothing that is kept is passed over', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { store } = service.app
  const user = await service.createUser()
  const get = (query: string, as = user) => service.get(`/v1/events${query}`, as)
  await get('')
  const bodies = [...(await emit(store, user.id)), ...(await emit(store, user.id))]
  const feed = await store.consumers.findFeed(user.id)
  assert.ok(feed)
  const former = makeCursors(makeSealer([Buffer.alloc(32, 7)]).deriveAll('event-cursor'))
  const stored = former.write(user.id, { feedId: feed.id, position: 1 })
  const oldest = oldestOf(await get(`?after=${stored}`))
  const { data } = (await get(`?after=${oldest}`)).body
  assert.deepEqual(
    data,
    bodies.map((body) => JSON.parse(body)),
  )
  // For somebody else it is a cursor of another person, whether they have a feed or not.
  const stranger = await service.createUser()
  assert.equal((await get(`?after=${stored}`, stranger)).status, 400)
  await get('', stranger)
  const answer = await get(`?after=${stored}`, stranger)
  assert.deepEqual([answer.status, codeOf(answer)], [400, 'invalid_params'])
})
