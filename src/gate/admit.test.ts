/**
 * Which requests are admitted before and after other clients have used up the limits of an address (reading
 * R6).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashKey, mintKey } from '#auth/keys.ts'
import { apiError } from '#contract/errors.ts'
import { openMemoryKv } from '#fast/memory.ts'
import type { Maybe, WindowStore } from '#fast/port.ts'
import { type KeyId, newId, type UserId } from '#kernel/ids.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import { rowTrustMs } from '#store/ports/changes.ts'
import { type CallerRow, noLimits } from '#store/ports/keys.ts'
import { makeAdmission, makeGoodTokens } from './admit.ts'
import { toCredential } from './credential.ts'
import { makeIdentify } from './identify.ts'
import { makeThrottle, toVisitor } from './throttle.ts'

const here = '203.0.113.9'
const limits = { preauth: 5, preauthIp: 8 }

/** Windows that answer asynchronously, as those shared through Redis do. */
function withTrips(windows: WindowStore): WindowStore {
  const trip = async <T>(ask: () => Maybe<T>): Promise<T> => {
    await new Promise((resolve) => setImmediate(resolve))
    return ask()
  }
  return {
    take: (...given) => trip(() => windows.take(...given)),
    giveBack: (...given) => trip(() => windows.giveBack(...given)),
    peek: (...given) => trip(() => windows.peek(...given)),
    forget: (...given) => trip(() => windows.forget(...given)),
  }
}

const row: CallerRow = {
  keyId: newId<KeyId>(),
  userId: newId<UserId>(),
  plan: 'professional',
  status: 'active',
  epoch: 1,
  ...{ expiresAt: null, timezone: null, legacyUntil: null, grandfathered: false, limits: null },
}

/** A gate that accepts the keys in `good`, which a test may change: `forget` makes it look them up again. */
function open(t: { after(work: () => Promise<void>): void }) {
  let now = 0
  const clock = { now: () => now }
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1000, cacheMaxEntryBytes: 1000 })
  t.after(() => kv.close())
  const throttle = makeThrottle(withTrips(kv.windows), limits)
  const good = new Set<string>()
  const forget = () => (now += rowTrustMs)
  const world = { good, forget, row, lookups: 0, failure: null as Error | null }
  const keys = {
    async findCaller(hash: Uint8Array) {
      world.lookups += 1
      await new Promise((resolve) => setImmediate(resolve))
      if (world.failure !== null) throw world.failure
      return [...good].some((key) => Buffer.compare(hashKey(key), hash) === 0) ? world.row : null
    },
    touch: async () => {},
  }
  const identify = makeIdentify({
    store: { keys, onChange: () => () => {} },
    clock,
    onBackgroundFailure: (_task, error) => assert.fail(String(error)),
  })
  const admit = makeAdmission({ throttle, good: makeGoodTokens(), identify })
  const ask = (token: string | null, address = here) =>
    admit.admit({
      credential: toCredential(token === null ? undefined : `Bearer ${token}`, address),
      visitor: toVisitor(address, (token ?? '').slice(0, 16)),
    })
  const kinds = async (tokens: readonly string[], address = here) =>
    (await Promise.all(tokens.map((token) => ask(token, address)))).map(({ kind }) => kind)
  return { world, ask, kinds }
}

const times = (count: number, token: string) => Array<string>(count).fill(token)
const tally = (kinds: readonly string[], kind: string) => kinds.filter((one) => one === kind).length

test('R6: a burst of one good key takes one point and one look-up ahead of all, however small the bucket', async (t) => {
  const { world, ask, kinds } = open(t)
  const { key } = mintKey()
  world.good.add(key)
  assert.deepEqual(await kinds(times(89, key)), times(89, 'in'))
  const bad = await ask(`${key.slice(0, 16)}bad`)
  assert(bad.kind === 'unknown')
  assert.equal(bad.window.remaining, 4, 'nothing of the burst is left in the bucket')
})

