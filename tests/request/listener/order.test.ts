/**
 * The listener alone: the order of requests on a connection, notification of a disconnect, and the end of a
 * drain.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Listener, listenerTimes, makeListener } from '#doors/listener/listener.ts'
import { dial, receive } from './raw.ts'

interface Place {
  readonly listener: Listener
  readonly origin: string
  /** The unanswered ones, in the order of their requests. */
  readonly waiting: ServerResponse[]
}

/** `/now…` is answered at once, everything else when the test does it. */
async function open(t: TestContext): Promise<Place> {
  const waiting: ServerResponse[] = []
  const listener = makeListener({ ...listenerTimes, silenceMs: 2000, checkMs: 50 })
  const server = listener.makeServer((request, response) => {
    if (request.url?.startsWith('/now')) response.end(request.url)
    else waiting.push(response)
  })
  server.on('clientError', listener.clientErrorHandler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => listener.drain(0))
  const { port } = server.address() as AddressInfo
  return { listener, origin: `http://127.0.0.1:${port}`, waiting }
}

async function until(what: () => boolean): Promise<void> {
  for (let waited = 0; waited < 200 && !what(); waited += 1) await sleep(10)
  assert(what(), String(what))
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const connect = 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'
const behind = {
  'a tunnel': [connect, 404],
  'what is no HTTP': ['\u0016\u0003\r\n\r\n', 400],
} as const

for (const [name, [bytes, status]] of Object.entries(behind)) {
  test(`${name} behind requests is answered behind them, and ends the connection`, async (t) => {
    const { origin, waiting } = await open(t)
    const socket = await dial(origin)
    socket.write(`${get('/one')}${get('/now')}${get('/two')}${bytes}${get('/now/behind')}`)
    const received = receive(socket, 9)
    await until(() => waiting.length === 2)
    waiting[1]?.end('two')
    await sleep(20)
    waiting[0]?.end('one')
    const { answers, closed } = await received
    assert.deepEqual(
      answers.map((answer) => answer.status),
      [200, 200, 200, status],
    )
    assert.deepEqual(
      answers.slice(0, 3).map(({ text }) => text),
      ['one', '/now', 'two'],
    )
    assert.equal(closed, true)
  })
}

const broken = (path: string) =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`

test('a body that cannot be read is refused behind the answers that earlier requests wait for', async (t) => {
  const { origin, waiting } = await open(t)
  const socket = await dial(origin)
  socket.write(`${get('/one')}${broken('/two')}`)
  const received = receive(socket, 9)
  await until(() => waiting.length === 2)
  await sleep(20)
  waiting[0]?.end('one')
  const { answers, closed } = await received
  assert.deepEqual([answers.map(({ status }) => status), closed], [[200, 400], true])
  assert.equal(answers[0]?.text, 'one')
})

test('answers that are complete before a body turns out to be unreadable are written', async (t) => {
  const { origin, waiting } = await open(t)
  const socket = await dial(origin)
  socket.write(`${get('/one')}${get('/now/two')}${broken('/now/three')}`)
  const received = receive(socket, 9)
  await until(() => waiting.length === 1)
  await sleep(20)
  waiting[0]?.end('one')
  const { answers, closed } = await received
  const texts = answers.slice(0, 3).map(({ text }) => text)
  assert.deepEqual([texts, closed], [['one', '/now/two', '/now/three'], true])
})

test('an answer that has begun is cut off rather than another one written into it', async (t) => {
  const { origin, waiting } = await open(t)
  const socket = await dial(origin)
  socket.write('POST /one HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
  await until(() => waiting.length === 1)
  waiting[0]?.writeHead(200, { 'content-length': 100 }).write('a')
  const received = receive(socket, 9)
  socket.write('zz\r\n')
  const { answers, closed } = await received
  assert.deepEqual([answers, closed], [[], true])
})

for (const tail of ['', connect]) {
  test(`a client that resets its connection is gone for every request of it${tail && ', a tunnel behind them too'}`, async (t) => {
    const { origin, waiting } = await open(t)
    const socket = await dial(origin)
    socket.write(`${get('/one')}${get('/two')}${get('/three')}${tail}`)
    await until(() => waiting.length === 3)
    let closed = 0
    for (const response of waiting) response.on('close', () => (closed += 1))
    socket.resetAndDestroy()
    await until(() => closed === 3)
    // A later write reaches no client.
    for (const response of waiting) response.end('late')
    await sleep(20)
    assert.equal(closed, 3)
  })
}

test('tunnels whose clients never close end with a drain, those that wait for an answer at the end of its time', async (t) => {
  const { listener, origin, waiting } = await open(t)
  const [idle, busy] = [await dial(origin), await dial(origin)]
  idle.write(connect)
  busy.write(`${get('/one')}${connect}`)
  const ends = Promise.all([receive(idle, 9), receive(busy, 9)])
  await until(() => waiting.length === 1)
  const startedAt = performance.now()
  await listener.drain(600)
  const tookMs = performance.now() - startedAt
  assert(tookMs >= 500 && tookMs < 1800, `${tookMs} ms`)
  const [answered, cut] = await ends
  assert.deepEqual([answered.answers[0]?.status, answered.closed], [404, true])
  assert.deepEqual([cut.answers, cut.closed], [[], true])
})

test('a tunnel behind an answer that never comes is not held for ever', async (t) => {
  const { origin, waiting } = await open(t)
  const socket = await dial(origin)
  socket.write(`${get('/one')}${connect}`)
  const received = receive(socket, 9)
  await until(() => waiting.length === 1)
  const drip = setInterval(() => socket.write('x'), 50)
  const { closed } = await received
  clearInterval(drip)
  assert.equal(closed, true)
})

test('while draining, a request with an expectation is the last of its connection too', async (t) => {
  const { listener, origin, waiting } = await open(t)
  const socket = await dial(origin)
  socket.write('GET /one HTTP/1.1\r\nHost: a\r\nExpect: anything\r\n\r\n')
  const received = receive(socket, 2)
  await until(() => waiting.length === 1)
  const drained = listener.drain(1500)
  waiting[0]?.end('one')
  const { answers, closed } = await received
  assert.deepEqual([answers[0]?.headers.connection, closed], ['close', true])
  await drained
})
