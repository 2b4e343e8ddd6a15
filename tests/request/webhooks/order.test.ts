/** The order in which events of one connection arrive, whatever fails meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import { until } from '#tests/support/until.ts'
import { openStage, withStatus } from './stage.ts'

const rows = (count: number) => Array.from({ length: count }, (_, index) => `{"id":"${index}"}`)

test('R33: chunks and runs of one connection arrive in order, each once the one before it is done, under failures', async (t) => {
  const stage = await openStage(t)
  // The first two attempts of every event fail.
  const tries = new Map<string, number>()
  const accepted: string[] = []
  const receiver = await stage.receive((response, { id }) => {
    const count = (tries.get(id) ?? 0) + 1
    tries.set(id, count)
    if (count === 3) accepted.push(id)
    response.writeHead(count < 3 ? 500 : 200).end()
  })
  await stage.addEndpoint(receiver.url)
  const connectionId = newId<ConnectionId>()
  const first = await stage.emit(rows(250), { connectionId })
  const second = await stage.emit(rows(1), { connectionId })
  const wanted = [...first, ...second]
  assert.equal(wanted.length, 4)
  let passed = 0
  await until('all are accepted', () => {
    // Time passes in small steps, so that whatever is due is tried.
    if (passed < 3_600_000) stage.pass(5000)
    passed += 5000
    return accepted.length === wanted.length
  })
  assert.deepEqual(accepted, wanted)
  // Nothing of a later one arrived before the earlier one was done.
  const order = receiver.received.map(({ id }) => wanted.indexOf(id))
  assert.deepEqual(order, [...order].sort())
})

test('more chunks of one connection than one claim sends arrive one after another, in order', async (t) => {
  const stage = await openStage(t)
  let [inFlight, most] = [0, 0]
  const receiver = await stage.receive((response) => {
    inFlight += 1
    most = Math.max(most, inFlight)
    setImmediate(() => {
      inFlight -= 1
      response.end()
    })
  })
  await stage.addEndpoint(receiver.url)
  const wanted = await stage.emit(rows(18_000), { connectionId: newId<ConnectionId>() })
  assert.equal(wanted.length, 180)
  await until('all are accepted', () => receiver.received.length === wanted.length)
  assert.deepEqual(
    receiver.received.map(({ id }) => id),
    wanted,
  )
  assert.equal(most, 1)
})

test('a connection whose event fails does not hold back another', async (t) => {
  const stage = await openStage(t)
  let failing = ''
  const receiver = await stage.receive((response, { id }) =>
    response.writeHead(id === failing ? 500 : 200).end(),
  )
  await stage.addEndpoint(receiver.url)
  const [one, other] = [newId<ConnectionId>(), newId<ConnectionId>()]
  receiver.answer = withStatus(500)
  const [stuck = ''] = await stage.emit([], { connectionId: one })
  failing = stuck
  await until('it was tried', () => receiver.received.length > 0)
  receiver.answer = (response, { id }) => response.writeHead(id === failing ? 500 : 200).end()
  const [behind = ''] = await stage.emit([], { connectionId: one })
  const [free = ''] = await stage.emit([], { connectionId: other })
  await until('the other arrived', () => receiver.received.some(({ id }) => id === free))
  assert.ok(!receiver.received.some(({ id }) => id === behind))
})

test('after an exhausted delivery the next of its connection is sent', async (t) => {
  const stage = await openStage(t, { schedule: [0] })
  const receiver = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(receiver.url)
  const connectionId = newId<ConnectionId>()
  await stage.emit([], { connectionId })
  await stage.emit([], { connectionId })
  await until('both were tried', () => receiver.received.length === 2)
  await until('both are over', async () =>
    (await stage.deliveries(id)).every(({ status }) => status === 'exhausted'),
  )
})
