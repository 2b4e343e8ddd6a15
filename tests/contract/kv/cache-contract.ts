/**
 * The contract of every driver for cached answers: exact bytes, exact expiry, and a correct report when
 * nothing was stored.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { OwnedPart } from '#fast/port.ts'
import { type KvHarness, minute } from './harness.ts'

const bytes = (text: string) => new Uint8Array(Buffer.from(text))

export function cacheTests(harness: () => KvHarness): void {
  test('what was stored comes back byte for byte with its truncation mark', async () => {
    const { cache } = harness().kv
    const body = new Uint8Array([0, 255, 13, 10, 34, 128])
    for (const truncated of [true, false]) {
      const key = randomUUID()
      assert.equal(await cache.set(key, { body, truncated }, minute), true)
      const found = await cache.get(key)
      assert.ok(found.kind === 'hit')
      assert.deepEqual([...found.answer.body], [...body])
      assert.equal(found.answer.truncated, truncated)
    }
  })

  test('an empty body is an answer too', async () => {
    const { cache } = harness().kv
    const key = randomUUID()
    assert.equal(await cache.set(key, { body: new Uint8Array(0), truncated: false }, minute), true)
    const found = await cache.get(key)
    assert.equal(found.kind === 'hit' && found.answer.body.byteLength, 0)
  })

  test('a key that was never stored is a miss, and so is one that differs in its last byte', async () => {
    const { cache } = harness().kv
    const key = randomUUID()
    await cache.set(`${key}a`, { body: bytes('x'), truncated: false }, minute)
    assert.deepEqual(await cache.get(`${key}b`), { kind: 'miss' })
  })

  test('an answer is a hit until its life is over and a miss from then on', async () => {
    const h = harness()
    const key = randomUUID()
    await h.kv.cache.set(key, { body: bytes('x'), truncated: false }, h.scale(minute))
    await h.pass(minute / 2)
    assert.equal((await h.kv.cache.get(key)).kind, 'hit')
    await h.pass(minute / 2)
    assert.equal((await h.kv.cache.get(key)).kind, 'miss')
  })

  test('a body above the entry bound is not stored, and the result says so', async () => {
    const { cache } = harness().kv
    const key = randomUUID()
    const body = new Uint8Array(1024 * 1024 + 1)
    assert.equal(await cache.set(key, { body, truncated: false }, minute), false)
    assert.equal((await cache.get(key)).kind, 'miss')
  })

  test('R36: what belongs to a part of an owner may be larger, and is forgotten with it', async () => {
    const { cache } = harness().kv
    const [ann, bob] = [randomUUID(), randomUUID()]
    // As large as the cache of eight MiB lets one owner have it.
    const large = new Uint8Array(1000 * 1024)
    const store = (owner: string, name: string, owned: string | OwnedPart) =>
      cache.set(`reading:{${owner}}:${name}`, { body: large, truncated: false }, minute, owned)
    const kindOf = async (owner: string, name: string) =>
      (await cache.get(`reading:{${owner}}:${name}`)).kind
    const some = { body: bytes('x'), truncated: false }
    await cache.set(`reading:{${ann}}:answer`, some, minute, ann)
    await cache.set(`reading:{${ann}}:one`, some, minute, { owner: ann, part: 'a' })
    await cache.set(`reading:{${ann}}:two`, some, minute, { owner: ann, part: 'b' })
    assert.equal(await store(bob, 'one', { owner: bob, part: 'a' }), true)
    await cache.forget(ann, 'a')
    assert.equal(await kindOf(ann, 'one'), 'miss')
    assert.equal(await kindOf(ann, 'two'), 'hit')
    assert.equal(await kindOf(ann, 'answer'), 'hit')
    assert.equal(await kindOf(bob, 'one'), 'hit')
    await cache.forget(ann, null)
    assert.equal(await kindOf(ann, 'two'), 'miss')
    assert.equal(await kindOf(ann, 'answer'), 'miss')
    assert.equal(await kindOf(bob, 'one'), 'hit')
    await cache.forget(bob, null)
    await cache.forget(bob, null)
    assert.equal(await kindOf(bob, 'one'), 'miss')
  })

  test('an answer with a life of zero is not stored', async () => {
    const { cache } = harness().kv
    assert.equal(await cache.set('k', { body: bytes('x'), truncated: false }, 0), false)
  })

  test('the caller may reuse its buffer once the answer is stored', async () => {
    const { cache } = harness().kv
    const key = randomUUID()
    const pool = Buffer.alloc(64, 'p')
    const body = pool.subarray(10, 20)
    await cache.set(key, { body, truncated: false }, minute)
    pool.fill('z')
    const found = await cache.get(key)
    assert.equal(found.kind === 'hit' && Buffer.from(found.answer.body).toString(), 'p'.repeat(10))
  })
}
