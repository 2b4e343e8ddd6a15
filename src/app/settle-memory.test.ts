import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { settleMemoryLater } from './settle-memory.ts'

test('memory is collected in a quiet moment, and not while the process works', async () => {
  let collected = 0
  const collect = () => {
    collected += 1
  }
  settleMemoryLater(collect, { delaysMs: [0], watchMs: 100 })
  const busyUntil = performance.now() + 600
  while (performance.now() < busyUntil) {
    const until = performance.now() + 20
    while (performance.now() < until);
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(collected, 0)
  const deadline = performance.now() + 10_000
  while (collected === 0 && performance.now() < deadline) await sleep(20)
  await sleep(300)
  assert.equal(collected, 1)
})
