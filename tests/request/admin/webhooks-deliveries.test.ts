/** Deliveries in the admin API: test events, what was sent and what came back, replays. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startReceiver, startWorker, withStatus } from '#tests/request/webhooks/stage.ts'
import { until } from '#tests/support/until.ts'
import { emit, errorOf, makeStage, rowsOf } from './webhooks-stage.ts'
import type { Answer, World } from './world.ts'

interface Delivery {
  readonly id: string
  readonly eventId: string
  readonly status: string
  readonly attempts: readonly Record<string, unknown>[]
}

const deliveryOf = ({ body }: Answer) => body as Delivery

/** Deliveries are sent as a worker does it. */
function deliver({ store, clock, workers }: World): void {
  const failed = (_task: string, error: unknown) => assert.fail(String(error))
  const report = { attempt: () => {}, warning: () => {}, shredded: () => {}, failed }
  workers.push(startWorker(store, { clock, report }))
}

test('a test event is real and signed, and the reply shows the receiver’s answer', async (t) => {
  const stage = await makeStage(t)
  deliver(stage)
  const receiver = await startReceiver(t, (response) => response.writeHead(418).end('a teapot'))
  const { id } = await stage.create({
    url: receiver.url,
    events: ['trades.synced'],
    skipEmpty: true,
  })
  const failed = await stage.ask('POST', `/admin/webhooks/${id}/test`)
  assert.equal(failed.status, 200)
  const delivery = deliveryOf(failed)
  const [attempt] = delivery.attempts
  assert.deepEqual(Object.keys(attempt ?? {}), [
    'at',
    'status',
    'durationMs',
    'failure',
    'response',
  ])
  assert.equal(attempt?.status, 418)
  assert.match(String(attempt?.failure), /answered 418/)
  assert.equal(attempt?.response, 'a teapot')
  assert.equal(delivery.status, 'pending')
  const envelope = JSON.parse(receiver.received[0]?.body ?? '')
  assert.equal(envelope.id, delivery.eventId)
  assert.equal(envelope.type, 'trades.synced')
  assert.deepEqual(envelope.data, { new: [], updated: [] })
  assert.deepEqual(envelope.metadata, {
    sync_run_id: null,
    new_count: 0,
    updated_count: 0,
    chunk: 1,
    total_chunks: 1,
  })
  receiver.answer = withStatus(204)
  assert.equal(
    deliveryOf(await stage.ask('POST', `/admin/webhooks/${id}/test`)).status,
    'succeeded',
  )
})

test('deliveries come newest first in pages, each with its attempts', async (t) => {
  const stage = await makeStage(t)
  deliver(stage)
  const receiver = await startReceiver(t, withStatus(200))
  const { id } = await stage.create({ url: receiver.url })
  for (let count = 0; count < 5; count += 1) {
    await emit(stage)
    await until('it arrived', () => receiver.received.length === count + 1)
    stage.clock.advance(1000)
  }
  const path = `/admin/webhooks/${id}/deliveries`
  await until('all are kept', async () =>
    rowsOf<Delivery>(await stage.ask('GET', path)).every(({ status }) => status === 'succeeded'),
  )
  const all = rowsOf<Delivery>(await stage.ask('GET', path))
  assert.equal(all.length, 5)
  assert.deepEqual(
    all.map(({ eventId }) => eventId),
    receiver.received.map((one) => one.id).reverse(),
  )
  assert.equal(all[0]?.attempts.length, 1)
  const paged: Delivery[] = []
  let cursor = ''
  for (let pages = 0; pages < 3; pages += 1) {
    const page = await stage.ask('GET', `${path}?limit=2${cursor}`)
    paged.push(...rowsOf<Delivery>(page))
    const { next } = page.body as { next: string | null }
    assert.equal(next === null, pages === 2)
    cursor = `&cursor=${next}`
  }
  assert.deepEqual(paged, all)
  const unknown = `&cursor=2.${crypto.randomUUID()}`
  const rest = await stage.ask('GET', `${path}?limit=9${unknown}`)
  assert.deepEqual(rowsOf<Delivery>(rest), all.slice(-1))
  assert.equal((await stage.ask('GET', `${path}?limit=0`)).status, 400)
  assert.equal((await stage.ask('GET', `${path}?cursor=x`)).status, 400)
  assert.equal((await stage.ask('GET', `${path}?page=1`)).status, 400)
})

test('one delivery and everything of a time are sent again', async (t) => {
  const stage = await makeStage(t)
  deliver(stage)
  const receiver = await startReceiver(t, withStatus(200))
  const { id } = await stage.create({ url: receiver.url })
  await emit(stage)
  await until('it arrived', () => receiver.received.length === 1)
  const [delivery] = rowsOf<Delivery>(await stage.ask('GET', `/admin/webhooks/${id}/deliveries`))
  const one = await stage.ask('POST', `/admin/deliveries/${delivery?.id}/replay`)
  assert.equal(one.status, 200)
  assert.equal(deliveryOf(one).eventId, delivery?.eventId)
  await until('it arrived again', () => receiver.received.length === 2)
  const range = { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' }
  const many = await stage.ask('POST', `/admin/webhooks/${id}/replay`, range)
  assert.deepEqual(many.body, { replayed: 1 })
  await until('it arrived a third time', () => receiver.received.length === 3)
  const bodies = receiver.received.slice(1).map(({ body }) => JSON.parse(body).metadata)
  assert.ok(bodies.every(({ sync_run_id }) => sync_run_id === null))
  const wrong = await stage.ask('POST', `/admin/webhooks/${id}/replay`, { from: '2026-11-20' })
  assert.deepEqual(errorOf(wrong).details?.length, 2)
})
