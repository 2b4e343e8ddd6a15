/**
 * The one step of a request in Redis, where it can go wrong: names on several slots, scripts that Redis
 * forgot, a stall of this process, lost answers, and answers that this process keeps although Redis has them
 * no more.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openKv } from '#fast/open.ts'
import { systemClock } from '#kernel/time.ts'
import { leaseOf, newAdmission, store, textOf } from '../contract/kv/admit-contract.ts'
import { isShared, minute, openBeside, setStage, timed, until } from './kv-stage.ts'

/** The part of a name that decides about its slot. */
const tagOf = (name: string) => /\{([^}]+)\}/.exec(name)?.[1] ?? assert.fail(`${name} has no tag`)

test('all names that one request needs have one hash tag, that of the user, which shows nothing of it', async (t) => {
  const { server, kv } = await setStage(t)
  const [ann, bob] = [newAdmission(), newAdmission()]
  for (const one of [ann, bob]) {
    await store(kv, one, 'stored')
    await kv.admit({ ...one, answer: `${one.owner.length}:{${one.owner}}{braces}` })
  }
  const names = (await server.call('KEYS', 'tributary:*')) as string[]
  const used = names.filter((name) => /:(?:window|lease|cache|cached):/.test(name))
  assert.equal(used.length, 8, used.join(' '))
  const tags = Map.groupBy(used, tagOf)
  assert.deepEqual(
    [...tags.values()].map((group) => group.length),
    [4, 4],
  )
  assert.ok(names.every((name) => !name.includes(ann.owner) && !name.includes(bob.owner)))
})

test('a Redis that forgot its scripts gets them again, and the request is counted once', async (t) => {
  const { server, kv, fellBack } = await setStage(t)
  const one = newAdmission()
  await server.call('SCRIPT', 'FLUSH')
  const missed = await kv.admit(one)
  assert.equal(missed.window?.remaining, 2)
  await leaseOf(missed)?.release()
  assert.deepEqual([...fellBack], [])
})

test('the scripts are loaded each time Redis becomes available, not only when one is used', async (t) => {
  const { server, kv } = await setStage(t)
  const countScripts = async () => {
    const memory = String(await server.call('INFO', 'memory'))
    return Number(/number_of_cached_scripts:(\d+)/.exec(memory)?.[1])
  }
  await until(async () => (await countScripts()) > 10)
  await server.kill()
  await until(() => !isShared(kv))
  await server.start()
  await until(() => isShared(kv))
  await until(async () => (await countScripts()) > 10)
})

test('a stall of this process is not taken for one of Redis', async (t) => {
  const { kv, fellBack, lines } = await setStage(t)
  const one = newAdmission({
    window: { key: 'key:{stall}:mid', limit: 100, windowMs: minute },
    places: null,
  })
  for (let round = 0; round < 5; round += 1) {
    const asked = Array.from({ length: 8 }, () => kv.admit(one))
    // The commands have left; their answers arrive while nobody reads them.
    await new Promise((resolve) => setImmediate(resolve))
    const over = performance.now() + 400
    while (performance.now() < over);
    await Promise.all(asked)
  }
  assert.deepEqual([...fellBack], [])
  assert.deepEqual(lines, ['info'])
  assert.equal((await kv.admit(one)).window?.remaining, 59)
})

test('after a pause of Redis with misses in flight every place is free at once, and none is counted twice', async (t) => {
  const { server, kv } = await setStage(t)
  const owners = Array.from({ length: 24 }, () => {
    const one = newAdmission()
    const key = `key:{${one.owner}}:mid` as const
    return { ...one, window: { key, limit: 100, windowMs: minute } }
  })
  // Some places are taken before the pause and given back in it.
  const before = await Promise.all(owners.slice(0, 8).map((one) => kv.admit(one)))
  server.hang()
  const during = owners.slice(8).map((one) => kv.admit(one))
  await Promise.all(before.map((admitted) => leaseOf(admitted)?.release()))
  const late = await Promise.all(during)
  await Promise.all(late.map((admitted) => leaseOf(admitted)?.release()))
  await until(() => !isShared(kv))
  server.wake()
  await until(() => isShared(kv))
  const { ms } = await timed(async () => {
    for (const one of owners) {
      const free = async () => {
        const admitted = await kv.admit({ ...one, window: null })
        await leaseOf(admitted)?.release()
        return admitted.kind === 'miss'
      }
      await until(free)
    }
  })
  assert.ok(ms < 4000, `${ms} ms: a place that is left expires after ten seconds`)
  for (const one of owners.slice(8)) {
    const { key, limit, windowMs } = one.window
    const { remaining } = await kv.windows.take(key, limit, windowMs)
    // The script may have run, and memory counted too; it was not repeated.
    assert.ok(remaining <= 98 && remaining >= 97, `${remaining}`)
  }
})

test('a place that Redis grants over a lost connection, after it was given back, does not stay taken', async (t) => {
  const { server } = await setStage(t)
  const cacheKey = randomBytes(32)
  const line = await makeSlowLine(t, Number(new URL(server.url).port))
  const kv = await openKv({
    redisUrl: `redis://127.0.0.1:${line.port}`,
    clock: systemClock,
    cacheMaxBytes: 1024 * 1024,
    cacheMaxEntryBytes: 1024,
    cacheKey,
  })
  t.after(() => kv.close())
  const one = newAdmission({ window: null })
  const before = await kv.admit(one)
  await leaseOf(before)?.release()
  line.holdBack()
  const admitted = await kv.admit(one)
  assert.equal(admitted.kind, 'unavailable')
  await leaseOf(admitted)?.release()
  await until(() => !isShared(kv))
  await until(() => isShared(kv))
  await sleep(200)
  const [name = ''] = (await server.call('KEYS', 'tributary:lease:*')) as string[]
  assert.equal(name, '', 'nothing is taken')
  line.pass('look')
  await until(async () => ((await server.call('KEYS', 'tributary:lease:*')) as string[]).length > 0)
  const { ms } = await timed(() =>
    until(async () => {
      const next = await kv.admit(one)
      await leaseOf(next)?.release()
      return next.kind === 'miss'
    }),
  )
  assert.ok(ms < 5000, `${ms} ms: a place that is left expires after ten seconds`)
})

