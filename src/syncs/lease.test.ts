/** The lease of a run: renewed while it lasts, and a run that lost it is aborted. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionId, SyncRunId, UserId } from '#kernel/ids.ts'
import type { ClaimedSync } from '#store/ports/syncs.ts'
import { LeaseLostError } from './failure.ts'
import { holdLease, leaseMs } from './lease.ts'

function openLease(t: TestContext, renew: (runId: SyncRunId, until: number) => Promise<boolean>) {
  let now = 1_000_000
  const failures: unknown[] = []
  const sync: ClaimedSync = {
    runId: 'run' as SyncRunId,
    connectionId: 'connection' as ConnectionId,
    userId: 'user' as UserId,
    provider: 'fiskil',
    reason: 'schedule',
    dueAt: now,
    leaseUntil: now + leaseMs,
    failures: 0,
    rowsReadAt: null,
    ledgerFrom: null,
  }
  const jobs = { done: () => {}, failed: (_task: string, error: unknown) => failures.push(error) }
  const lease = holdLease({ syncs: { renew }, clock: { now: () => now }, jobs }, sync, 5)
  t.after(() => lease.release())
  return {
    lease,
    failures,
    pass(ms: number) {
      now += ms
    },
  }
}

const until = async (condition: () => boolean) => {
  const deadline = performance.now() + 60_000
  while (!condition()) {
    assert.ok(performance.now() < deadline, 'it did not come to this')
    await sleep(2)
  }
}

test('a lease is renewed from the present on, for as long as the run lasts', async (t) => {
  const ends: number[] = []
  const { lease, pass } = openLease(t, async (_runId, end) => {
    ends.push(end)
    return true
  })
  await until(() => ends.length > 0)
  pass(60_000)
  await until(() => ends.includes(1_060_000 + leaseMs))
  await lease.release()
  assert.equal(lease.signal.aborted, false)
})

test('a lease that another process holds aborts the run and is not renewed again', async (t) => {
  let asked = 0
  const { lease } = openLease(t, async () => {
    asked += 1
    return false
  })
  await until(() => lease.signal.aborted)
  assert.ok(lease.signal.reason instanceof LeaseLostError)
  const before = asked
  await sleep(30)
  assert.equal(asked, before)
})

test('an unavailable store aborts the run once the lease has expired, not before', async (t) => {
  const { lease, failures, pass } = openLease(t, async () => {
    throw new Error('the store is away')
  })
  await until(() => failures.length > 2)
  assert.equal(lease.signal.aborted, false)
  pass(leaseMs)
  await until(() => lease.signal.aborted)
})
