/** What arrives at a receiver, and what becomes of it when the receiver is down, slow or confused. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { EventEnvelope } from '#contract/events.ts'
import type { EndpointId } from '#kernel/ids.ts'
import { until } from '#tests/support/until.ts'
import { findForgery } from '#webhooks/sign.ts'
import { aWhile, openStage, start, withStatus } from './stage.ts'

const nowSeconds = Math.floor(start / 1000)

test('an accepted event arrives at once, signed, in the envelope of the contract', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive()
  const { id, secret } = await stage.addEndpoint(receiver.url)
  const [eventId] = await stage.emit()
  await until('one event arrived', () => receiver.received.length === 1)
  const [one] = receiver.received
  assert.ok(one)
  assert.equal(one.id, eventId)
  const { headers } = one
  assert.equal(findForgery({ headers, body: Buffer.from(one.body) }, secret, nowSeconds), null)
  const envelope = JSON.parse(one.body)
  assert.deepEqual(EventEnvelope.parse(envelope), envelope)
  await until('the delivery is done', async () => {
    const [delivery] = await stage.deliveries(id)
    return delivery?.status === 'succeeded'
  })
  const [delivery] = await stage.deliveries(id)
  assert.equal(delivery?.attempts.length, 1)
  assert.equal(delivery?.attempts[0]?.status, 200)
  assert.equal(delivery?.attempts[0]?.failure, null)
  await aWhile()
  assert.equal(receiver.received.length, 1)
  assert.deepEqual(stage.failures, [])
})

test('R33: a retry has the same id and the same bytes, at the times of the schedule', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(withStatus(500))
  const { id, secret } = await stage.addEndpoint(receiver.url)
  await stage.emit(['{"amount":90071992547409931234}'])
  const waits = [5, 300, 1800, 7200]
  for (const [index, seconds] of waits.entries()) {
    await until(`attempt ${index + 1} is kept`, async () => {
      const [delivery] = await stage.deliveries(id)
      return delivery?.attempts.length === index + 1
    })
    const [delivery] = await stage.deliveries(id)
    assert.equal(delivery?.status, 'pending')
    assert.equal(delivery?.dueAt, stage.now() + seconds * 1000)
    stage.pass(seconds * 1000 - 1)
    await aWhile()
    assert.equal(receiver.received.length, index + 1)
    if (index === waits.length - 1) receiver.answer = withStatus(204)
    stage.pass(1)
    await until(`attempt ${index + 2} arrived`, () => receiver.received.length === index + 2)
  }
  assert.equal(new Set(receiver.received.map(({ id: eventId }) => eventId)).size, 1)
  assert.equal(new Set(receiver.received.map(({ body }) => body)).size, 1)
  // Each attempt is signed with its own time.
  const times = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
  assert.deepEqual(
    times,
    [0, 5, 305, 2105, 9305].map((seconds) => nowSeconds + seconds),
  )
  for (const { headers, body } of receiver.received) {
    const at = Number(headers['webhook-timestamp'])
    assert.equal(findForgery({ headers, body: Buffer.from(body) }, secret, at), null)
  }
  await until('it is done', async () => (await stage.deliveries(id))[0]?.status === 'succeeded')
})

test('after the last attempt of the schedule a delivery is exhausted', async (t) => {
  const stage = await openStage(t, { schedule: [0, 1] })
  const receiver = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(receiver.url)
  await stage.emit()
  await until('the first attempt arrived', () => receiver.received.length === 1)
  await until('it is kept', async () => (await stage.deliveries(id))[0]?.attempts.length === 1)
  stage.pass(1000)
  await until('it is over', async () => (await stage.deliveries(id))[0]?.status === 'exhausted')
  stage.pass(86_400_000)
  await aWhile()
  assert.equal(receiver.received.length, 2)
})

test('a first wait in the schedule holds back the first attempt', async (t) => {
  const stage = await openStage(t, { schedule: [60, 60] })
  const receiver = await stage.receive()
  await stage.addEndpoint(receiver.url)
  await stage.emit()
  await aWhile()
  assert.equal(receiver.received.length, 0)
  stage.pass(60_000)
  await until('it arrived', () => receiver.received.length === 1)
})

test('receivers that are down, reset, answer garbage, redirect or answer too late have not received', async (t) => {
  const stage = await openStage(t, { timeoutMs: 700 })
  const elsewhere = await stage.receive()
  const slow = await stage.receive((response) => {
    setTimeout(() => response.end(), 3000).unref()
  })
  const redirecting = await stage.receive(withStatus(302, { location: elsewhere.url }))
  const raw = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end('neither\r\nhere nor there\r\n\r\n'))
  })
  await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve))
  t.after(() => raw.close())
  const garbage = `http://127.0.0.1:${(raw.address() as { port: number }).port}/`
  const resetting = await stage.receive((response) => response.destroy())
  const cases = [
    ['http://127.0.0.1:9/', /refused/],
    [slow.url, /no answer within/],
    [redirecting.url, /redirects are not followed/],
    [garbage, /not HTTP/],
    [resetting.url, /connection/],
  ] as const
  const ids: EndpointId[] = []
  for (const [url] of cases) ids.push((await stage.addEndpoint(url)).id)
  await stage.emit()
  for (const [index, [, failure]] of cases.entries()) {
    const id = ids[index]
    assert.ok(id)
    await until(`it failed by ${failure}`, async () => {
      const [delivery] = await stage.deliveries(id)
      return delivery?.attempts.length === 1
    })
    const [delivery] = await stage.deliveries(id)
    assert.equal(delivery?.status, 'pending')
    assert.match(delivery?.attempts[0]?.failure ?? '', failure)
    assert.equal((await stage.store.endpoints.find(id))?.health, 'degraded')
  }
  assert.equal(elsewhere.received.length, 0)
})

test('R31: during a rotation events are signed with both secrets, and after it with the new one alone', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive()
  const { id, secret: former } = await stage.addEndpoint(receiver.url)
  const { secret } = await stage.webhooks.rotateEndpoint(byOperator, id, { overlapHours: 2 })
  assert.notEqual(secret, former)
  const verify = async (count: number) => {
    await stage.emit()
    await until('it arrived', () => receiver.received.length === count)
    // Otherwise the clock or the rotation below could end the lease before the answer is stored, and it would
    // come again.
    await until('it is stored', async () =>
      (await stage.deliveries(id)).every(({ status }) => status === 'succeeded'),
    )
    const { headers, body } = receiver.received[count - 1] ?? assert.fail()
    const given = { headers, body: Buffer.from(body) }
    const at = Math.floor(stage.now() / 1000)
    return [findForgery(given, secret, at), findForgery(given, former, at)]
  }
  assert.deepEqual(await verify(1), [null, null])
  stage.pass(2 * 3_600_000 - 1)
  assert.deepEqual(await verify(2), [null, null])
  stage.pass(1)
  assert.deepEqual(await verify(3), [null, 'no signature matches the secret'])
  const again = await stage.webhooks.rotateEndpoint(byOperator, id, { overlapHours: 0 })
  assert.equal(again.previousUntil, null)
  await stage.emit()
  await until('it arrived', () => receiver.received.length === 4)
  const { headers, body } = receiver.received[3] ?? assert.fail()
  const at = Math.floor(stage.now() / 1000)
  assert.equal(findForgery({ headers, body: Buffer.from(body) }, again.secret, at), null)
  assert.notEqual(findForgery({ headers, body: Buffer.from(body) }, secret, at), null)
})

test('a secret that ends at once also ends attempts in flight: they are cut, and the event is sent again', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive()
  const { id } = await stage.addEndpoint(receiver.url)
  let isCut = false
  receiver.answer = (response) => {
    response.once('close', () => {
      isCut = true
    })
  }
  await stage.emit()
  await until('it is under way', () => receiver.received.length === 1)
  const rotatedAt = performance.now()
  const { secret } = await stage.webhooks.rotateEndpoint(byOperator, id, { overlapHours: 0 })
  receiver.answer = withStatus(200)
  await until('it came again', () => receiver.received.length === 2)
  await until('the first attempt is cut', () => isCut)
  // Before the agent of the stage waits no longer for headers, which is after 5 seconds.
  assert.ok(performance.now() - rotatedAt < 3000)
  const [first, second] = receiver.received
  assert.ok(first && second)
  assert.equal(first.id, second.id)
  const given = { headers: second.headers, body: Buffer.from(second.body) }
  assert.equal(findForgery(given, secret, nowSeconds), null)
  await until('it is done', async () => (await stage.deliveries(id))[0]?.status === 'succeeded')
  assert.equal((await stage.deliveries(id))[0]?.attempts.length, 1)
  assert.deepEqual(stage.failures, [])
})

test('R32: an endpoint that skips empty events gets those with rows alone, and each gets the types that it takes', async (t) => {
  const stage = await openStage(t)
  const [all, full, trades] = await Promise.all([stage.receive(), stage.receive(), stage.receive()])
  await stage.addEndpoint(all.url)
  await stage.addEndpoint(full.url, { skipEmpty: true })
  await stage.addEndpoint(trades.url, { events: ['trades.synced'] })
  await stage.emit([])
  const [withRow] = await stage.emit(['{"id":"a"}'])
  const [trade] = await stage.emit([], { type: 'trades.synced' })
  await until('everything arrived', () => all.received.length === 3 && trades.received.length === 1)
  await until('the one with a row arrived', () => full.received.length === 1)
  await aWhile()
  assert.deepEqual(
    full.received.map(({ id }) => id),
    [withRow],
  )
  assert.deepEqual(
    trades.received.map(({ id }) => id),
    [trade],
  )
})

test('what a receiver answers is kept without its secrets', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive((response, { headers }) => {
    response.writeHead(500).end(JSON.stringify({ note: 'overloaded', headers }))
  })
  const { id } = await stage.addEndpoint(receiver.url)
  await stage.emit()
  await until('it is kept', async () => (await stage.deliveries(id))[0]?.attempts.length === 1)
  const [delivery] = await stage.deliveries(id)
  const response = delivery?.attempts[0]?.response ?? ''
  assert.match(response, /overloaded/)
  const signature = String(receiver.received[0]?.headers['webhook-signature'])
  assert.ok(signature.startsWith('v1,'))
  assert.ok(!response.includes(signature.slice(3)))
})
