import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRetention } from './retention.ts'

const now = Date.UTC(2026, 10, 20)
const never = new AbortController().signal
const clock = { now: () => now }

/** Sums what is reported as destroyed. */
function makeReport() {
  const report = {
    total: 0,
    shredded(count: number) {
      report.total += count
    },
  }
  return report
}

/** A store in which there is this much of each to destroy. */
function makeStore(rows: { shred: number; sweepKeys: number; sweepReceipts: number }) {
  const asked: [string, object][] = []
  const left = { ...rows }
  const take = (name: keyof typeof rows) => async (options: { limit: number }) => {
    asked.push([name, options])
    const count = Math.min(left[name], options.limit)
    left[name] -= count
    return count
  }
  return {
    asked,
    left,
    events: {
      shred: take('shred'),
      sweepKeys: take('sweepKeys'),
      sweepReceipts: take('sweepReceipts'),
    },
  }
}

test('payloads, keys and receipts are destroyed in batches, each by its own time', async () => {
  const { asked, left, events } = makeStore({ shred: 25, sweepKeys: 1, sweepReceipts: 1 })
  const report = makeReport()
  await makeRetention({ events, clock, retentionHours: 72, report }).run(never)
  assert.equal(report.total, 25)
  assert.deepEqual(left, { shred: 0, sweepKeys: 0, sweepReceipts: 0 })
  const hour = 3_600_000
  assert.deepEqual(asked, [
    ...Array(4).fill(['shred', { acceptedBefore: now - 72 * hour, now, limit: 10 }]),
    ...Array(2).fill(['sweepKeys', { before: now - hour, limit: 200 }]),
    ...Array(2).fill(['sweepReceipts', { before: now - 30 * 24 * hour, limit: 10 }]),
  ])
})

test('one run ends, however much there is, and a stop ends it between two batches', async () => {
  const many = { shred: 1_000_000, sweepKeys: 0, sweepReceipts: 0 }
  const full = makeStore(many)
  const report = makeReport()
  await makeRetention({ ...full, clock, retentionHours: 0, report }).run(never)
  assert.equal(full.left.shred, 1_000_000 - 1000 * 10)
  const stopping = new AbortController()
  const stopped = makeStore(many)
  const events = {
    ...stopped.events,
    shred: async (options: { limit: number }) => {
      stopping.abort()
      return stopped.events.shred(options)
    },
  }
  await makeRetention({ events, clock, retentionHours: 0, report }).run(stopping.signal)
  assert.equal(stopped.asked.length, 1)
})

test('without retention it runs every few seconds', () => {
  const { events } = makeStore({ shred: 0, sweepKeys: 0, sweepReceipts: 0 })
  const report = makeReport()
  assert.ok(makeRetention({ events, clock, retentionHours: 0, report }).everyMs <= 5000)
})
