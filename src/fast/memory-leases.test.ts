/** What the contract suite of leases cannot check: many keys that are used briefly. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeMemoryLeases } from './memory-leases.ts'

test('places stay taken while thousands of other keys come and go', () => {
  const leases = makeMemoryLeases()
  const { lease } = leases.acquire('held', 1)
  for (let key = 0; key < 20_000; key += 1) leases.acquire(`passing ${key}`, 1).lease?.release()
  assert.equal(leases.acquire('held', 1).lease, null)
  lease?.release()
  assert.notEqual(leases.acquire('held', 1).lease, null)
})

test('a removed key starts again, and a late release frees no place of another request', () => {
  const leases = makeMemoryLeases()
  const { lease } = leases.acquire('early', 1)
  lease?.release()
  for (let key = 0; key < 20_000; key += 1) leases.acquire(`passing ${key}`, 1).lease?.release()
  assert.notEqual(leases.acquire('early', 1).lease, null)
  lease?.release()
  assert.equal(leases.acquire('early', 1).lease, null)
})
