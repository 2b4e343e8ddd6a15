/**
 * The contract of every driver for rate windows (readings R6, R7): the exact numbers, and a simple model that
 * any sequence of requests must agree with.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { WindowState } from '#fast/port.ts'
import { assertNear, type KvHarness, minute } from './harness.ts'

export function windowTests(harness: () => KvHarness): void {
  const near = (state: WindowState, expected: WindowState) => {
    assertNear(harness(), state.resetMs, expected.resetMs)
    assert.deepEqual({ ...state, resetMs: expected.resetMs }, expected)
  }

  test('R7: remaining and reset are exact from the first request to the refusal', async () => {
    const h = harness()
    const { windows } = h.kv
    const key = `key:${randomUUID()}` as const
    const full = h.scale(minute)
    const half = full - h.scale(minute / 2)
    near(await windows.take(key, 3, full), state(true, 3, 2, full))
    await h.pass(minute / 2)
    near(await windows.take(key, 3, full), state(true, 3, 1, half))
    near(await windows.take(key, 3, full), state(true, 3, 0, half))
    near(await windows.take(key, 3, full), state(false, 3, 0, half))
    near(await windows.peek(key, 3, full), state(false, 3, 0, half))
  })

  test('R7: the window starts with the first request and a new one starts after it', async () => {
    const h = harness()
    const { windows } = h.kv
    const key = `key:${randomUUID()}` as const
    const full = h.scale(minute)
    for (let i = 0; i < 3; i += 1) await windows.take(key, 1, full)
    await h.pass(minute)
    near(await windows.peek(key, 1, full), state(true, 1, 1, full))
    near(await windows.take(key, 1, full), state(true, 1, 0, full))
    near(await windows.take(key, 1, full), state(false, 1, 0, full))
  })

  test('a refused request is not counted: one given back makes room for one', async () => {
    const { windows } = harness().kv
    const key = `key:${randomUUID()}` as const
    for (let i = 0; i < 5; i += 1) await windows.take(key, 2, minute)
    await windows.giveBack(key, 2, minute)
    assert.equal((await windows.take(key, 2, minute)).allowed, true)
    assert.equal((await windows.take(key, 2, minute)).allowed, false)
  })

  test('R6: parallel guesses cannot exceed the limit by reservations', async () => {
    const { windows } = harness().kv
    const key = `key:${randomUUID()}` as const
    const states = await Promise.all(Array.from({ length: 20 }, () => windows.take(key, 5, minute)))
    assert.equal(states.filter((one) => one.allowed).length, 5)
  })

  test('R7: a window whose requests were all given back starts anew with the next one', async () => {
    const h = harness()
    const { windows } = h.kv
    const key = `key:${randomUUID()}` as const
    const full = h.scale(minute)
    await windows.take(key, 2, full)
    await windows.giveBack(key, 2, full)
    await h.pass(minute / 2)
    near(await windows.peek(key, 2, full), state(true, 2, 2, full))
    near(await windows.take(key, 2, full), state(true, 2, 1, full))
  })

  test('giving back more than was taken creates no room', async () => {
    const { windows } = harness().kv
    const key = `key:${randomUUID()}` as const
    await windows.giveBack(key, 1, minute)
    await windows.take(key, 1, minute)
    for (let i = 0; i < 3; i += 1) await windows.giveBack(key, 1, minute)
    assert.equal((await windows.take(key, 1, minute)).allowed, true)
    assert.equal((await windows.take(key, 1, minute)).allowed, false)
  })

  test('looking counts nothing', async () => {
    const { windows } = harness().kv
    const key = `key:${randomUUID()}` as const
    for (let i = 0; i < 5; i += 1) await windows.peek(key, 1, minute)
    assert.equal((await windows.take(key, 1, minute)).allowed, true)
  })

  test('a limit of 0 is no limit', async () => {
    const { windows } = harness().kv
    const key = `key:${randomUUID()}` as const
    for (let i = 0; i < 5; i += 1) {
      assert.deepEqual(await windows.take(key, 0, minute), state(true, 0, 0, 0))
    }
    assert.deepEqual(await windows.peek(key, 0, minute), state(true, 0, 0, 0))
    await windows.giveBack(key, 0, minute)
  })

  test('a forgotten window counts from zero again', async () => {
    const { windows } = harness().kv
    const key = `key:${randomUUID()}` as const
    await windows.forget(key)
    for (let i = 0; i < 3; i += 1) await windows.take(key, 2, minute)
    await windows.forget(key)
    assert.equal((await windows.peek(key, 2, minute)).remaining, 2)
    assert.equal((await windows.take(key, 2, minute)).remaining, 1)
  })

  test('windows of different keys are independent', async () => {
    const { windows } = harness().kv
    const key = `key:${randomUUID()}` as const
    await windows.take(`key:${key}a`, 1, minute)
    assert.equal((await windows.take(`key:${key}b`, 1, minute)).allowed, true)
  })
}

type Step =
  | { readonly kind: 'take' | 'giveBack' | 'peek' }
  | { readonly kind: 'pass'; readonly ms: number }

/** The rule of a window in its plainest words: the instants counted in it, and when it began. */
function modelWindow(limit: number, windowMs: number) {
  let counted = 0
  let began = 0
  const running = (now: number) => counted > 0 && now < began + windowMs
  const left = (now: number) => (running(now) ? began + windowMs - now : windowMs)
  return {
    take(now: number): WindowState {
      if (!running(now)) [counted, began] = [0, now]
      const allowed = counted < limit
      if (allowed) counted += 1
      return state(allowed, limit, limit - counted, left(now))
    },
    giveBack(now: number): void {
      if (running(now)) counted -= 1
    },
    peek(now: number): WindowState {
      const count = running(now) ? counted : 0
      return state(count < limit, limit, limit - count, left(now))
    },
  }
}

export function windowProperties(harness: () => KvHarness): void {
  const plainStep = fc.constantFrom<Step>({ kind: 'take' }, { kind: 'giveBack' }, { kind: 'peek' })
  const passing = fc.nat({ max: 90_000 }).map((ms): Step => ({ kind: 'pass', ms }))

  test('R7: after any sequence of requests the window equals that of the plain rule', async () => {
    const h = harness()
    const step = h.still ? fc.oneof({ weight: 3, arbitrary: plainStep }, passing) : plainStep
    const steps = fc.array(step, { maxLength: 40 })
    const property = fc.asyncProperty(steps, fc.integer({ min: 1, max: 5 }), (run, limit) =>
      follow(h, run, limit),
    )
    await fc.assert(property, { numRuns: h.still ? 500 : 30 })
  })
}

async function follow(h: KvHarness, run: readonly Step[], limit: number): Promise<void> {
  const key = `key:${randomUUID()}` as const
  const model = modelWindow(limit, minute)
  let now = 0
  for (const step of run) {
    if (step.kind === 'pass') {
      await h.pass(step.ms)
      now += step.ms
    } else if (step.kind === 'giveBack') {
      await h.kv.windows.giveBack(key, limit, minute)
      model.giveBack(now)
    } else {
      const actual = await h.kv.windows[step.kind](key, limit, minute)
      const expected = model[step.kind](now)
      assertNear(h, actual.resetMs, expected.resetMs)
      assert.deepEqual({ ...actual, resetMs: expected.resetMs }, expected)
    }
  }
}

function state(allowed: boolean, limit: number, remaining: number, resetMs: number): WindowState {
  return { allowed, limit, remaining, resetMs }
}
