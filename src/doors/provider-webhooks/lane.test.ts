/** Receiving webhooks under faults: slow bodies, too many at once, senders that disconnect, our own errors. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { makeThrottle } from '#gate/throttle.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { WebhookRequest } from '#providers/port.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import { makeMemoryWindows } from '#store/kv/memory-windows.ts'
import type { WebhookRecord } from '#telemetry/request-record.ts'
import { makeWebhookLane } from './lane.ts'
import { makePlaces } from './places.ts'

interface Ground {
  readonly url: string
  readonly port: number
  readonly records: WebhookRecord[]
  /** What receiving does. */
  receive: (request: WebhookRequest) => Promise<'done'>
}

async function makeGround(t: TestContext, bodyDeadlineMs = 60_000): Promise<Ground> {
  const records: WebhookRecord[] = []
  const clock = { now: () => 0 }
  const serve = makeWebhookLane({
    receive: (_provider, request) => ground.receive(request),
    throttle: makeThrottle(makeMemoryWindows(clock), { preauth: 3, preauthIp: 0 }),
    isTrustedProxy: () => false,
    observe: (record) => records.push(record),
    bodyDeadlineMs,
  })
  const server = createServer((request, response) => void serve('fiskil', request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const ground: Ground = {
    url: `http://127.0.0.1:${port}`,
    port,
    records,
    receive: async () => 'done',
  }
  return ground
}

const post = async ({ url }: Ground, body = '{}') => {
  const response = await fetch(url, { method: 'POST', body })
  return { status: response.status, retryAfter: response.headers.get('retry-after') }
}

const settled = async (records: readonly WebhookRecord[], count: number) => {
  while (records.length < count) await new Promise((resolve) => setTimeout(resolve, 5))
  return records.map(({ outcome }) => outcome)
}

test('the bytes of the body and single headers are passed on as they came', async (t) => {
  const ground = await makeGround(t)
  let seen: WebhookRequest | null = null
  ground.receive = async (request) => {
    seen = request
    return 'done'
  }
  const body = '{"a": "é"}\n'
  const headers = { 'x-signature': 's', 'set-cookie': 'a' }
  await fetch(ground.url, { method: 'POST', body, headers })
  assert.ok(seen !== null)
  const { header, body: bytes }: WebhookRequest = seen
  assert.equal(Buffer.from(bytes).toString(), body)
  assert.equal(header('x-signature'), 's')
  assert.equal(header('x-other'), undefined)
})

test('a body that comes too slowly ends with 408, and costs its address a point', async (t) => {
  const ground = await makeGround(t, 100)
  for (let time = 0; time < 3; time += 1) {
    const socket = connect(ground.port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{')
    const [bytes] = await once(socket, 'data')
    assert.match(String(bytes), /^HTTP\/1\.1 408 .*\r\n[\s\S]*Connection: close/)
    socket.destroy()
  }
  assert.equal((await post(ground)).status, 429)
  assert.deepEqual(await settled(ground.records, 4), [
    'too_slow',
    'too_slow',
    'too_slow',
    'limited',
  ])
})

test('a sender that leaves during its body costs nothing and is no failure', async (t) => {
  const ground = await makeGround(t)
  for (let time = 0; time < 5; time += 1) {
    const socket = connect(ground.port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{')
    await new Promise((resolve) => setTimeout(resolve, 10))
    socket.destroy()
    await settled(ground.records, time + 1)
  }
  assert.deepEqual(new Set(ground.records.map(({ outcome }) => outcome)), new Set(['gone']))
  assert.equal((await post(ground)).status, 200)
})

test('what we cannot verify costs a point, what we cannot store costs none; both may be sent again', async (t) => {
  const ground = await makeGround(t)
  ground.receive = async () => {
    throw new StoreUnavailableError('away')
  }
  for (let time = 0; time < 5; time += 1) {
    assert.deepEqual(await post(ground), { status: 503, retryAfter: '5' })
  }
  ground.receive = async () => {
    throw new UpstreamError('akahu', { kind: 'unavailable', status: null, detail: 'no key' })
  }
  for (let time = 0; time < 3; time += 1) assert.equal((await post(ground)).status, 503)
  assert.equal((await post(ground)).status, 429)
  const outcomes = ground.records.map(({ outcome }) => outcome)
  assert.equal(outcomes.filter((outcome) => outcome === 'failed').length, 5)
  assert.equal(outcomes.filter((outcome) => outcome === 'unverified').length, 3)
})

test('an error of ours is a 500 without details, and its cause is recorded', async (t) => {
  const ground = await makeGround(t)
  ground.receive = async () => {
    throw new Error('a secret detail')
  }
  const response = await fetch(ground.url, { method: 'POST', body: '{}' })
  assert.equal(response.status, 500)
  assert.ok(!(await response.text()).includes('secret'))
  const { error } = ground.records[0] ?? {}
  assert.ok(error instanceof Error && error.cause instanceof Error)
})

test('places are bounded in all and for each address, and come back', () => {
  const places = makePlaces({ inAll: 3, ofAddress: 2 })
  const [first, second] = [places.take('a'), places.take('a')]
  assert.ok(first !== null && second !== null)
  assert.equal(places.take('a'), null)
  assert.notEqual(places.take('b'), null)
  assert.equal(places.take('c'), null)
  first()
  first()
  assert.notEqual(places.take('a'), null)
  assert.equal(places.take('a'), null)
})
