/** The lease of claimed work: renewed while it lasts, ended by the first of two clocks. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as settle, setTimeout as sleep } from 'node:timers/promises'
import { holdLease, LeaseLostError } from './lease.ts'

const leaseMs = 60_000
const now = 1000

/** A lease whose renewals the test answers; time passes by the timers that the test controls. */
function open(
  t: TestContext,
  answer: () => Promise<boolean>,
  { isLostAtEnd = false }: { readonly isLostAtEnd?: boolean } = {},
) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const clock = { at: now, now: () => clock.at }
  const renewed: number[] = []
  const failures: unknown[] = []
  const held = holdLease({
    clock,
    leaseMs,
    everyMs: 15_000,
    leaseUntil: now + leaseMs,
    claimedAt: performance.now(),
    isLostAtEnd,
    renew(until) {
      renewed.push(until)
      return answer()
    },
    onFailure: (error) => failures.push(error),
  })
  t.after(() => held.release())
  return { held, clock, renewed, failures, pass: (ms: number) => t.mock.timers.tick(ms) }
}

test('a lease is renewed four times a minute from the present on, until it is released', async (t) => {
  const { held, clock, renewed, pass } = open(t, async () => true)
  pass(15_000)
  clock.at = now + 20_000
  pass(15_000)
  assert.deepEqual(renewed, [now + leaseMs, now + 20_000 + leaseMs])
  await held.release()
  pass(60_000)
  await settle()
  assert.equal(renewed.length, 2)
  assert.ok(held.lasts(20_000))
})

test('a lease that another process has no longer lasts, is reported as lost and is not renewed again', async (t) => {
  const { held, renewed, pass } = open(t, async () => false)
  assert.equal(held.lost.aborted, false)
  pass(15_000)
  await settle()
  assert.ok(held.lost.reason instanceof LeaseLostError)
  assert.equal(held.lasts(0), false)
  pass(60_000)
  await settle()
  assert.equal(renewed.length, 1)
})

test('a lease that cannot be renewed at present is held until it ends, and the failure is reported', async (t) => {
  const error = new Error('the store does not answer')
  const { held, failures, pass } = open(t, () => Promise.reject(error))
  pass(15_000)
  await settle()
  assert.deepEqual(failures, [error])
  assert.equal(held.lost.aborted, false)
  assert.ok(held.lasts(20_000))
  // It was claimed for a minute: nothing begins that may outlive it.
  assert.equal(held.lasts(leaseMs), false)
})

test('a lease ends by the wall clock too, by which others claim: after a machine was suspended, and not when it is set back', async (t) => {
  const { held, clock, pass } = open(t, async () => true)
  clock.at = now + leaseMs
  assert.equal(held.lasts(0), false)
  // Nobody has claimed it meanwhile.
  pass(15_000)
  await settle()
  assert.ok(held.lasts(20_000))
  clock.at = now - 10 * leaseMs
  assert.ok(held.lasts(20_000))
  assert.equal(held.lasts(leaseMs), false)
})

test('where its end is for good, a lease that ended by the wall clock is lost before it is renewed again', async (t) => {
  const { held, clock, renewed, pass } = open(t, async () => true, { isLostAtEnd: true })
  clock.at = now + leaseMs
  pass(15_000)
  await settle()
  assert.ok(held.lost.reason instanceof LeaseLostError)
  assert.equal(renewed.length, 0)
})

test('a lease whose renewals fail ends in time, though the clock was set back a minute', async (t) => {
  const began = performance.now()
  const clock = { at: now, now: () => clock.at }
  const held = holdLease({
    clock,
    leaseMs: 400,
    everyMs: 5,
    leaseUntil: now + 400,
    isLostAtEnd: true,
    renew: () => Promise.reject(new Error('the store is away')),
    onFailure: () => undefined,
  })
  t.after(() => held.release())
  clock.at -= 60_000
  while (!held.lost.aborted && performance.now() - began < 30_000) await sleep(5)
  assert.ok(held.lost.aborted)
  assert.ok(performance.now() - began >= 400)
})
