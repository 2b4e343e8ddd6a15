/** What the Redis client writes in one turn of the event loop: few texts, in the order of the commands. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { LinkedRedis } from '#fast/redis-client.ts'
import { makeRedisServer } from './redis-server.ts'

/** A client that is ready, and the kinds of what it writes to its socket from now on. */
async function open(t: TestContext) {
  const server = await makeRedisServer()
  await server.start()
  const client = new LinkedRedis(server.url, { maxRetriesPerRequest: 0 }, 5000)
  t.after(async () => {
    client.disconnect()
    await server.close()
  })
  if (client.status !== 'ready') await once(client, 'ready')
  const { stream } = client
  const written: string[] = []
  const write = stream.write.bind(stream)
  stream.write = (part: string | Uint8Array) => {
    written.push(typeof part === 'string' ? 'text' : 'bytes')
    return write(part)
  }
  return { client, written }
}

test('the commands of one turn are one text, and one with bytes keeps its place between others', async (t) => {
  const { client, written } = await open(t)
  const bytes = Buffer.from([0xff, 0, 0x0a])
  const replies = await Promise.all([
    client.set('count', '1'),
    client.incr('count'),
    client.set('bytes', bytes),
    client.getBuffer('bytes'),
    client.incr('count'),
    client.set('text', 'ü€'),
    client.get('text'),
  ])
  assert.deepEqual(replies, ['OK', 2, 'OK', bytes, 3, 'OK', 'ü€'])
  assert.deepEqual(written, ['text', 'bytes', 'text'])
  assert.equal(await client.get('count'), '3')
  assert.deepEqual(written, ['text', 'bytes', 'text', 'text'], 'each turn writes for itself')
})

test('what one turn has to send is held up to 64 KiB, and arrives whole', async (t) => {
  const { client, written } = await open(t)
  const values = Array.from({ length: 100 }, (_, index) => String(index % 10).repeat(2000))
  await Promise.all(values.map((value, index) => client.set(`large-${index}`, value)))
  assert.deepEqual(await client.mget(values.map((_, index) => `large-${index}`)), values)
  assert.ok(written.length >= 4 && written.length <= 6, `${written.length} writes`)
})

test('commands that are held when their connection ends fail, and the next connection is used as usual', async (t) => {
  const { client } = await open(t)
  const lost = client.get('anything')
  client.stream.destroy()
  await assert.rejects(lost)
  await once(client, 'ready')
  assert.equal(await client.set('after', '1'), 'OK')
})
