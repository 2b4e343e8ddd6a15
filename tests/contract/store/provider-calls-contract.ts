/** The contract of the port for calls to providers that limit a day (reading R36). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Clock } from '#kernel/time.ts'
import { makeBudget } from '#providers/budget.ts'
import { makeDayWindows } from '#providers/day-windows.ts'
import { enablebankingFacts } from '#providers/enablebanking/facts.ts'
import type { BudgetLimits } from '#providers/provider-facts.ts'
import { simplefinFacts } from '#providers/simplefin/facts.ts'
import { makeUsageSweep } from '#usage/sweep.ts'
import type { StoreOf } from './place.ts'
import { now } from './rows.ts'

const hourMs = 3_600_000
const signal = new AbortController().signal
const person = { signal, priority: 'user' } as const

export function testProviderCalls(store: StoreOf): void {
  /** As a process has it that has just been started. */
  const startBudget = (clock: Clock, limits: BudgetLimits) =>
    makeBudget({
      ...{ clock, name: 'one', windows: makeDayWindows(store().providerCalls, clock) },
      ...limits,
    })

  test('R36: a restart begins no new day, and of many processes at once no more than four calls are made', async () => {
    const of = randomUUID()
    const clock = { now: () => now }
    const processes = Array.from({ length: 8 }, () =>
      startBudget(clock, enablebankingFacts.accountBudget),
    )
    const answers = await Promise.all(processes.map((budget) => budget(person, of)))
    assert.equal(answers.filter(({ allowed }) => allowed).length, 4)
    const restarted = startBudget(clock, enablebankingFacts.accountBudget)
    assert.deepEqual(await restarted(person, of), { allowed: false, retryAfterSeconds: 86_400 })
    const other = await restarted({ signal, priority: 'background' }, randomUUID())
    assert.equal(other.allowed, true)
  })

  test('R36: no 24 hours have more than four calls, wherever they begin', async () => {
    const of = randomUUID()
    const clock = { ms: Date.parse('2026-11-20T08:00:00Z'), now: () => clock.ms }
    const budget = startBudget(clock, enablebankingFacts.accountBudget)
    const at: number[] = []
    const begun = clock.ms
    for (let hour = 0; hour < 24 * 4; hour += 1) {
      // Four attempts at the end of the first day, and in each hour later.
      for (let count = 0; count < (hour === 0 ? 1 : hour < 23 ? 0 : 4); count += 1) {
        const { allowed } = await budget(person, of)
        if (allowed) at.push((clock.ms - begun) / hourMs)
      }
      clock.ms += hourMs
    }
    assert.deepEqual(at.slice(0, 6), [0, 23, 23, 23, 24, 47])
    for (const one of at) assert.ok(at.filter((each) => each >= one && each < one + 24).length <= 4)
    assert.ok(at.length > 10)
    const left = await budget.peek?.(of)
    assert.deepEqual([left?.calls, left?.isShared], [4, false])
  })

  test('R36: a day by the clock ends at its midnight, and background work leaves half of it', async () => {
    const of = randomUUID()
    const clock = { ms: Date.parse('2026-11-20T23:00:00Z'), now: () => clock.ms }
    const budget = startBudget(clock, simplefinFacts.budget)
    for (let call = 0; call < 12; call += 1)
      assert.equal((await budget({ signal, priority: 'background' }, of)).allowed, true)
    assert.deepEqual(await budget({ signal, priority: 'background' }, of), {
      allowed: false,
      retryAfterSeconds: 3600,
    })
    for (let call = 0; call < 12; call += 1) assert.equal((await budget(person, of)).allowed, true)
    assert.equal((await budget(person, of)).allowed, false)
    clock.ms += hourMs
    assert.equal((await budget({ signal, priority: 'background' }, of)).allowed, true)
  })

  test('calls from before a clock was set back do not count, and old ones are deleted', async () => {
    const { providerCalls, usage } = store()
    const name = `budget:one:${randomUUID()}`
    const early = now - 72 * hourMs
    await providerCalls.count(name, { since: 0, until: early, limit: 9 })
    await providerCalls.count(name, { since: 0, until: now, limit: 9 })
    assert.deepEqual(await providerCalls.list(name, { since: 0, until: now - 1 }), [early])
    await makeUsageSweep({ usage, providerCalls }, { now: () => now }).run(signal)
    assert.deepEqual(await providerCalls.list(name, { since: 0, until: now }), [now])
  })
}
