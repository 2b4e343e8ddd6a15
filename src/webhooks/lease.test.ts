import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ClaimedEndpoint } from '#store/ports/deliveries.ts'
import { holdLease, leaseMs } from './lease.ts'

const settle = () => new Promise((resolve) => setImmediate(resolve))
const now = 1000
const claimed = { lease: 'a lease', leaseUntil: now + leaseMs } as ClaimedEndpoint

/** A lease whose renewals the test answers; time passes by the timers that the test controls. */
function open(t: TestContext, answer: () => Promise<boolean>) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const clock = { at: now, now: () => clock.at }
  const renewed: unknown[] = []
  const failures: unknown[] = []
  const held = holdLease(claimed, {
    deliveries: {
      renew(lease, until) {
        renewed.push([lease, until])
        return answer()
      },
    },
    clock,
    claimedAt: performance.now(),
    onFailure: (error) => failures.push(error),
  })
  t.after(() => held.drop())
  return { held, clock, renewed, failures, pass: (ms: number) => t.mock.timers.tick(ms) }
}

test('a lease is renewed four times a minute, until it is dropped', async (t) => {
  const { held, renewed, pass } = open(t, async () => true)
  pass(30_000)
  assert.deepEqual(renewed, Array(2).fill(['a lease', now + leaseMs]))
  held.drop()
  pass(60_000)
  await settle()
  assert.equal(renewed.length, 2)
  assert.ok(held.lasts(20_000))
})

test('a lost lease no longer lasts, and aborts the sending', async (t) => {
  const { held, pass } = open(t, async () => false)
  assert.equal(held.lost.aborted, false)
  pass(15_000)
  await settle()
  assert.equal(held.lost.aborted, true)
  assert.equal(held.lasts(0), false)
})

test('a lease that cannot be renewed at present is held until it ends, and the failure is reported', async (t) => {
  const error = new Error('the store does not answer')
  const { held, failures, pass } = open(t, async () => {
    throw error
  })
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
