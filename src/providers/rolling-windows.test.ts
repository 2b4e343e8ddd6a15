/** Calls of a bank's day, wherever the day begins (reading R36). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeMemoryWindows } from '#fast/memory-windows.ts'
import { makeBudget } from './budget.ts'
import { enablebankingFacts } from './enablebanking/facts.ts'

const hourMs = 3_600_000

test('R36: no 24 hours have more than four calls, wherever they begin', async () => {
  const clock = { ms: Date.parse('2026-11-20T08:00:00Z'), now: () => clock.ms }
  const { accountBudget } = enablebankingFacts
  const windows = makeMemoryWindows(clock)
  const budget = makeBudget({ windows, clock, name: 'one', ...accountBudget })
  const call = { signal: new AbortController().signal, priority: 'user' } as const
  const at: number[] = []
  const begun = clock.ms
  for (let hour = 0; hour < 24 * 7; hour += 1) {
    // Four attempts at the end of each first day, and of each hour later.
    for (let count = 0; count < (hour === 0 ? 1 : hour < 23 ? 0 : 4); count += 1) {
      const { allowed } = await budget(call, 'account')
      if (allowed) at.push((clock.ms - begun) / hourMs)
    }
    clock.ms += hourMs
  }
  assert.deepEqual(at.slice(0, 6), [0, 23, 23, 23, 24, 47])
  for (const one of at) assert.ok(at.filter((each) => each >= one && each < one + 24).length <= 4)
  assert.ok(at.length > 20)
  const left = await budget.peek?.('account')
  assert.deepEqual([left?.calls, left?.isShared], [4, false])
})