test('R6: a key that was good passes an exhausted bucket and an exhausted ceiling; one never seen does not', async (t) => {
  const { world, ask, kinds } = open(t)
  const [known, unseen] = [mintKey().key, mintKey().key]
  world.good.add(known).add(unseen)
  assert.equal((await ask(known)).kind, 'in')
  for (let count = 0; count < 9; count += 1) await ask(`${known.slice(0, 16)}bad${count}`)
  for (let count = 0; count < 9; count += 1) await ask(`bad ${count} bad bad bad`)
  world.forget()
  assert.deepEqual(await kinds([known, unseen]), ['in', 'limited'])
  assert.equal((await ask(unseen, '203.0.113.10')).kind, 'in', 'the address is what is limited')
})

test('R27: a key that was good and is revoked is refused at once, and counts as a failure from then on', async (t) => {
  const { world, ask, kinds } = open(t)
  const { key } = mintKey()
  world.good.add(key)
  assert.equal((await ask(key)).kind, 'in')
  world.good.delete(key)
  world.forget()
  const refused = await kinds(times(20, key))
  assert.equal(tally(refused, 'unknown'), 5)
  assert.equal(tally(refused, 'limited'), 15)
  world.good.add(key)
  assert.equal((await ask(key)).kind, 'limited', 'it is no longer known to be good')
})

test('R6: parallel guesses with one token are each counted, and looked up once', async (t) => {
  const { world, kinds } = open(t)
  const answers = await kinds(times(30, mintKey().key))
  assert.equal(tally(answers, 'unknown'), 5)
  assert.equal(tally(answers, 'limited'), 25)
  assert.equal(world.lookups, 1)
})

test('R6: parallel guesses with many tokens do not exceed the ceiling', async (t) => {
  const { world, kinds } = open(t)
  const answers = await kinds(Array.from({ length: 50 }, () => mintKey().key))
  assert.equal(tally(answers, 'unknown'), 8)
  assert.equal(tally(answers, 'limited'), 42)
  assert.equal(world.lookups, 8)
})

test('R6: an unavailable store costs no client a point', async (t) => {
  const { world, ask, kinds } = open(t)
  const { key } = mintKey()
  world.good.add(key)
  world.failure = new StoreUnavailableError('away')
  assert.equal(tally(await kinds(times(40, key)), 'unknown'), 40)
  world.failure = null
  assert.equal((await ask(key)).kind, 'in')
  world.failure = new StoreUnavailableError('away')
  world.forget()
  const failed = await ask(key)
  assert(failed.kind === 'unknown')
  assert.equal(failed.window.remaining, 5)
})

test('R6: bad and missing credentials keep the point; a failure that is not the key’s gives it back', async (t) => {
  const { world, ask } = open(t)
  const leftAtSecond = async (token: string | null, failure: Error | null) => {
    world.failure = failure
    await ask(token)
    const second = await ask(token)
    assert(second.kind === 'unknown')
    return second.window.remaining
  }
  assert.equal(await leftAtSecond(null, null), 3)
  assert.equal(await leftAtSecond(mintKey().key, null), 3)
  for (const failure of [apiError('service_unavailable'), new Error('a mistake of ours')]) {
    assert.equal(await leftAtSecond(mintKey().key, failure), 4)
  }
})

test('requests wait only for the same token from their own address: a refusal there refuses no other address', async (t) => {
  const { world, ask, kinds } = open(t)
  const { key } = mintKey()
  world.good.add(key)
  for (let count = 0; count < 9; count += 1) await ask(`bad ${count} bad bad bad`)
  const [there, elsewhere] = await Promise.all([kinds([key]), kinds([key], '198.51.100.1')])
  assert.deepEqual([there, elsewhere], [['limited'], ['in']])
})

test('R43: a key that was tried from an address which it does not allow passes an exhausted bucket where it is allowed', async (t) => {
  const { world, ask, kinds } = open(t)
  const { key } = mintKey()
  world.good.add(key)
  world.row = { ...row, limits: { ...noLimits, addresses: [here] } }
  assert.equal((await ask(key)).kind, 'in')
  assert.equal((await ask(key, '198.51.100.1')).kind, 'unknown')
  for (let count = 0; count < 9; count += 1) await ask(`bad ${count} bad bad bad`)
  world.forget()
  assert.deepEqual(await kinds([key, mintKey().key]), ['in', 'limited'])
})
