/**
 * The listener alone, with more to read than it can do in one turn of the event loop: who is read, and when.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type Listener, makeListener } from '#doors/listener/listener.ts'
import { until } from '#tests/support/until.ts'
import { dial } from './raw.ts'

/** Each request costs the event loop this much. */
const costMs = 2
const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

function spend(): void {
  const until = performance.now() + costMs
  while (performance.now() < until);
}

async function listen(
  t: TestContext,
  prepare: (listener: Listener, server: Server) => void = () => {},
): Promise<string> {
  const listener = makeListener()
  const server = listener.makeServer((_request, response) => {
    spend()
    response.end('.')
  })
  prepare(listener, server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => listener.drain(0))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function open(t: TestContext, url: string) {
  const socket = await dial(url)
  t.after(() => socket.destroy())
  return socket.on('error', () => {})
}

test('clients that always have a next request do not keep others from being served', async (t) => {
  const url = await listen(t)
  const busy = await Promise.all(Array.from({ length: 60 }, () => open(t, url)))
  let answers = 0
  for (const socket of busy) {
    socket.on('data', () => {
      answers += 1
      socket.write(get)
    })
    socket.write(get)
  }
  await until('all are answered', () => answers >= 500, 1)
  for (let count = 0; count < 5; count += 1) {
    const modest = await open(t, url)
    modest.write(get)
    const before = answers
    await once(modest, 'data')
    // Each of the others may have had its turn a few times.
    assert(answers - before < 300, `${answers - before} others were served before it`)
  }
})

test('what never becomes a request counts as read too', async (t) => {
  const connections = 300
  let [accepted, most, inTurn, refused, closed] = [0, 0, 0, 0, 0]
  const url = await listen(t, (listener, server) => {
    server.on('connection', () => (accepted += 1))
    server.on('clientError', (error, socket: Socket) => {
      spend()
      inTurn += 1
      refused += 1
      listener.clientErrorHandler(error, socket)
    })
  })
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(t, url)))
  await until('all are accepted', () => accepted >= connections, 1)
  for (const socket of sockets) {
    socket.resume().once('close', () => (closed += 1))
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\n: nameless\r\n\r\n`)
  }
  const endTurn = () => {
    most = Math.max(most, inTurn)
    inTurn = 0
    if (closed < connections) setImmediate(endTurn)
  }
  endTurn()
  await until('all are closed', () => closed >= connections)
  assert.equal(refused, connections)
  // Without a bound one turn has all of them.
  assert(most < 150, `${most} in one turn`)
})
