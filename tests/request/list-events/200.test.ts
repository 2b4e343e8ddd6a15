/** Events that are fetched: order, acknowledgement, consumers apart, waiting. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { type ServiceUser, startService } from '#tests/support/service.ts'
import { makeConnectionEvents } from '#webhooks/accept-connection-events.ts'
import { emit, manyDigits, transactionText } from './emitted.ts'

const service = await startService()
after(() => service.close())

const store = () => service.app.store
const fetch = async (user: ServiceUser, query = '') => {
  const answer = await service.get(`/v1/events${query}`, user)
  assert.equal(answer.status, 200, answer.text)
  return answer
}
const idsOf = (bodies: readonly string[]) => bodies.map((body) => JSON.parse(body).id)

test('R42: a consumer begins with its first request, gets what comes after it, in order, byte for byte', async () => {
  const user = await service.createUser()
  await emit(store(), user.id)
  const first = await fetch(user)
  assert.deepEqual(first.body.data, [])
  const bodies = [
    ...(await emit(store(), user.id, { rows: [transactionText()] })),
    ...(await emit(store(), user.id, { type: 'trades.synced' })),
    ...(await emit(store(), user.id, {
      rows: Array.from({ length: 250 }, () => transactionText()),
    })),
  ]
  const { text, body } = await fetch(user, `?after=${first.body.next}`)
  assert.equal(text, `{"data":[${bodies.join(',')}],"next":"${body.next}"}`)
  assert.ok(text.includes(manyDigits))
  assert.deepEqual((await fetch(user, `?after=${body.next}`)).body, { data: [], next: body.next })
})

test('R42: without a cursor an answer is repeated until its cursor acknowledges it', async () => {
  const user = await service.createUser()
  await fetch(user)
  const bodies = await emit(store(), user.id)
  const [once, again] = [await fetch(user), await fetch(user)]
  assert.deepEqual(idsOf(bodies), [once.body.data[0].id])
  assert.equal(again.text, once.text)
  await fetch(user, `?after=${once.body.next}`)
  assert.deepEqual((await fetch(user)).body.data, [])
  const back = await fetch(user, `?after=${once.body.next}`)
  assert.deepEqual(back.body.data, [])
})

test('R42: consumers have their own places, and at most 100 events come at once', async () => {
  const user = await service.createUser()
  await fetch(user, '?consumer=books')
  await fetch(user, '?consumer=alerts')
  const bodies: string[] = []
  for (let run = 0; run < 103; run += 1) bodies.push(...(await emit(store(), user.id)))
  const first = await fetch(user, '?consumer=books')
  assert.equal(first.body.data.length, 100)
  const rest = await fetch(user, `?consumer=books&after=${first.body.next}`)
  assert.deepEqual(
    [...first.body.data, ...rest.body.data].map(({ id }) => id),
    idsOf(bodies),
  )
  const other = await fetch(user, '?consumer=alerts&limit=2')
  assert.deepEqual(
    other.body.data.map(({ id }: { id: string }) => id),
    idsOf(bodies).slice(0, 2),
  )
  assert.equal((await fetch(user, '?consumer=alerts&limit=2000')).body.data.length, 100)
})

test('R42: types choose, and what is passed over is passed over once', async () => {
  const user = await service.createUser()
  const { next } = (await fetch(user)).body
  for (let run = 0; run < 3; run += 1) await emit(store(), user.id)
  const [trade] = await emit(store(), user.id, { type: 'trades.synced' })
  await emit(store(), user.id)
  const found = await fetch(user, `?after=${next}&types=trades.synced`)
  assert.deepEqual(found.body.data, [JSON.parse(trade ?? '')])
  const later = await fetch(user, `?after=${found.body.next}&types=transactions.synced,`)
  assert.deepEqual(later.body.data, [])
})

test('R42: a request that waits is answered by the first event, and without one at the end of its time', async () => {
  const user = await service.createUser()
  const { next } = (await fetch(user)).body
  const from = performance.now()
  const waiting = fetch(user, `?after=${next}&wait=50`)
  await new Promise((resolve) => setTimeout(resolve, 200))
  const [body] = await emit(store(), user.id)
  const answer = await waiting
  assert.deepEqual(answer.body.data, [JSON.parse(body ?? '')])
  assert.ok(performance.now() - from < 5000)
  const empty = await fetch(user, `?after=${answer.body.next}&wait=1`)
  assert.deepEqual(empty.body, { data: [], next: answer.body.next })
  const soon = await fetch(user, `?after=${answer.body.next}&wait=1&types=trades.synced`)
  assert.deepEqual(soon.body.data, [])
})

test('R42: many who wait for the same events all get them', async () => {
  const user = await service.createUser()
  const { next } = (await fetch(user)).body
  const waiting = Array.from({ length: 50 }, () => fetch(user, `?after=${next}&wait=30`))
  await new Promise((resolve) => setTimeout(resolve, 300))
  const [body] = await emit(store(), user.id)
  for (const answer of await Promise.all(waiting)) {
    assert.deepEqual(answer.body.data, [JSON.parse(body ?? '')])
  }
})

test('R42, R27: a key that is revoked while its request waits gets nothing more', async () => {
  const user = await service.createUser()
  const { next } = (await fetch(user)).body
  const waiting = service.get(`/v1/events?after=${next}&wait=30`, user)
  await new Promise((resolve) => setTimeout(resolve, 200))
  await store().keys.revoke(user.keyId, service.clock.now())
  const answer = await waiting
  assert.equal(answer.status, 401)
})

test('R42, R34b: the ledger begins with the first consumer', async () => {
  const user = await service.createUser()
  assert.equal(await store().ledgers.readKey(user.id), null)
  await fetch(user)
  assert.notEqual(await store().ledgers.readKey(user.id), null)
})

test('R42, R34b: with the first consumer every connection is synced, and with another one none', async () => {
  const user = await service.createUser()
  await service.link(user, 'healthy', 'fiskil')
  const due = async () => {
    const states = await store().syncs.listStates(user.id)
    return states.map(({ nextAt }) => nextAt ?? 0).filter((at) => at <= service.clock.now()).length
  }
  const sync = async () => {
    for (const { id } of await store().connections.list(user.id)) {
      await service.app.syncs.runSync(byOperator, id)
    }
  }
  await sync()
  assert.equal(await due(), 0)
  await fetch(user)
  const { length } = await store().connections.list(user.id)
  assert.equal(await due(), length)
  await sync()
  await fetch(user, '?consumer=another')
  assert.equal(await due(), 0)
})

test('R42: a waiting request takes no place of heavy requests, and its time is no time of service', async () => {
  const user = await service.createUser()
  const { next } = (await fetch(user)).body
  const waiting = Array.from({ length: 6 }, () => fetch(user, `?after=${next}&wait=2`))
  const [connection] = await service.link(user, 'healthy', 'fiskil')
  const read = await service.get(`/v1/transactions?connectionId=${connection?.id}`, user)
  assert.equal(read.status, 200)
  await Promise.all(waiting)
  const lines = service.logLines.map((line) => JSON.parse(line))
  const waited = lines.filter(({ operation }) => operation === 'list_events').slice(-6)
  assert.equal(waited.length, 6)
  for (const { durationMs } of waited) assert.ok(durationMs < 1500, String(durationMs))
})

test('R42, R41: changes of connections come to a consumer that names them, and to no other', async () => {
  const user = await service.createUser()
  const { next } = (await fetch(user)).body
  const connections = await service.link(user, 'healthy', 'fiskil')
  const waiting = await store().connectionEvents.listWaiting(100)
  const own = waiting.filter(({ userId }) => userId === user.id)
  const changes = own.map(({ type, connection: { id } }) => [type, id])
  assert.deepEqual(
    changes.toSorted(),
    connections.map(({ id }) => ['connection.linked', id]).toSorted(),
  )
  const stopping = new AbortController()
  await makeConnectionEvents(store()).run(stopping.signal)
  const named = await fetch(user, `?after=${next}&types=connection.linked,connection.removed`)
  assert.deepEqual(
    named.body.data.map(({ type, data }: { type: string; data: { id: string } }) => [
      type,
      data.id,
    ]),
    changes,
  )
  assert.deepEqual((await fetch(user, `?after=${next}`)).body.data, [])
})
