import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Agent } from 'undici'
import { exchange, type HttpExchange, NoAnswerInTime } from './exchange.ts'

/** A server that answers whatever it is asked with these texts, one after another, and what it received. */
async function withServer(t: TestContext, texts: readonly string[]) {
  const received: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      received.push(bytes.toString('latin1'))
      void answer(socket)
    })
  })
  async function answer(socket: Socket): Promise<void> {
    for (const text of texts) {
      socket.write(text)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return { port: address.port, received }
}

const asked = (port: number, over: Partial<HttpExchange> = {}): HttpExchange => ({
  url: new URL(`http://127.0.0.1:${port}/hook?a=1`),
  headers: { 'webhook-id': 'an-id' },
  body: Buffer.from('{}'),
  timeoutMs: 5000,
  maxBytes: 10,
  stop: new AbortController().signal,
  ...over,
})

test('the path with its query, the headers and the body are sent, and the status with its body comes back', async (t) => {
  const { port, received } = await withServer(t, [
    'HTTP/1.1 201 Created\r\ncontent-length: 2\r\nretry-after: 7\r\n\r\nok',
  ])
  const agent = new Agent()
  t.after(() => agent.destroy())
  const { status, headers, body } = await exchange(agent, asked(port))
  assert.deepEqual([status, headers['retry-after'], String(body)], [201, '7', 'ok'])
  assert.match(received.join(''), /^POST \/hook\?a=1 HTTP\/1\.1\r\n/)
  assert.match(received.join(''), /\r\nwebhook-id: an-id\r\n.*\r\n\r\n\{\}$/s)
})

test('an interim answer is not the answer', async (t) => {
  const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'
  const { port } = await withServer(t, [early, 'HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n'])
  const agent = new Agent()
  t.after(() => agent.destroy())
  assert.equal((await exchange(agent, asked(port))).status, 500)
  const silent = await withServer(t, [early])
  await assert.rejects(exchange(agent, asked(silent.port, { timeoutMs: 200 })), NoAnswerInTime)
})

test('as much of a body is read as is wanted, and then the connection is closed', async (t) => {
  const { port } = await withServer(t, [
    'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n12345',
    '6789012',
  ])
  const agent = new Agent()
  t.after(() => agent.destroy())
  const gone = new Promise<void>((resolve) => agent.once('disconnect', () => resolve()))
  assert.equal(String((await exchange(agent, asked(port))).body), '1234567890')
  await gone
})

test('an exchange that was ended before its connection was open sends nothing', async (t) => {
  const { port, received } = await withServer(t, ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'])
  const agent = new Agent({ connections: 1, pipelining: 1 })
  t.after(() => agent.destroy())
  const stop = new AbortController()
  const reason = new Error('the lease is lost')
  const stopped = exchange(agent, asked(port, { stop: stop.signal }))
  stop.abort(reason)
  await assert.rejects(stopped, reason)
  await assert.rejects(exchange(agent, asked(port, { stop: stop.signal })), reason)
  // It uses the connection that was being made for the first one.
  const headers = { 'webhook-id': 'another' }
  assert.equal((await exchange(agent, asked(port, { headers }))).status, 200)
  assert.deepEqual(
    received.map((text) => /webhook-id: (\S+)/.exec(text)?.[1]),
    ['another'],
  )
})
