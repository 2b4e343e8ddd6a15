/** What a request costs before anybody knows whose it is (reading R6). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiError } from '#contract/errors.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import { openMemoryKv } from '#store/kv/memory.ts'
import { makeThrottle, settleUnidentified, toVisitor } from './throttle.ts'

/** Points left of ten after one request that ended with `thrown` instead of a caller. */
async function remainingAfter(thrown: unknown): Promise<number> {
  const clock = { now: () => 0 }
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1000, cacheMaxEntryBytes: 1000 })
  const throttle = makeThrottle(kv.windows, { preauth: 10, preauthIp: 100 })
  const visitor = toVisitor('203.0.113.9', 'trib_live_0CiOts')
  settleUnidentified(await throttle.reserve(visitor), thrown)
  const { remaining } = await throttle.peek(visitor)
  await kv.close()
  return remaining
}

test('R6: bad and missing credentials keep the point', async () => {
  assert.equal(await remainingAfter(apiError('invalid_token')), 9)
  assert.equal(await remainingAfter(apiError('missing_authorization')), 9)
})

test('R6: a failure that is not the key’s gives the point back', async () => {
  assert.equal(await remainingAfter(new StoreUnavailableError('away')), 10)
  assert.equal(await remainingAfter(apiError('service_unavailable')), 10)
  assert.equal(await remainingAfter(new Error('a mistake of ours')), 10)
})
