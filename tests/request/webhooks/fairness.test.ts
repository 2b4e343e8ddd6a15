/** Failing and slow endpoints do not delay others. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { makeMigratedPlace } from '#tests/contract/store/place.ts'
import { until } from '#tests/support/until.ts'
import { makeEvents } from '#webhooks/envelope.ts'
import { aWhile, openStage, withStatus } from './stage.ts'

test('endpoints that never answer, more than a process has room for, do not delay one that does', async (t) => {
  const stage = await openStage(t, { timeoutMs: 30_000 })
  const dead = await stage.receive(() => {})
  dead.answer = withStatus(500)
  const ids = []
  // Of several users: each has twenty endpoints at the most.
  for (let count = 0; count < 19; count += 1) ids.push((await stage.addEndpoint(dead.url)).id)
  await stage.emit()
  await until('all are unhealthy', async () => {
    const rows = await stage.store.endpoints.list(stage.userId)
    return rows.every(({ health }) => health === 'degraded')
  })
  // From now on they hold whatever is sent to them.
  dead.answer = () => {}
  const count = dead.received.length
  stage.pass(60_000)
  await until('the room of the unhealthy is full', () => dead.received.length >= count + 16)
  const good = await stage.receive()
  const { id } = await stage.addEndpoint(good.url)
  const before = performance.now()
  await stage.emit()
  await until('the good one has its event', async () => {
    const [delivery] = await stage.deliveries(id)
    return delivery?.status === 'succeeded'
  })
  // No delivery to a failing endpoint has ended meanwhile.
  assert.ok(performance.now() - before < 30_000)
  assert.equal(good.received.length, 1)
})

test('at most four events are in flight to one endpoint', async (t) => {
  const stage = await openStage(t)
  let inFlight = 0
  let most = 0
  const receiver = await stage.receive((response) => {
    inFlight += 1
    most = Math.max(most, inFlight)
    setTimeout(() => {
      inFlight -= 1
      response.end()
    }, 100)
  })
  const { id } = await stage.addEndpoint(receiver.url)
  for (let count = 0; count < 30; count += 1) await stage.emit()
  await until('all are delivered', async () =>
    (await stage.deliveries(id)).every(({ status }) => status === 'succeeded'),
  )
  assert.equal(most, 4)
  await aWhile()
  assert.equal(receiver.received.length, 30)
})

test('of many events that are due at an endpoint that fails, few are tried before it is paused', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(receiver.url)
  receiver.answer = withStatus(429, { 'retry-after': '60' })
  await stage.emit()
  await until('it asked for a pause', () => stage.attempts.length === 1)
  for (let count = 0; count < 30; count += 1) await stage.emit()
  // Healthy again, so that all of them are due at once.
  receiver.answer = withStatus(500)
  await stage.webhooks.enableEndpoint(byOperator, id)
  stage.pass(0)
  await until(
    'it is paused',
    async () => (await stage.store.endpoints.find(id))?.health === 'paused',
  )
  await aWhile()
  // As many as are in flight at once, first while it is healthy, then while it is degraded.
  assert.ok(receiver.received.length - 1 <= 8, `${receiver.received.length}`)
})

test('an endpoint that is enabled in the instant in which an attempt ends is sent to at once', async (t) => {
  let enable = () => {}
  const stage = await openStage(t, { onAttempt: () => enable() })
  const receiver = await stage.receive(withStatus(429, { 'retry-after': '60' }))
  const { id } = await stage.addEndpoint(receiver.url)
  enable = () => {
    enable = () => {}
    receiver.answer = withStatus(200)
    void stage.webhooks.enableEndpoint(byOperator, id)
  }
  await stage.emit()
  await until('it asked for a pause', () => stage.attempts.length === 1)
  await stage.emit()
  await until('the next event was sent', () => stage.attempts.length === 2)
  assert.equal(stage.attempts[1]?.outcome, 'succeeded')
})

test('a stored secret that cannot be decrypted stops only its own endpoint, until it gets a new one', async (t) => {
  const place = makeMigratedPlace()
  const stage = await openStage(t, { place })
  const receiver = await stage.receive()
  const damaged = await stage.addEndpoint(receiver.url)
  const other = await stage.addEndpoint(receiver.url)
  const db = new DatabaseSync(join(place.dataDir, 'tributary.db'))
  db.prepare('update webhook_endpoints set secret = zeroblob(64) where id = ?').run(damaged.id)
  db.close()
  await stage.emit()
  await until('the other one has its event', async () => {
    const [delivery] = await stage.deliveries(other.id)
    return delivery?.status === 'succeeded'
  })
  await until('the failure is reported', () =>
    stage.failures.some((error) => String(error).includes(`webhooks rotate ${damaged.id}`)),
  )
  const { previousUntil } = await stage.webhooks.rotateEndpoint(byOperator, damaged.id, {})
  assert.equal(previousUntil, null)
  stage.pass(60_000)
  await until('the mended one has its event', async () => {
    const [delivery] = await stage.deliveries(damaged.id)
    return delivery?.status === 'succeeded'
  })
})

test('an endpoint that nothing can be sent to rests until its lease ends, although a test event waits there', async (t) => {
  const place = makeMigratedPlace()
  const stage = await openStage(t, { place })
  const receiver = await stage.receive()
  const { id } = await stage.addEndpoint(receiver.url)
  const db = new DatabaseSync(join(place.dataDir, 'tributary.db'))
  db.prepare('update webhook_endpoints set secret = zeroblob(64) where id = ?').run(id)
  db.close()
  const { userId, store } = stage
  const draft = { userId, connectionId: null, runId: null, createdAt: stage.now() }
  const events = makeEvents({ ...draft, type: 'transactions.synced', new: [], updated: [] })
  await store.events.accept(await store.events.seal(events), id)
  await until('the failure is reported', () => stage.failures.length > 0)
  await aWhile()
  assert.equal(stage.failures.length, 1)
  stage.pass(60_000)
  await until('it is tried again', () => stage.failures.length > 1)
  await aWhile()
  assert.equal(stage.failures.length, 2)
  await stage.webhooks.rotateEndpoint(byOperator, id, {})
  await until('the test is sent at once', () => receiver.received.length === 1)
})

test('a stored URL that cannot be decrypted is named as such: a new secret does not mend it, and is refused as a test is', async (t) => {
  const place = makeMigratedPlace()
  const stage = await openStage(t, { place })
  const { id } = await stage.addEndpoint((await stage.receive()).url)
  const db = new DatabaseSync(join(place.dataDir, 'tributary.db'))
  db.prepare('update webhook_endpoints set sealed_url = zeroblob(64) where id = ?').run(id)
  db.close()
  await stage.emit()
  await until('the failure is reported', () => stage.failures.length > 0)
  const remedy = new RegExp(
    `the URL of .* cannot be decrypted.*webhooks remove ${id}. and create`,
    'i',
  )
  assert.match(String(stage.failures[0]), remedy)
  await assert.rejects(stage.webhooks.rotateEndpoint(byOperator, id, {}), remedy)
  await assert.rejects(stage.webhooks.testEndpoint(byOperator, id), remedy)
})
