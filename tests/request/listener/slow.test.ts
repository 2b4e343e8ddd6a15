import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { listenerTimes } from '#doors/listener/listener.ts'
import { makePublicServer } from '#doors/public-server.ts'
import { dial, receive } from './raw.ts'

const quick = { headersMs: 150, requestMs: 300, keepAliveMs: 150, silenceMs: 400, checkMs: 30 }

const unread = Promise.withResolvers<void>()
const server = makePublicServer({
  onFailure: (error) => assert.fail(String(error)),
  times: quick,
  direct: [],
  mount: async () => {},
  lane: (request, response) => {
    if (request.url === '/v1/silent') return
    if (request.url === '/v1/large') {
      response.once('close', unread.resolve)
      return void response.end(Buffer.alloc(64 * 1024 * 1024))
    }
    response.writeHead(200, { 'content-length': '2' })
    response.end('ok')
  },
})
const origin = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
after(() => server.drain(0))

const slow: readonly [name: string, bytes: string, status: number | null][] = [
  ['a connection that says nothing', '', 408],
  ['half a request line', 'GET /v1/acc', 408],
  ['a head that never ends', 'GET /v1/ok HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n', 408],
  ['an answered request and then nothing', 'GET /v1/ok HTTP/1.1\r\nHost: x\r\n\r\n', 200],
  ['a request that nobody answers', 'GET /v1/silent HTTP/1.1\r\nHost: x\r\n\r\n', null],
  ['the same with an expectation', 'GET /v1/silent HTTP/1.1\r\nHost: x\r\nExpect: a\r\n\r\n', null],
]
for (const [name, bytes, status] of slow) {
  test(`${name} ends in bounded time`, async () => {
    const socket = await dial(origin)
    if (bytes !== '') socket.write(bytes)
    const { answers, closed } = await receive(socket, 2)
    assert.equal(closed, true)
    assert.equal(answers[0]?.status ?? null, status)
  })
}

test('a client that does not read its answer is disconnected', { timeout: 10_000 }, async () => {
  const socket = await dial(origin)
  socket.write('GET /v1/ok HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3))
  socket.write('GET /v1/large HTTP/1.1\r\nHost: x\r\n\r\n')
  socket.pause()
  await unread.promise
  socket.destroy()
})

test('a body that drips ends in bounded time', async () => {
  const socket = await dial(origin)
  socket.write('GET /v1/silent HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n')
  const drip = setInterval(() => socket.write('x'), 20)
  const { closed } = await receive(socket, 2)
  clearInterval(drip)
  assert.equal(closed, true)
})

test('a head that drips ends in bounded time', async () => {
  const socket = await dial(origin)
  socket.write('GET /v1/ok HTTP/1.1\r\nHost: x\r\n')
  const drip = setInterval(() => socket.write('X: y\r\n'), 20)
  const { answers, closed } = await receive(socket, 2)
  clearInterval(drip)
  assert.equal(closed, true)
  assert.equal(answers[0]?.status, 408)
})

test('every wait of the real listener has a bound, and a proxy in front may close first', () => {
  for (const [name, ms] of Object.entries(listenerTimes)) {
    assert(ms > 0 && ms <= 600_000, name)
  }
  assert(listenerTimes.headersMs <= 30_000)
  assert(listenerTimes.keepAliveMs > 60_000)
})
