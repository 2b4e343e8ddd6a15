/**
 * Foreign values under our key names: another service with our prefix, or another version with other types.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { newAdmission } from '../contract/kv/admit-contract.ts'
import { answer, isShared, minute, openBeside, type Stage, setStage } from './kv-stage.ts'

/** Uses everything once, so that every kind of name stands in Redis. */
async function useAll({ kv }: Pick<Stage, 'kv'>) {
  const window = await kv.windows.take('key:k', 10, minute)
  const acquired = await kv.leases.acquire('key:k', 4)
  for (let count = 0; count < 2; count += 1) await kv.breakers.fail('b', false)
  await kv.breakers.check('b')
  const isCached = await kv.cache.set('name', answer, minute, 'owner')
  const found = await kv.cache.get('name')
  const bytes = new Uint8Array([1])
  const saved = await kv.snapshots?.save('snapshot', { expected: null, bytes, ttlMs: minute })
  return {
    remaining: window.remaining,
    hasPlace: acquired.lease !== null,
    isCached,
    found: found.kind,
    saved: saved?.kind,
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
    await stage.kv.snapshots?.load('snapshot', null)
    await useAll(stage)
    const { remaining, ...after } = await useAll(stage)
    assert.deepEqual(after, {
      hasPlace: true,
      isCached: true,
      found: 'hit',
      saved: 'conflict',
    })
    assert(remaining < first.remaining, 'it is counted there again')
    assert.equal(isShared(stage.kv), true)
    assert.equal(stage.lines.length, said, 'nothing was said of Redis being away')
  })
}

test('a foreign text among the answers that a user has does not take Redis out of use, and is removed', async (t) => {
  const stage = await setStage(t)
  const client = await look(t, stage)
  const keep = (name: string) => stage.kv.cache.set(name, answer, minute, 'owner')
  await keep('first')
  const [owned = ''] = await client.keys('tributary:cached:*')
  for (const total of ['nan', '99999999999999999999']) {
    const fields = Object.keys(await client.hgetall(owned))
    for (const field of [...fields, 'foreign']) await client.hset(owned, field, 'junk')
    await client.hset(owned, 'total', total)
    assert.equal(await keep('first'), true)
    assert.equal(await keep('second'), true)
    assert.equal((await stage.kv.cache.get('first')).kind, 'hit')
  }
  assert.equal(await client.hget(owned, 'foreign'), null)
  assert.deepEqual([...stage.fellBack], [])
})

// What a clock of the server that was set back does to every expiry.
const later = 30 * minute

test('a used-up window that ends later than its length allows counts as ended', async (t) => {
  const stage = await setStage(t)
  const client = await look(t, stage)
  const one = newAdmission()
  const takes = {
    async admit() {
      const admitted = await stage.kv.admit({ ...one, answer: null })
      return admitted.kind === 'counted' && admitted.window !== null
        ? admitted.window.resetMs
        : null
    },
    async take() {
      const { allowed, resetMs } = await stage.kv.windows.take(one.window?.key ?? 'key:', 3, minute)
      return allowed ? resetMs : null
    },
  }
  for (const take of Object.values(takes)) {
    await client.flushall()
    for (let count = 0; count < 3; count += 1) assert.notEqual(await take(), null)
    assert.equal(await take(), null)
    const [name = ''] = await client.keys('tributary:window:*')
    await client.pexpire(name, later)
    const peeked = await stage.kv.windows.peek(one.window?.key ?? 'key:', 3, minute)
    assert.deepEqual([peeked.allowed, peeked.resetMs], [true, minute])
    const resetMs = await take()
    assert(resetMs !== null && resetMs <= minute, `${resetMs}`)
  }
})

test('places that expire later than their life allows are free', async (t) => {
  const stage = await setStage(t)
  const client = await look(t, stage)
  const one = newAdmission()
  const takes = {
    admit: async () => (await stage.kv.admit(one)).kind,
    async acquire() {
      const { lease } = await stage.kv.leases.acquire(one.places?.key ?? '', 1)
      return lease === null ? 'full' : 'miss'
    },
  }
  for (const take of Object.values(takes)) {
    await client.flushall()
    assert.equal(await take(), 'miss')
    assert.equal(await take(), 'full')
    const [name = ''] = await client.keys('tributary:lease:*')
    const [id = ''] = await client.zrange(name, '0', '-1')
    await client.zadd(name, Date.now() + later, id)
    assert.equal(await take(), 'miss')
  }
})

test('an answer that Redis would hold past its life is not served', async (t) => {
  const stage = await setStage(t)
  const client = await look(t, stage)
  // Another process, which keeps no opened answer.
  const other = await openBeside(t, stage)
  await stage.kv.cache.set('name', answer, minute)
  const [name = ''] = await client.keys('tributary:cache:*')
  assert.equal((await other.cache.get('name')).kind, 'hit')
  for (const prolong of [() => client.pexpire(name, later), () => client.persist(name)]) {
    await prolong()
    const third = await openBeside(t, stage)
    assert.equal((await third.cache.get('name')).kind, 'miss')
  }
})
