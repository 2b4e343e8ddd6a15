/** Foreign values under our key names: another service with our prefix, or another version with other types. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { answer, minute, type Stage, setStage } from './kv-stage.ts'

/** Uses everything once, so that every kind of name stands in Redis. */
async function useAll({ kv }: Pick<Stage, 'kv'>) {
  const window = await kv.windows.take('key:k', 10, minute)
  const acquired = await kv.leases.acquire('key:k', 4)
  for (let count = 0; count < 2; count += 1) await kv.breakers.fail('b', false)
  await kv.breakers.check('b')
  const isCached = await kv.cache.set('name', answer, minute, 'owner')
  const found = await kv.cache.get('name')
  const bytes = new Uint8Array([1])
  const saved = await kv.walks.save('walk', { expected: null, bytes, ttlMs: minute })
  return {
    remaining: window.remaining,
    hasPlace: acquired.lease !== null,
    isCached,
    found: found.kind,
    saved: saved.kind,
  }
}

async function look(t: TestContext, stage: Stage): Promise<Redis> {
  const client = new Redis(stage.server.url)
  // The server of the stage ends first.
  client.on('error', () => {})
  t.after(() => client.disconnect())
  return client
}

const foreign: Readonly<Record<string, (client: Redis, name: string) => Promise<unknown>>> = {
  'a list': (client, name) => client.rpush(name, 'x'),
  'a hash': (client, name) => client.hset(name, 'x', 'y'),
  'a set': (client, name) => client.sadd(name, 'x'),
  'a text': (client, name) => client.set(name, 'x'),
  'a fraction': (client, name) => client.set(name, '1.5', 'PX', minute),
}
for (const [what, write] of Object.entries(foreign)) {
  test(`${what} under each of our names is written over, and Redis stays in use`, async (t) => {
    const stage = await setStage(t)
    const client = await look(t, stage)
    const first = await useAll(stage)
    const names = await client.keys('tributary:*')
    assert(names.length >= 7, names.join(' '))
    for (const name of names) {
      await client.del(name)
      await write(client, name)
    }
    const said = stage.lines.length
    // One look may meet what was put there; the next one finds all of it gone.
    await useAll(stage)
    await stage.kv.walks.load('walk', null)
    await useAll(stage)
    const { remaining, ...after } = await useAll(stage)
    assert.deepEqual(after, {
      hasPlace: true,
      isCached: true,
      found: 'hit',
      saved: 'conflict',
    })
    assert(remaining < first.remaining, 'it is counted there again')
    assert.equal(stage.kv.isShared(), true)
    assert.equal(stage.lines.length, said, 'nothing was said of Redis being away')
  })
}
