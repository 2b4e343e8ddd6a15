/** How long payloads are kept, and what can be sent again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { ApiError } from '#contract/errors.ts'
import { toIso } from '#kernel/time.ts'
import { until } from '#tests/support/until.ts'
import { makeRetention } from '#webhooks/retention.ts'
import { openStage, type Stage, withStatus } from './stage.ts'

const hour = 3_600_000
const canary = 'Walrus Sanctuary 4711'
const never = new AbortController().signal

/** How many payloads it reports as destroyed. */
async function sweep(stage: Stage, retentionHours: number): Promise<number> {
  let count = 0
  const report = {
    shredded(more: number) {
      count += more
    },
  }
  const { events } = stage.store
  await makeRetention({ events, clock: stage, retentionHours, report }).run(never)
  return count
}

const refused = (code: string) => (error: unknown) =>
  error instanceof ApiError && error.code === code

test('R33: a replay has the id and the rows of the original and no sync_run_id', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive()
  const { id } = await stage.addEndpoint(receiver.url)
  await stage.emit([`{"description":"${canary}","amount":90071992547409931234}`])
  await until(
    'it is delivered',
    async () => (await stage.deliveries(id))[0]?.status === 'succeeded',
  )
  const [delivery] = await stage.deliveries(id)
  assert.ok(delivery)
  const again = await stage.webhooks.replayDelivery(byOperator, delivery.id)
  assert.equal(again.isReplay, true)
  assert.equal(again.eventId, delivery.eventId)
  assert.notEqual(again.id, delivery.id)
  await until('it arrived again', () => receiver.received.length === 2)
  const [first, second] = receiver.received
  assert.equal(first?.id, second?.id)
  const runId = JSON.parse(first?.body ?? '').metadata.sync_run_id
  assert.equal(second?.body, first?.body.replace(`"sync_run_id":"${runId}"`, '"sync_run_id":null'))
})

test('R33: a payload is destroyed when its retention ends and nothing of it is pending', async (t) => {
  const stage = await openStage(t)
  const good = await stage.receive()
  const bad = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(good.url)
  const { id: waiting } = await stage.addEndpoint(bad.url)
  const [eventId] = await stage.emit([`{"description":"${canary}"}`])
  await until('one has it', async () => (await stage.deliveries(id))[0]?.status === 'succeeded')
  await until('one failed', async () => (await stage.deliveries(waiting))[0]?.attempts.length === 1)
  const open = async () => stage.store.events.open(eventId as never)
  await sweep(stage, 72)
  assert.ok(await open())
  stage.pass(72 * hour + 1)
  await until('the other was tried again', () => bad.received.length === 2)
  await sweep(stage, 72)
  // Longer, while an attempt is due.
  assert.ok(await open())
  await stage.webhooks.disableEndpoint(byOperator, waiting)
  assert.equal(await sweep(stage, 72), 1)
  assert.equal(await open(), null)
  const [delivery] = await stage.deliveries(id)
  assert.ok(delivery)
  const replay = stage.webhooks.replayDelivery(byOperator, delivery.id)
  await assert.rejects(replay, refused('payload_shredded'))
  const range = { from: toIso(stage.now() - 80 * hour), to: toIso(stage.now()) }
  const all = stage.webhooks.replayRange(byOperator, id, range)
  await assert.rejects(all, refused('payload_shredded'))
  assert.equal(good.received.length, 1)
  // The receipt stays for thirty days.
  assert.equal((await stage.deliveries(id))[0]?.status, 'succeeded')
  stage.pass(31 * 24 * hour)
  await sweep(stage, 72)
  assert.deepEqual(await stage.deliveries(id), [])
})

test('R33: with a retention of 0 hours a payload is destroyed once it is delivered, and not before', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(receiver.url)
  const [eventId] = await stage.emit([`{"description":"${canary}"}`])
  const open = async () => stage.store.events.open(eventId as never)
  await until('it failed', async () => (await stage.deliveries(id))[0]?.attempts.length === 1)
  stage.pass(1000)
  await sweep(stage, 0)
  assert.ok(await open())
  receiver.answer = withStatus(200)
  stage.pass(5000)
  await until(
    'it is delivered',
    async () => (await stage.deliveries(id))[0]?.status === 'succeeded',
  )
  await sweep(stage, 0)
  assert.equal(await open(), null)
})

test('everything of a time is sent again, in order, and what was missed with it', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive()
  const { id } = await stage.addEndpoint(receiver.url)
  await stage.emit([])
  await until('it arrived', () => receiver.received.length === 1)
  stage.pass(hour)
  const from = toIso(stage.now())
  await stage.webhooks.disableEndpoint(byOperator, id)
  const missed: string[] = []
  for (let count = 0; count < 3; count += 1) {
    missed.push(...(await stage.emit([`{"id":"${count}"}`])))
    stage.pass(1000)
  }
  const range = { from, to: toIso(stage.now()) }
  const whileDisabled = stage.webhooks.replayRange(byOperator, id, range)
  await assert.rejects(whileDisabled, refused('webhook_disabled'))
  const [newest] = await stage.store.deliveries.list(id, { after: null, limit: 1 })
  assert.equal(newest?.status, 'missed')
  const single = stage.webhooks.replayDelivery(byOperator, newest.id)
  await assert.rejects(single, refused('webhook_disabled'))
  await stage.webhooks.enableEndpoint(byOperator, id)
  assert.equal(await stage.webhooks.replayRange(byOperator, id, range), 3)
  await until('they arrived', () => receiver.received.length === 4)
  const ids = receiver.received.slice(1).map((one) => one.id)
  assert.deepEqual([...ids].sort(), [...missed].sort())
  const backwards = { from: range.to, to: range.from }
  const wrong = stage.webhooks.replayRange(byOperator, id, backwards)
  await assert.rejects(wrong, refused('invalid_params'))
})
