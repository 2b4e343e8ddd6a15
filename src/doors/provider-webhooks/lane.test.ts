/**
 * Receiving webhooks under faults: slow bodies, too many at once, senders that disconnect, our own errors.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { WebhookOutcome } from '#connections/receive-webhook.ts'
import { makeMemoryWindows } from '#fast/memory-windows.ts'
import { makeThrottle } from '#gate/throttle.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { WebhookRequest } from '#providers/port.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { WebhookRecord } from '#telemetry/request-record.ts'
import { until } from '#tests/support/until.ts'
import { makeListener } from '../listener/listener.ts'
import { makeAddressPlaces } from './address-places.ts'
import { makeWebhookLane } from './lane.ts'

interface Ground {
  readonly url: string
  readonly port: number
  readonly records: WebhookRecord[]
  /** Resolves when the head of another request has come. */
  nextRequest(): Promise<unknown>
  /** What receiving does. */
  receive: (request: WebhookRequest) => Promise<WebhookOutcome>
}

interface GroundOptions {
  readonly bodyDeadlineMs?: number
  /** Refused webhooks of an address. */
  readonly preauth?: number
}

async function makeGround(
  t: TestContext,
  { bodyDeadlineMs = 60_000, preauth = 3 }: GroundOptions = {},
): Promise<Ground> {
  const records: WebhookRecord[] = []
  const clock = { now: () => 0 }
  const serve = makeWebhookLane({
    receive: (_provider, request) => ground.receive(request),
    throttle: makeThrottle(makeMemoryWindows(clock), { preauth, preauthIp: 0 }),
    isTrustedProxy: (address) => address === '127.0.0.1',
    observe: (record) => records.push(record),
    bodyDeadlineMs,
  })
  const { makeServer } = makeListener()
  const server = makeServer((request, response) => void serve('fiskil', request, response))
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
    nextRequest: () => once(server, 'request'),
    receive: async () => 'done',
  }
  return ground
}

const post = async ({ url }: Ground, body = '{}', headers: Record<string, string> = {}) => {
  const response = await fetch(url, { method: 'POST', body, headers })
  return { status: response.status, retryAfter: response.headers.get('retry-after') }
}

const settled = async (records: readonly WebhookRecord[], count: number) => {
  await until('as many are recorded', () => records.length >= count, 5)
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
  const ground = await makeGround(t, { bodyDeadlineMs: 100 })
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
    const asked = ground.nextRequest()
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{')
    await asked
    socket.destroy()
    await settled(ground.records, time + 1)
  }
  assert.deepEqual(new Set(ground.records.map(({ outcome }) => outcome)), new Set(['gone']))
  assert.equal((await post(ground)).status, 200)
})

test('a webhook whose changes are not stored yet is to be sent again, and costs nothing', async (t) => {
  const ground = await makeGround(t)
  ground.receive = async () => 'under_way'
  for (let time = 0; time < 5; time += 1) {
    assert.deepEqual(await post(ground), { status: 503, retryAfter: '5' })
  }
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

test('places are bounded in total and per address, and are released', () => {
  const places = makeAddressPlaces({ inAll: 3, ofAddress: 2 })
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

/** Connections from these addresses that send a head and one byte of the body, and stay open. */
async function sendSlowly(t: TestContext, ground: Ground, addresses: readonly string[]) {
  for (const address of addresses) {
    const socket = connect(ground.port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    const head = `POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nContent-Length: 10\r\n`
    await new Promise((resolve) => socket.write(`${head}\r\n{`, resolve))
  }
}

const genuine = '198.51.100.1'
const slowSenders: Readonly<Record<string, (index: number) => string>> = {
  'from 250 addresses': (index) => `192.0.2.${index % 250}`,
  'from six addresses': (index) => `192.0.2.${index % 6}`,
  'from the address of the provider': () => genuine,
}
for (const [name, addressOf] of Object.entries(slowSenders)) {
  test(`300 senders of one byte ${name} do not prevent complete webhooks`, async (t) => {
    const ground = await makeGround(t, { preauth: 1000 })
    await sendSlowly(
      t,
      ground,
      Array.from({ length: 300 }, (_, index) => addressOf(index)),
    )
    const from = { 'x-forwarded-for': genuine }
    for (let sent = 0; sent < 100; sent += 10) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => post(ground, '{}', from)))
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    }
    const outcomes = new Set(ground.records.map(({ outcome }) => outcome))
    assert.deepEqual(outcomes, new Set(['done']))
  })
}

test('complete webhooks that are being handled are limited per address, and those of others get through', async (t) => {
  const ground = await makeGround(t, { preauth: 1000 })
  const held = Promise.withResolvers<void>()
  const handled = Promise.withResolvers<void>()
  let handling = 0
  ground.receive = async () => {
    handling += 1
    if (handling === 64) handled.resolve()
    await held.promise
    return 'done'
  }
  const one = { 'x-forwarded-for': '192.0.2.1' }
  const first = Array.from({ length: 64 }, () => post(ground, '{}', one))
  await handled.promise
  assert.deepEqual(await post(ground, '{}', one), { status: 503, retryAfter: '5' })
  const other = post(ground, '{}', { 'x-forwarded-for': '192.0.2.2' })
  held.resolve()
  assert.equal((await other).status, 200)
  for (const { status } of await Promise.all(first)) assert.equal(status, 200)
})
