/**
 * The contract of every driver for concurrency leases: never more than the limit, and none lost while it is
 * held.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Lease } from '#fast/port.ts'
import { type KvHarness, minute } from './harness.ts'

export function leaseTests(harness: () => KvHarness): void {
  test('of six at once four are granted and two refused, and a released place is free again', async () => {
    const { leases } = harness().kv
    const key = randomUUID()
    const results = await Promise.all(Array.from({ length: 6 }, () => leases.acquire(key, 4)))
    const held = results.flatMap((one) => (one.lease === null ? [] : [one.lease]))
    const refused = results.flatMap((one) => (one.lease === null ? [one.retryMs] : []))
    assert.equal(held.length, 4)
    assert.equal(refused.length, 2)
    assert.ok(refused.every((ms) => ms > 0))
    await held[0]?.release()
    const next = await leases.acquire(key, 4)
    assert.ok(next.lease !== null)
    await Promise.all([...held.slice(1), next.lease].map((lease) => lease.release()))
  })

  test('a lease released twice frees one place only', async () => {
    const { leases } = harness().kv
    const key = randomUUID()
    const [first, second] = [await leases.acquire(key, 2), await leases.acquire(key, 2)]
    await first.lease?.release()
    await first.lease?.release()
    const third = await leases.acquire(key, 2)
    assert.ok(third.lease !== null)
    assert.equal((await leases.acquire(key, 2)).lease, null)
    await second.lease?.release()
    await third.lease.release()
  })

  test('a lease that is held does not expire', async () => {
    const h = harness()
    const key = randomUUID()
    const { lease } = await h.kv.leases.acquire(key, 1)
    await h.pass(2.5 * minute)
    assert.equal((await h.kv.leases.acquire(key, 1)).lease, null)
    await lease?.release()
  })

  test('a released place stays free: it is not renewed by mistake', async () => {
    const h = harness()
    const key = randomUUID()
    const { lease } = await h.kv.leases.acquire(key, 1)
    await lease?.release()
    await h.pass(minute / 2)
    const next = await h.kv.leases.acquire(key, 1)
    assert.ok(next.lease !== null)
    await next.lease.release()
  })

  test('a limit of 0 lets any number through', async () => {
    const { leases } = harness().kv
    const held: Lease[] = []
    for (let i = 0; i < 10; i += 1) {
      const { lease } = await leases.acquire('any', 0)
      if (lease !== null) held.push(lease)
    }
    assert.equal(held.length, 10)
    for (const lease of held) await lease.release()
  })
}
