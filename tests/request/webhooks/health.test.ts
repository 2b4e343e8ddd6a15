/** How an endpoint's health decides what is sent to it, and the warnings to its owner. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { EndpointId } from '#kernel/ids.ts'
import { until } from '#tests/support/until.ts'
import { aWhile, openStage, type Stage, withStatus } from './stage.ts'

const hour = 3_600_000

const healthOf = async (stage: Stage, id: EndpointId) =>
  (await stage.store.endpoints.find(id))?.health

/** Lets the endpoint fail until it is paused. Resolves when nothing is in flight. */
async function pause(stage: Stage, id: EndpointId): Promise<void> {
  await until('it is paused', async () => {
    stage.pass(1000)
    return (await healthOf(stage, id)) === 'paused'
  })
  await aWhile()
}

const attemptsOf = async (stage: Stage, id: EndpointId) =>
  (await stage.deliveries(id)).map(({ attempts }) => attempts.length)

test('for a paused endpoint only the oldest delivery is attempted, when it is due, and the others use up no attempts', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(receiver.url)
  for (let count = 0; count < 6; count += 1) await stage.emit()
  await pause(stage, id)
  const before = await attemptsOf(stage, id)
  // New events change nothing.
  await stage.emit()
  await stage.emit()
  stage.pass(24 * hour)
  await until('the probe was tried', async () => {
    const [oldest] = await attemptsOf(stage, id)
    return (oldest ?? 0) > (before[0] ?? 0)
  })
  await aWhile()
  const after = await attemptsOf(stage, id)
  assert.deepEqual(after, [(before[0] ?? 0) + 1, ...before.slice(1), 0, 0])
  // At its own time, and not before.
  const [oldest] = await stage.deliveries(id)
  assert.ok(oldest?.dueAt !== null && oldest !== undefined)
  stage.pass(oldest.dueAt - stage.now() - 1)
  await stage.emit()
  await aWhile()
  assert.deepEqual(await attemptsOf(stage, id), [...after, 0])
  stage.pass(1)
  await until('the probe was tried again', async () => {
    const [now] = await attemptsOf(stage, id)
    return now === (after[0] ?? 0) + 1
  })
})

test('one success of the probe sends everything that waited', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(receiver.url)
  for (let count = 0; count < 8; count += 1) await stage.emit()
  await pause(stage, id)
  receiver.answer = withStatus(200)
  stage.pass(24 * hour)
  await until('all are delivered', async () =>
    (await stage.deliveries(id)).every(({ status }) => status === 'succeeded'),
  )
  assert.equal(await healthOf(stage, id), 'healthy')
})

test('a test event is tried at once, also while the endpoint is paused', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(receiver.url)
  for (let count = 0; count < 6; count += 1) await stage.emit()
  await pause(stage, id)
  const before = await attemptsOf(stage, id)
  const delivery = await stage.webhooks.testEndpoint(byOperator, id)
  assert.equal(delivery.attempts[0]?.status, 500)
  assert.deepEqual((await attemptsOf(stage, id)).slice(0, -1), before)
  receiver.answer = withStatus(200)
  const good = await stage.webhooks.testEndpoint(byOperator, id)
  assert.equal(good.status, 'succeeded')
  assert.equal(await healthOf(stage, id), 'healthy')
})

test('410 disables an endpoint: pending and later deliveries are missed, and its owner is warned', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(receiver.url)
  await stage.emit()
  await until('it failed', async () => (await attemptsOf(stage, id))[0] === 1)
  receiver.answer = withStatus(410)
  await stage.emit()
  await until('it is disabled', async () => (await healthOf(stage, id)) === 'disabled')
  await stage.emit()
  await aWhile()
  const endpoint = await stage.store.endpoints.find(id)
  assert.equal(endpoint?.disabledReason, 'gone')
  const statuses = (await stage.deliveries(id)).map(({ status }) => status)
  assert.deepEqual(statuses, ['missed', 'exhausted', 'missed'])
  assert.deepEqual(stage.warnings, [
    { endpointId: id, warning: { kind: 'disabled', reason: 'gone' } },
  ])
  // The clock stands still, so that entries have no order.
  const audit = await stage.store.auditLog.list({ userId: stage.userId, after: null, limit: 9 })
  const entry = audit.find(({ action }) => action === 'webhooks.disable')
  assert.equal(entry?.actor, 'system')
  assert.equal(entry?.subject, `${id} gone`)
  const mails = await stage.store.mails.claim({ now: stage.now(), leaseMs: hour, limit: 9 })
  assert.deepEqual(
    mails.map(({ userId, matter }) => [userId, matter]),
    [[stage.userId, { kind: 'endpoint-disabled', endpointId: id, reason: 'gone' }]],
  )
  stage.pass(24 * hour)
  await aWhile()
  assert.equal(receiver.received.length, 2)
})

