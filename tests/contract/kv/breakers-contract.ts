/**
 * The contract of every driver for breakers (reading R21): when they open, for how long, and who may be the
 * probe.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { assertNear, type KvHarness, minute } from './harness.ts'

async function openBreaker(h: KvHarness): Promise<string> {
  const key = randomUUID()
  for (let i = 0; i < 3; i += 1) await h.kv.breakers.fail(key, false)
  return key
}

export function breakerTests(harness: () => KvHarness): void {
  test('R21: fail, fail, succeed, fail opens it: a success does not reset the count', async () => {
    const h = harness()
    const { breakers } = h.kv
    const key = randomUUID()
    await breakers.fail(key, false)
    await breakers.fail(key, false)
    await breakers.succeed(key, false)
    assert.deepEqual(await breakers.check(key), { kind: 'closed' })
    await breakers.fail(key, false)
    const opened = await breakers.check(key)
    assert.ok(opened.kind === 'open')
    assertNear(h, opened.cooldownMs, h.scale(minute))
  })

  test('R21: the cooldown that is left is exact', async () => {
    const h = harness()
    const key = await openBreaker(h)
    await h.pass(minute / 2)
    const opened = await h.kv.breakers.check(key)
    assert.ok(opened.kind === 'open')
    assertNear(h, opened.cooldownMs, h.scale(minute / 2))
  })

  test('R21: failures older than a minute expire one by one', async () => {
    const h = harness()
    const { breakers } = h.kv
    const key = randomUUID()
    await breakers.fail(key, false)
    await h.pass((minute * 2) / 3)
    await breakers.fail(key, false)
    await h.pass((minute * 2) / 3)
    await breakers.fail(key, false)
    assert.equal((await breakers.check(key)).kind, 'closed')
    await breakers.fail(key, false)
    assert.equal((await breakers.check(key)).kind, 'open')
  })

  test('R21: a request that began before it opened and fails late does not lengthen the cooldown', async () => {
    const h = harness()
    const key = await openBreaker(h)
    await h.pass(minute / 2)
    await h.kv.breakers.fail(key, false)
    const opened = await h.kv.breakers.check(key)
    assert.ok(opened.kind === 'open')
    assertNear(h, opened.cooldownMs, h.scale(minute / 2))
  })

  test('breakers of different connections are independent', async () => {
    const h = harness()
    await openBreaker(h)
    assert.deepEqual(await h.kv.breakers.check(randomUUID()), { kind: 'closed' })
  })
}

export function probeTests(harness: () => KvHarness): void {
  test('R21: after the cooldown exactly one request is let through as a probe', async () => {
    const h = harness()
    const { breakers } = h.kv
    const key = await openBreaker(h)
    await h.pass(minute)
    const states = await Promise.all(Array.from({ length: 5 }, () => breakers.check(key)))
    const kinds = states.map((one) => one.kind)
    assert.deepEqual(kinds, ['probe', 'open', 'open', 'open', 'open'])
  })

  test('R21: a probe that fails opens it for another minute at once', async () => {
    const h = harness()
    const { breakers } = h.kv
    const key = await openBreaker(h)
    await h.pass(minute)
    assert.equal((await breakers.check(key)).kind, 'probe')
    await breakers.fail(key, true)
    const opened = await breakers.check(key)
    assert.ok(opened.kind === 'open')
    assertNear(h, opened.cooldownMs, h.scale(minute))
    await h.pass(minute)
    assert.equal((await breakers.check(key)).kind, 'probe')
  })

  test('R21: a probe that succeeds closes it and starts the count from nothing', async () => {
    const h = harness()
    const { breakers } = h.kv
    const key = await openBreaker(h)
    await h.pass(minute)
    assert.equal((await breakers.check(key)).kind, 'probe')
    await breakers.succeed(key, true)
    await breakers.fail(key, false)
    await breakers.fail(key, false)
    assert.deepEqual(await breakers.check(key), { kind: 'closed' })
  })

  test('looking at a breaker says how it is, and is no request: the probe is still to come', async () => {
    const h = harness()
    const { breakers } = h.kv
    assert.deepEqual(await breakers.peek(randomUUID()), { kind: 'closed' })
    const key = await openBreaker(h)
    const open = await breakers.peek(key)
    assert.ok(open.kind === 'open')
    assertNear(h, open.cooldownMs, h.scale(minute))
    await h.pass(minute)
    assert.deepEqual(await breakers.peek(key), { kind: 'half_open' })
    assert.equal((await breakers.check(key)).kind, 'probe')
    assert.deepEqual(await breakers.peek(key), { kind: 'half_open' })
    await breakers.succeed(key, true)
    assert.deepEqual(await breakers.peek(key), { kind: 'closed' })
  })

  test('R22: a probe whose caller left makes room for the next one', async () => {
    const h = harness()
    const { breakers } = h.kv
    const key = await openBreaker(h)
    await h.pass(minute)
    assert.equal((await breakers.check(key)).kind, 'probe')
    await breakers.abandon(key)
    assert.equal((await breakers.check(key)).kind, 'probe')
  })

  test('a probe that never reports is abandoned after half a minute', async () => {
    const h = harness()
    const { breakers } = h.kv
    const key = await openBreaker(h)
    await h.pass(minute)
    assert.equal((await breakers.check(key)).kind, 'probe')
    const waiting = await breakers.check(key)
    assert.ok(waiting.kind === 'open')
    assertNear(h, waiting.cooldownMs, h.scale(minute / 2))
    await h.pass(minute / 2)
    assert.equal((await breakers.check(key)).kind, 'probe')
  })

  test('abandoning without a probe in progress changes nothing', async () => {
    const h = harness()
    const key = await openBreaker(h)
    await h.kv.breakers.abandon(key)
    assert.equal((await h.kv.breakers.check(key)).kind, 'open')
    await h.kv.breakers.abandon(randomUUID())
  })
}
