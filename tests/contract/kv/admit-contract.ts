/**
 * The contract of every driver for the one step of a request: window, places and cached answer in the order
 * of reading R3, with the same counts as the single operations have.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { AdmitRequest, Admitted, Kv, Lease } from '#fast/port.ts'
import { assertNear, type KvHarness, minute } from './harness.ts'

/** A request of a new user, with three requests a minute and one place. */
export function newAdmission(changes: Partial<AdmitRequest> = {}): AdmitRequest {
  const owner = randomUUID()
  return {
    window: { key: `key:{${owner}}:heavy`, limit: 3, windowMs: minute },
    places: { key: `key:{${owner}}`, limit: 1 },
    answer: `${owner.length}:{${owner}}answer`,
    owner,
    ...changes,
  }
}

export const leaseOf = (admitted: Admitted): Lease | null =>
  admitted.kind === 'miss' || admitted.kind === 'unavailable' ? admitted.lease : null

export const textOf = (admitted: Admitted): string =>
  admitted.kind === 'hit' ? Buffer.from(admitted.answer.body).toString() : admitted.kind

export const store = (kv: Kv, { answer, owner }: AdmitRequest, text: string, ttlMs = minute) =>
  kv.cache.set(answer ?? '', { body: Buffer.from(text), truncated: false }, ttlMs, owner)

export function admitTests(harness: () => KvHarness): void {
  test('R3: a request is counted first: a refused one takes no place and does not reach the cache', async () => {
    const h = harness()
    const one = newAdmission()
    await store(h.kv, one, 'stored')
    for (const remaining of [2, 1, 0]) {
      const { window, ...rest } = await h.kv.admit(one)
      assert.equal(rest.kind, 'hit')
      assert.equal(window?.remaining, remaining)
      assertNear(h, window?.resetMs ?? 0, minute)
    }
    const refused = await h.kv.admit(one)
    assert.equal(refused.kind, 'refused')
    assert.deepEqual({ ...refused.window, resetMs: 0 }, windowOf(false, 3, 0))
    assert.equal((await peek(h.kv, one)).remaining, 0, 'a refused request is not counted')
  })

  test('R3: places come before the cache: a full key is refused although its answer is cached', async () => {
    const { kv } = harness()
    const one = newAdmission()
    const missed = await kv.admit(one)
    assert.equal(missed.kind, 'miss')
    await store(kv, one, 'stored')
    const full = await kv.admit(one)
    assert.ok(full.kind === 'full' && full.retryMs > 0)
    assert.equal(full.window?.remaining, 1, 'it is counted')
    await leaseOf(missed)?.release()
    assert.equal(textOf(await kv.admit(one)), 'stored')
  })

  test('a hit takes no place, and a miss one until it is released', async () => {
    const { kv } = harness()
    const one = newAdmission({ window: null })
    await store(kv, one, 'stored')
    const hits = await Promise.all(Array.from({ length: 20 }, () => kv.admit(one)))
    assert.ok(hits.every((admitted) => textOf(admitted) === 'stored'))
    const other = { ...one, answer: `${one.answer}, another` }
    const missed = await kv.admit(other)
    assert.ok(missed.kind === 'miss' && missed.lease !== null)
    assert.equal((await kv.admit(other)).kind, 'full')
    await missed.lease.release()
    const next = await kv.admit(other)
    assert.equal(next.kind, 'miss')
    await leaseOf(next)?.release()
  })

  test('a request that is only counted takes no place and asks for no answer', async () => {
    const { kv } = harness()
    const one = newAdmission()
    await store(kv, one, 'stored')
    const counted = await kv.admit({ ...one, answer: null })
    assert.equal(counted.kind, 'counted')
    assert.equal(counted.window?.remaining, 2)
    assert.equal(textOf(await kv.admit(one)), 'stored')
  })

  test('without a window nothing is counted, and without limits nothing is refused', async () => {
    const { kv } = harness()
    const one = newAdmission()
    for (let index = 0; index < 5; index += 1) {
      const missed = await kv.admit({ ...one, window: null, places: null })
      assert.deepEqual(missed, { kind: 'miss', window: null, lease: null })
    }
    assert.equal((await peek(kv, one)).remaining, 3)
    const free = { key: `key:{${one.owner}}:free` as const, limit: 0, windowMs: minute }
    const missed = await kv.admit({ ...one, window: free, places: null })
    assert.deepEqual(missed, { kind: 'miss', window: windowOf(true, 0, 0), lease: null })
    const nothing = await kv.admit({ ...one, window: null, places: null, answer: null })
    assert.deepEqual(nothing, { kind: 'counted', window: null })
  })

  test('it counts in the same windows and places as the single operations', async () => {
    const { kv } = harness()
    const one = newAdmission()
    const { window, places } = one
    if (window === null || places === null) throw new Error('it has both')
    await kv.windows.take(window.key, window.limit, window.windowMs)
    const missed = await kv.admit(one)
    assert.equal(missed.window?.remaining, 1)
    assert.equal((await kv.windows.take(window.key, window.limit, minute)).remaining, 0)
    assert.equal((await kv.leases.acquire(places.key, places.limit)).lease, null)
    await leaseOf(missed)?.release()
    const acquired = await kv.leases.acquire(places.key, places.limit)
    assert.ok(acquired.lease !== null)
    assert.equal((await kv.admit({ ...one, window: null })).kind, 'full')
    await acquired.lease.release()
  })

  test('of many at once exactly as many are admitted as there are requests and places', async () => {
    const { kv } = harness()
    const one = newAdmission()
    const many = {
      ...one,
      window: { key: `key:{${one.owner}}:mid` as const, limit: 10, windowMs: minute },
    }
    const places = { key: `key:{${one.owner}}`, limit: 4 }
    const all = await Promise.all(Array.from({ length: 16 }, () => kv.admit({ ...many, places })))
    const kinds = (kind: string) => all.filter((admitted) => admitted.kind === kind).length
    assert.deepEqual([kinds('miss'), kinds('full'), kinds('refused')], [4, 6, 6])
    await Promise.all(all.map((admitted) => leaseOf(admitted)?.release()))
  })

  test('an answer is admitted as long as it lives, and the latest one that was stored', async () => {
    const h = harness()
    const one = newAdmission({ window: null, places: null })
    await store(h.kv, one, 'first', h.scale(minute))
    assert.equal(textOf(await h.kv.admit(one)), 'first')
    await store(h.kv, one, 'second', h.scale(minute))
    assert.equal(textOf(await h.kv.admit(one)), 'second')
    await h.pass(minute)
    assert.equal((await h.kv.admit(one)).kind, 'miss')
  })

  test('dropping what the process holds of a user changes no answer', async () => {
    const { kv } = harness()
    const one = newAdmission({ window: null, places: null })
    await store(kv, one, 'stored')
    for (const owner of [one.owner, 'somebody else', null]) {
      kv.cache.drop(owner)
      assert.equal(textOf(await kv.admit(one)), 'stored')
    }
  })
}

const peek = (kv: Kv, { window }: AdmitRequest) => {
  if (window === null) throw new Error('it has a window')
  return kv.windows.peek(window.key, window.limit, window.windowMs)
}

const windowOf = (allowed: boolean, limit: number, remaining: number) => ({
  allowed,
  limit,
  remaining,
  resetMs: 0,
})
