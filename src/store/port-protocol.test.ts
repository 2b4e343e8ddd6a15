/**
 * What an operator reads when the port of PostgreSQL or Redis speaks TLS and the URL does not, or the other
 * way round.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { openKv } from '#fast/open.ts'
import { makeCertificate } from '#tests/support/certificate.ts'
import { openPostgres } from './engine/postgres-engine.ts'
import { StoreOpenError } from './failure.ts'

async function listen(t: TestContext, server: Server): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  assert.ok(address !== null && typeof address !== 'string')
  return `127.0.0.1:${address.port}`
}

/** Speaks TLS from the first byte, as stunnel does before a server. */
const listenWithTls = (t: TestContext) => {
  const server = createTlsServer(makeCertificate('db.example'), (socket) =>
    socket.on('error', () => {}),
  )
  server.on('tlsClientError', () => {})
  return listen(t, server)
}

/** Reads lines as Redis does: it answers none before one is complete. */
const listenPlain = (t: TestContext) =>
  listen(
    t,
    createServer((socket) =>
      socket.on('data', (data) => {
        if (data.toString().startsWith('PING')) socket.write('-NOAUTH Authentication required.\r\n')
      }),
    ),
  )

async function troubleOf(t: TestContext, redisUrl: string) {
  const causes: unknown[] = []
  const warn = (fields: object) => void causes.push(Reflect.get(fields, 'cause'))
  const kv = await openKv({
    redisUrl,
    clock: { now: () => Date.now() },
    cacheMaxBytes: 1_000_000,
    cacheMaxEntryBytes: 100_000,
    cacheKey: new Uint8Array(32),
    log: { info() {}, warn },
  })
  t.after(() => kv.close())
  await kv.ping()
  const troubleNow = () => kv.connections()[0]?.trouble
  return { trouble: troubleNow(), troubleNow, causes }
}

test('redis:// to a port with TLS is named as that, by the log and to the doctor', async (t) => {
  const { trouble, causes } = await troubleOf(t, `redis://${await listenWithTls(t)}`)
  assert.equal(trouble, 'its port speaks TLS: the URL must begin with rediss://')
  assert.ok(causes.includes(trouble))
})

test('rediss:// to a port without TLS is named as that, by the log and to the doctor', async (t) => {
  const { trouble, troubleNow, causes } = await troubleOf(t, `rediss://${await listenPlain(t)}`)
  assert.equal(trouble, 'its port speaks no TLS: the URL must begin with redis://')
  assert.ok(causes.includes(trouble))
  // The next connections end with ETIMEDOUT after 2 seconds, and the doctor must not be told that instead.
  for (let waitedMs = 0; waitedMs < 3_000; waitedMs += 250) {
    await setTimeout(250)
    assert.equal(troubleNow(), trouble)
  }
})

test('PostgreSQL at a port that speaks TLS from the first byte is named as that', async (t) => {
  const place = await listenWithTls(t)
  for (const parameters of ['', '?sslmode=verify-full']) {
    await assert.rejects(
      openPostgres(`postgresql://u:sekrit@${place}/x${parameters}`, () => {}),
      (error) => {
        assert.ok(error instanceof StoreOpenError && error.reason === 'unreachable')
        assert.match(error.message, /this port speaks TLS from the first byte.*sslnegotiation/)
        assert.doesNotMatch(error.message, /sekrit/)
        return true
      },
    )
  }
})
