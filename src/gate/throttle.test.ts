/** What a request costs before its caller is known (reading R6). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryKv } from '#fast/memory.ts'
import { makeThrottle, toVisitor } from './throttle.ts'

function open(limits: { preauth: number; preauthIp: number }) {
  const kv = openMemoryKv({
    clock: { now: () => 0 },
    cacheMaxBytes: 1000,
    cacheMaxEntryBytes: 1000,
  })
  const throttle = makeThrottle(kv.windows, limits)
  return {
    kv,
    /** One failed attempt; true when the key was looked up. */
    async fail(address: string, prefix = 'guess'): Promise<boolean> {
      const reservation = await throttle.reserve(toVisitor(address, prefix))
      if (reservation.allowed) reservation.keep()
      return reservation.allowed
    },
    reserve: (address: string, prefix: string) => throttle.reserve(toVisitor(address, prefix)),
    left: async (address: string, prefix: string) =>
      (await throttle.peek(toVisitor(address, prefix))).remaining,
  }
}

test('R6: no window is created for a token whose address is over its ceiling', async (t) => {
  const { kv, fail, left } = open({ preauth: 3, preauthIp: 5 })
  t.after(() => kv.close())
  for (let count = 0; count < 5; count += 1) assert(await fail('203.0.113.9', `token ${count}`))
  assert.equal(await fail('203.0.113.9', 'another'), false)
  assert.equal(await left('203.0.113.9', 'another'), 3, 'its bucket was not touched')
  assert.equal(await fail('203.0.113.10', 'another'), true, 'a neighbour')
})

test('R6: what the bucket of a token refuses does not count towards the ceiling of its address', async (t) => {
  const { kv, fail } = open({ preauth: 2, preauthIp: 5 })
  t.after(() => kv.close())
  for (let count = 0; count < 20; count += 1) await fail('203.0.113.9', 'one token')
  for (const prefix of ['a', 'b', 'c']) assert(await fail('203.0.113.9', prefix), prefix)
  assert.equal(await fail('203.0.113.9', 'd'), false)
})

test('R6: a /64 is one address, and a /56 has a ceiling of ten times that of an address', async (t) => {
  const { kv, fail } = open({ preauth: 100, preauthIp: 5 })
  t.after(() => kv.close())
  for (let count = 0; count < 5; count += 1) assert(await fail(`2001:db8:0:1200::${count}`))
  assert.equal(await fail('2001:db8:0:1200:ffff::1'), false, 'the same /64')
  for (let count = 5; count < 50; count += 1) {
    assert(await fail(`2001:db8:0:12${count.toString(16).padStart(2, '0')}::1`), `${count}`)
  }
  assert.equal(await fail('2001:db8:0:12ff::1'), false, 'the /56 has failed fifty times')
  assert.equal(await fail('2001:db8:0:1300::1'), true, 'the /56 beside it')
})

test('R6: an IPv4 address is the same in its IPv4-mapped IPv6 form, and has no network window', async (t) => {
  const { kv, fail } = open({ preauth: 100, preauthIp: 2 })
  t.after(() => kv.close())
  assert.deepEqual([await fail('203.0.113.9'), await fail('::ffff:203.0.113.9')], [true, true])
  assert.equal(await fail('::FFFF:cb00:7109'), false)
  for (let host = 10; host < 60; host += 1) assert(await fail(`203.0.113.${host}`), `${host}`)
})

test('R6: a refusal by points that are only reserved asks to wait a second, one by failures until the window ends', async (t) => {
  const { kv, reserve, fail } = open({ preauth: 2, preauthIp: 100 })
  t.after(() => kv.close())
  const held = [await reserve('203.0.113.9', 'key'), await reserve('203.0.113.9', 'key')]
  const full = await reserve('203.0.113.9', 'key')
  assert(!full.allowed)
  assert.deepEqual([full.retryMs, full.state.resetMs], [1000, 60_000])
  for (const one of held) if (one.allowed) one.giveBack()
  assert(await fail('203.0.113.9', 'key'))
  assert(await fail('203.0.113.9', 'key'))
  const over = await reserve('203.0.113.9', 'key')
  assert(!over.allowed)
  assert.equal(over.retryMs, 60_000)
})
