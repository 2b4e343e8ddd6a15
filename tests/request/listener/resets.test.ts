/**
 * Whatever an anonymous client sends, and whenever it resets the connection: the same process answers the
 * next one.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startProcess } from '#tests/support/process.ts'

const folder = await mkdtemp(join(tmpdir(), 'tributary-resets-'))
const running = startProcess({ DATA_DIR: folder })
await running.ready()
const origins = {
  public: new URL(running.printed('REST API')).origin,
  admin: new URL(running.printed('Admin API')).origin,
}
after(async () => {
  running.child.kill('SIGKILL')
  await running.ended
  await rm(folder, { recursive: true, force: true })
})

const get = 'GET /v1/categories HTTP/1.1\r\nHost: localhost\r\n\r\n'
const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket'
const attacks: Readonly<Record<string, string>> = {
  'a request': get,
  'a tunnel': 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
  'a tunnel without Host': 'CONNECT a:1 HTTP/1.1\r\n\r\n',
  'a tunnel with words behind it': `CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${get}`,
  'a tunnel with a body': 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab',
  'a tunnel with a whole body':
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nabcdefgh',
  'a tunnel with a chunked body':
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab',
  'a tunnel behind requests': `${get}${get}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`,
  'an upgrade': `GET / HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n\r\n`,
  'an upgrade with a body': `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\nContent-Length: 9\r\n\r\nab`,
  'an upgrade to HTTP/2': `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
  'an expectation':
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\nContent-Length: 9\r\n\r\n',
  'a question whether to go on':
    'POST /sign-in HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n',
  'an unknown method': 'FOO / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'a known but odd method': 'QUERY / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  TLS: '\u0016\u0003\u0001\u0002\u0000\r\n\r\n',
  'a head that is too large': `GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
  'no Host': 'GET / HTTP/1.1\r\n\r\n',
  'a form':
    'POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\nemail=',
  'a call of the admin API':
    'POST /admin/users HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"em',
}

/** What is done with the connection once the bytes are sent, or half of them. */
const stages: Readonly<Record<string, (socket: Socket, bytes: string) => Promise<void>>> = {
  'in the middle of it': async (socket, bytes) => {
    socket.write(bytes.slice(0, bytes.length / 2))
    await sleep(5)
  },
  'at once': async (socket, bytes) => {
    await new Promise((resolve) => socket.write(bytes, resolve))
  },
  'a moment later': async (socket, bytes) => {
    socket.write(bytes)
    await sleep(5)
  },
  'when the answer comes': async (socket, bytes) => {
    socket.write(bytes)
    await Promise.race([once(socket, 'data'), once(socket, 'close'), sleep(300)])
  },
  'when the answer is there': async (socket, bytes) => {
    socket.resume()
    socket.write(bytes)
    await Promise.race([once(socket, 'end'), once(socket, 'close'), sleep(300)])
  },
  'with its half closed': async (socket, bytes) => {
    // A half that is closed cannot be reset any more: the answer runs into a closed port, whose system resets
    // it.
    await new Promise<void>((resolve) => socket.end(bytes, resolve))
    socket.destroy()
  },
}

for (const side of ['public', 'admin'] as const) {
  for (const [stage, act] of Object.entries(stages)) {
    test(`${side} listener: connections that are reset ${stage} affect no others`, async () => {
      await Promise.all(
        Object.entries(attacks).map(async ([name, bytes]) => {
          const socket = await open(origins[side])
          await act(socket, bytes)
          if (!socket.destroyed) socket.resetAndDestroy()
          await sleep(20)
          assert.equal(running.child.exitCode, null, name)
        }),
      )
      await answers()
    })
  }
}

/** It does not close its own half by itself: what is half closed cannot be reset. */
async function open(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  await once(socket, 'connect')
  // The listener may reset it first.
  socket.on('error', () => {})
  return socket
}

/** The same process, and both of its listeners. */
async function answers(): Promise<void> {
  const health = await fetch(`${origins.admin}/healthz`)
  assert.equal(health.status, 200)
  const read = await fetch(`${origins.public}/v1/categories`)
  assert.equal(read.status, 401)
  assert.deepEqual([running.child.exitCode, running.child.signalCode], [null, null])
}

test('after all of it a stop finds no connection left over, and ends at once with 0', async () => {
  const toldAt = performance.now()
  running.child.kill('SIGTERM')
  const { code, stderr } = await running.ended
  assert.deepEqual([code, stderr], [0, ''])
  assert(performance.now() - toldAt < 10_000)
})
