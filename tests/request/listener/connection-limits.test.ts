/**
 * A listener at its connection limit: idle connections do not keep others out, and no request in
 * progress is affected.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectionLimits } from '#doors/listener.ts'
import { makePublicServer } from '#doors/public-server.ts'
import { dial, receive, sendRaw } from './raw.ts'

const limits = { evictAbove: 20, refuseAbove: 40 }
const head = 'GET /v1/ok HTTP/1.1\r\nHost: x\r\n'

async function start(t: TestContext) {
  const waiting: ServerResponse[] = []
  const server = makePublicServer({
    onFailure: (error) => assert.fail(String(error)),
    limits,
    direct: [],
    mount: async () => {},
    lane: (request, response) => {
      if (request.url === '/v1/later') return void waiting.push(response)
      response.writeHead(200, { 'content-length': '2' }).end('ok')
    },
  })
  t.after(() => server.drain(0))
  const origin = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  const held: Socket[] = []
  t.after(() => {
    for (const socket of held) socket.destroy()
  })
  return {
    waiting,
    origin,
    ask: () => sendRaw(origin, `${head}\r\n`),
    /** Opens a connection, says this on it, and stays. */
    async hold(bytes: string): Promise<Socket> {
      const socket = await dial(origin)
      socket.on('error', () => {})
      held.push(socket)
      if (bytes !== '') socket.write(bytes)
      return socket
    },
  }
}

const silences: Readonly<Record<string, string>> = {
  'say nothing': '',
  'never end their head': head,
  'never end their body': 'POST /v1/later HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nab',
  'were answered and stay': `${head}\r\n`,
}
for (const [name, bytes] of Object.entries(silences)) {
  test(`however many connections ${name}, new ones are accepted`, async (t) => {
    const { hold, ask } = await start(t)
    for (let count = 0; count < 3 * limits.refuseAbove; count += 1) await hold(bytes)
    for (let count = 0; count < 5; count += 1) {
      assert.equal((await ask()).answers[0]?.status, 200)
    }
  })
}

test('a connection with a request in progress is not evicted', async (t) => {
  const { hold, ask, waiting } = await start(t)
  const socket = await hold('GET /v1/later HTTP/1.1\r\nHost: x\r\n\r\n')
  const received = receive(socket, 1)
  while (waiting.length === 0) await sleep(5)
  for (let count = 0; count < 3 * limits.refuseAbove; count += 1) await hold('')
  assert.equal((await ask()).answers[0]?.status, 200)
  waiting[0]?.writeHead(200, { 'content-length': '4' }).end('late')
  assert.equal((await received).answers[0]?.text, 'late')
})

test('connections with a recent request are kept longer than idle ones', async (t) => {
  const { hold, ask } = await start(t)
  const regular = await hold('')
  for (let count = 0; count < 3 * limits.refuseAbove; count += 1) {
    await hold('')
    if (count % 5 > 0) continue
    regular.write(`${head}\r\n`)
    assert.equal((await receive(regular, 1)).answers[0]?.status, 200, `${count}`)
  }
  assert.equal((await ask()).answers[0]?.status, 200)
})

test('the real listener evicts before it refuses', () => {
  assert(connectionLimits.evictAbove < connectionLimits.refuseAbove)
})
