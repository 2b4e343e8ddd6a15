/** Opening fast state: what is refused, and that it opens without a reachable Redis. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '#kernel/time.ts'
import { type KvOptions, openKv } from './open.ts'

const options: KvOptions = {
  redisUrl: null,
  clock: systemClock,
  cacheMaxBytes: 1024 * 1024,
  cacheMaxEntryBytes: 1024,
  cacheKey: new Uint8Array(32),
}

test('a URL that is none of Redis is refused without being shown', async () => {
  for (const redisUrl of ['http://u:hush@localhost', 'localhost:6379', 'hush', '']) {
    await assert.rejects(openKv({ ...options, redisUrl }), (error: Error) => {
      return /redis:\/\//.test(error.message) && !error.message.includes('hush')
    })
  }
})

test('without a Redis the log says that everything is kept in this process', async () => {
  const lines: string[] = []
  const log = { info: (_fields: object, message: string) => void lines.push(message), warn() {} }
  const kv = await openKv({ ...options, log })
  assert.match(lines.join(), /limits, breakers and cached answers are kept in this process alone/)
  await kv.close()
})

test('a cache key of another size is refused', async () => {
  const cacheKey = new Uint8Array(31)
  await assert.rejects(openKv({ ...options, redisUrl: 'redis://127.0.0.1', cacheKey }), /32 bytes/)
})

test('an unreachable Redis is logged once, and limits apply from the start', async () => {
  const warnings: object[] = []
  const log = { info() {}, warn: (fields: object) => void warnings.push(fields) }
  const redisUrl = `redis://u:hush@localhost:${await findClosedPort()}`
  const kv = await openKv({ ...options, redisUrl, log })
  assert.equal(kv.connections()[0]?.isUp, false)
  assert.equal((await kv.windows.take('key:k', 1, 60_000)).allowed, true)
  assert.equal((await kv.windows.take('key:k', 1, 60_000)).allowed, false)
  assert.deepEqual(await kv.cache.get('k'), { kind: 'unavailable' })
  await kv.ping()
  assert.equal(warnings.length, 1)
  assert.match(JSON.stringify(warnings), /ECONNREFUSED/)
  assert.equal(JSON.stringify(warnings).includes('hush'), false)
  await kv.close()
})

test('rediss:// is TLS however its letters are written: no password is sent in plain text', async (t) => {
  const heard: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      heard.push(bytes.toString('latin1'))
      socket.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const plain = `redis://127.0.0.1:${await findClosedPort()}`
  for (const scheme of ['rediss', 'REDISS', 'Rediss']) {
    const url = `${scheme}://:hush@127.0.0.1:${port}`
    for (const urls of [{ redisUrl: url }, { redisUrl: plain, redisCacheUrl: url }]) {
      heard.length = 0
      const kv = await openKv({ ...options, ...urls })
      await kv.close()
      assert.equal(heard.join('').includes('hush'), false, scheme)
      // RFC 8446 §5.1: the first byte of a handshake.
      assert.ok(
        heard.some((text) => text.startsWith('\u0016')),
        scheme,
      )
    }
  }
})

async function findClosedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  assert.ok(address !== null && typeof address === 'object')
  return address.port
}
