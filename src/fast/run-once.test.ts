/** Work that may run once, where it takes longer than its claim. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeMemoryWindows } from './memory-windows.ts'
import { runOnce } from './run-once.ts'

test('work that ends after its claim leaves the claim of the run that followed it', async () => {
  const clock = { at: Date.UTC(2026, 10, 29), now: () => clock.at }
  const windows = makeMemoryWindows(clock)
  const once = { windows, clock, key: 'webhook:x', claimMs: 1000, keptMs: 60_000 } as const
  const slow = Promise.withResolvers<string>()
  const second = Promise.withResolvers<string>()
  const first = runOnce(once, () => slow.promise)
  clock.at += 1000
  const next = runOnce(once, () => second.promise)
  slow.reject(new Error('failed'))
  await assert.rejects(first, /failed/)
  assert.equal(await runOnce(once, () => assert.fail('it ran beside the second')), 'under_way')
  second.resolve('made')
  assert.equal(await next, 'made')
  assert.equal(await runOnce(once, () => assert.fail('it was done')), 'repeated')
})