test('R10: an answer that this process keeps is served only while Redis still has that very one', async (t) => {
  const cacheKey = randomBytes(32)
  const stage = await setStage(t)
  const [one, two] = [await openBeside(t, stage, cacheKey), await openBeside(t, stage, cacheKey)]
  const asked = newAdmission({ window: null, places: null })
  const both = async () => [textOf(await one.admit(asked)), textOf(await two.admit(asked))]
  await store(one, asked, 'first')
  assert.deepEqual(await both(), ['first', 'first'])
  assert.deepEqual(await both(), ['first', 'first'], 'kept by both')
  await store(two, asked, 'second')
  assert.deepEqual(await both(), ['second', 'second'])
  await stage.server.call('FLUSHALL')
  assert.deepEqual(await both(), ['miss', 'miss'])
  await store(one, asked, 'third', 300)
  assert.deepEqual(await both(), ['third', 'third'])
  await until(async () => (await both()).join() === 'miss,miss')
  await store(one, asked, 'fourth')
  assert.deepEqual(await both(), ['fourth', 'fourth'])
  await stage.server.kill()
  await until(() => !isShared(one) && !isShared(two))
  assert.deepEqual(await both(), ['unavailable', 'unavailable'])
})

test('an answer that is let go while its question is on the way is served all the same', async (t) => {
  const { kv } = await setStage(t)
  const asked = newAdmission({ window: null, places: null })
  await store(kv, asked, 'stored')
  const waiting = kv.admit(asked)
  kv.cache.drop(null)
  assert.equal(textOf(await waiting), 'stored')
})

test('with cached answers on another server a request is judged in the same order, and a hit takes no place', async (t) => {
  const [limits, answers] = [await setStage(t), await setStage(t)]
  const kv = await openKv({
    redisUrl: limits.server.url,
    redisCacheUrl: answers.server.url,
    clock: systemClock,
    cacheMaxBytes: 1024 * 1024,
    cacheMaxEntryBytes: 1024,
    cacheKey: randomBytes(32),
  })
  t.after(() => kv.close())
  const one = newAdmission()
  const missed = await kv.admit(one)
  assert.equal(missed.kind, 'miss')
  await store(kv, one, 'stored')
  assert.equal((await kv.admit(one)).kind, 'full')
  await leaseOf(missed)?.release()
  assert.equal(textOf(await kv.admit(one)), 'stored')
  assert.equal((await kv.admit(one)).kind, 'refused')
  const free = { ...one, window: null }
  const hits = await Promise.all(Array.from({ length: 8 }, () => kv.admit(free)))
  assert.ok(hits.every((admitted) => textOf(admitted) === 'stored'))
  await limits.server.kill()
  await until(() => !isShared(kv))
  assert.equal(textOf(await kv.admit(free)), 'stored', 'the cache is there without the limits')
  await answers.server.kill()
  await until(() => kv.connections().every(({ isUp }) => !isUp))
  const alone = await kv.admit(free)
  assert.equal(alone.kind, 'unavailable')
  assert.equal((await kv.admit(free)).kind, 'full', 'places are limited here')
  await leaseOf(alone)?.release()
})

test('with cached answers on another server a request that only looks for its answer leaves both in use', async (t) => {
  const [limits, answers] = [await setStage(t), await setStage(t)]
  const warned: unknown[] = []
  const kv = await openKv({
    redisUrl: limits.server.url,
    redisCacheUrl: answers.server.url,
    clock: systemClock,
    cacheMaxBytes: 1024 * 1024,
    cacheMaxEntryBytes: 1024,
    cacheKey: randomBytes(32),
    log: { info() {}, warn: (fields) => warned.push(fields) },
  })
  t.after(() => kv.close())
  // An agent's call of a tool without places: it was counted before.
  const called = newAdmission({ window: null, places: null })
  assert.deepEqual(await kv.admit(called), { kind: 'miss', window: null, lease: null })
  await store(kv, called, 'stored')
  assert.equal(textOf(await kv.admit(called)), 'stored')
  assert.deepEqual([isShared(kv), warned], [true, []])
})

/**
 * A relay that can hold back what its present connections send, and pass it on when they are closed already.
 */
async function makeSlowLine(t: TestContext, target: number) {
  const held: { readonly text: string; readonly send: () => void }[] = []
  const ends: Socket[] = []
  const states = new Set<{ isHeld: boolean }>()
  const server = createServer((near) => {
    const state = { isHeld: false }
    states.add(state)
    const far = connect(target, '127.0.0.1')
    ends.push(near, far)
    near
      .on('error', () => {})
      .on('data', (bytes) => {
        if (state.isHeld) held.push({ text: String(bytes), send: () => far.write(bytes) })
        else far.write(bytes)
      })
    near.on('close', () => (state.isHeld ? undefined : far.destroy()))
    far.on('error', () => {}).on('data', (bytes) => near.write(bytes))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const end of ends) end.destroy()
  })
  return {
    port: (server.address() as AddressInfo).port,
    holdBack() {
      for (const state of states) state.isHeld = true
    },
    /** The first one with this word. */
    pass(word: string) {
      held.find(({ text }) => text.includes(word))?.send()
    },
  }
}