test('five days with failures only disable an endpoint; its owner is warned after one, three and five days', async (t) => {
  const stage = await openStage(t, {
    schedule: Array(50)
      .fill(6 * 3600)
      .with(0, 0),
  })
  const receiver = await stage.receive(withStatus(503))
  const { id } = await stage.addEndpoint(receiver.url)
  await stage.emit()
  for (let count = 1; (await healthOf(stage, id)) !== 'disabled'; count += 1) {
    await until(`attempt ${count} is kept`, async () => (await attemptsOf(stage, id))[0] === count)
    assert.ok(count < 40)
    stage.pass(6 * hour)
    const isOver = async () => (await healthOf(stage, id)) === 'disabled'
    await until('it went on', async () => receiver.received.length > count || isOver())
  }
  assert.deepEqual(
    stage.warnings.map(({ warning }) => warning),
    [
      { kind: 'failing', days: 1 },
      { kind: 'failing', days: 3 },
      { kind: 'failing', days: 5 },
      { kind: 'disabled', reason: 'failing' },
    ],
  )
  const page = { userId: stage.userId, after: null, limit: 100 }
  const entries = (await stage.store.auditLog.list(page)).filter(({ actor }) => actor === 'system')
  assert.deepEqual(
    entries.map(({ subject }) => subject).sort(),
    [`${id} 1 days`, `${id} 3 days`, `${id} 5 days`, `${id} failing`].sort(),
  )
  await stage.webhooks.enableEndpoint(byOperator, id)
  receiver.answer = withStatus(200)
  await stage.emit()
  await until('it receives again', async () => {
    const last = (await stage.deliveries(id)).at(-1)
    return last?.status === 'succeeded'
  })
})

for (const status of [429, 503])
  test(`${status} with Retry-After holds back everything for the endpoint`, async (t) => {
    const stage = await openStage(t)
    const receiver = await stage.receive(withStatus(status, { 'retry-after': '120' }))
    const { id } = await stage.addEndpoint(receiver.url)
    await stage.emit()
    await until('it was kept', async () => (await attemptsOf(stage, id))[0] === 1)
    receiver.answer = withStatus(200)
    await stage.emit()
    // Less than a lease: it is released only after the attempt was kept.
    stage.pass(59_000)
    await aWhile()
    stage.pass(60_000)
    await aWhile()
    assert.equal(receiver.received.length, 1)
    stage.pass(1000)
    await until('both arrived', () => receiver.received.length === 3)
  })

test('webhook-delivery: abort-message ends one delivery and leaves the health as it is', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(withStatus(400, { 'webhook-delivery': 'abort-message' }))
  const { id } = await stage.addEndpoint(receiver.url)
  await stage.emit()
  await until('it is over', async () => (await stage.deliveries(id))[0]?.status === 'exhausted')
  assert.equal(await healthOf(stage, id), 'healthy')
  stage.pass(24 * hour)
  await aWhile()
  assert.equal(receiver.received.length, 1)
})

test('an endpoint that is disabled while an attempt is under way stays disabled', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(() => {})
  const { id } = await stage.addEndpoint(receiver.url)
  let finish = () => {}
  receiver.answer = (response) => {
    finish = () => response.writeHead(500).end()
  }
  await stage.emit()
  await until('it is under way', () => receiver.received.length === 1)
  await stage.webhooks.disableEndpoint(byOperator, id)
  finish()
  await aWhile()
  const endpoint = await stage.store.endpoints.find(id)
  assert.equal(endpoint?.health, 'disabled')
  assert.equal(endpoint?.disabledReason, 'owner')
})

test('a clock that jumps ahead or back loses no event and disables no endpoint', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(receiver.url)
  await stage.emit()
  await until('it failed', async () => (await attemptsOf(stage, id))[0] === 1)
  stage.pass(400 * 24 * hour)
  await until('it failed again', async () => (await attemptsOf(stage, id))[0] === 2)
  assert.equal(await healthOf(stage, id), 'degraded')
  stage.pass(-500 * 24 * hour)
  await stage.emit()
  await until('the new one is tried', () => receiver.received.length === 3)
  receiver.answer = withStatus(200)
  stage.pass(501 * 24 * hour)
  await until('both are delivered', async () =>
    (await stage.deliveries(id)).every(({ status }) => status === 'succeeded'),
  )
  assert.equal(await healthOf(stage, id), 'healthy')
})
