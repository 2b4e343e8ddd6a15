/** When syncs run, and how far they look back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import { simplefinFacts } from '#providers/simplefin/facts.ts'
import { dueAfterFailure, dueAfterSuccess, isReadingRows, lookBackFrom } from './schedule.ts'

const now = Date.parse('2026-11-21T02:00:00Z')
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

test('a run that succeeded is followed by another after the interval, a tenth sooner or later', () => {
  const rules = { intervalMinutes: 360, rowsReadAt: now, scheduledReadHours: null }
  fc.assert(
    fc.property(random, (value) => {
      const due = dueAfterSuccess({ now, random: () => value }, rules)
      assert.ok(due >= now + 0.9 * 6 * hourMs - 1 && due <= now + 1.1 * 6 * hourMs + 1)
    }),
  )
})

test('a run is not put off beyond the moment from which rows may be read again', () => {
  const timing = { now, random: () => 0.5 }
  const rules = { intervalMinutes: 360, scheduledReadHours: 24 }
  const early = dueAfterSuccess(timing, { ...rules, rowsReadAt: now - 20 * hourMs })
  assert.equal(early, now + 4 * hourMs)
  assert.equal(
    dueAfterSuccess(timing, { ...rules, rowsReadAt: now - 30 * hourMs }),
    now + 6 * hourMs,
  )
  assert.equal(dueAfterSuccess(timing, { ...rules, rowsReadAt: now }), now + 6 * hourMs)
})

test('failures put the next run off twice as long each time, jittered, up to a day', () => {
  const wait = (failures: number, value: number) =>
    dueAfterFailure({ now, random: () => value }, { failures, retryAfterSeconds: null }) - now
  assert.equal(wait(1, 0), 30_000)
  assert.equal(wait(1, 1), 60_000)
  assert.equal(wait(2, 1), 120_000)
  assert.equal(wait(5, 1), 16 * 60_000)
  assert.equal(wait(11, 1), 1024 * 60_000)
  for (const failures of [12, 40, 100_000]) {
    assert.equal(wait(failures, 1), dayMs)
    assert.equal(wait(failures, 0), dayMs / 2)
  }
})

test('a provider that throttles is not called before the wait that it demands', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 200_000 }),
      random,
      (failures, retryAfterSeconds, value) => {
        const timing = { now, random: () => value }
        const due = dueAfterFailure(timing, { failures, retryAfterSeconds })
        assert.ok(due >= now + retryAfterSeconds * 1000)
      },
    ),
  )
})

test('the schedule reads rows no more often than the provider’s facts allow; everybody else always does', () => {
  const known = { rowsReadAt: now - 23 * hourMs, ledgerFrom: now - 90 * dayMs }
  const daily = { now, scheduledReadHours: 24 }
  assert.equal(isReadingRows({ ...known, reason: 'schedule' }, daily), false)
  for (const reason of ['operator', 'provider', 'linked'] as const) {
    assert.equal(isReadingRows({ ...known, reason }, daily), true)
  }
  const longAgo = { ...known, rowsReadAt: now - 24 * hourMs }
  assert.equal(isReadingRows({ ...longAgo, reason: 'schedule' }, daily), true)
  const unlimited = { now, scheduledReadHours: null }
  assert.equal(isReadingRows({ ...known, reason: 'schedule' }, unlimited), true)
  const never = { ...known, rowsReadAt: null }
  assert.equal(isReadingRows({ ...never, reason: 'schedule' }, daily), true)
})

test('after a clock that was ahead is corrected, the schedule does not wait for the time that it showed', () => {
  const known = { ledgerFrom: now - 90 * dayMs, reason: 'schedule' } as const
  const rules = { now, scheduledReadHours: 24 }
  assert.equal(isReadingRows({ ...known, rowsReadAt: now + 100 * dayMs }, rules), true)
  // Another process may be ahead by seconds.
  assert.equal(isReadingRows({ ...known, rowsReadAt: now + 5000 }, rules), false)
})

test('R34b: the first run after a ledger began reads rows, however short ago they were read', () => {
  const known = { rowsReadAt: now - hourMs, ledgerFrom: null, reason: 'schedule' } as const
  assert.equal(isReadingRows(known, { now, scheduledReadHours: 24 }), true)
})

test('activities of SnapTrade are read by schedule at most once a day, rows of banks at every run', () => {
  const hours = providerNames.map((name) => [name, factsOf(name).scheduledReadHours])
  assert.equal(Object.fromEntries(hours).snaptrade, 24)
  assert.equal(Object.fromEntries(hours).fiskil, null)
  assert.equal(Object.fromEntries(hours).akahu, null)
})

test('R34a: the first sync looks back 90 days', () => {
  const from = lookBackFrom(now, { rowsReadAt: null, ledgerFrom: null })
  assert.equal(from, now - 90 * dayMs)
  // Reads before the ledger began (reading R34b) do not count.
  const again = lookBackFrom(now, { rowsReadAt: now - 300 * dayMs, ledgerFrom: null })
  assert.equal(again, now - 90 * dayMs)
})

test('R34a: a later sync looks back 90 days, after a long pause to 14 days before the last read', () => {
  const ledgerFrom = now - 1000 * dayMs
  assert.equal(lookBackFrom(now, { rowsReadAt: now - dayMs, ledgerFrom }), now - 90 * dayMs)
  assert.equal(lookBackFrom(now, { rowsReadAt: now - 200 * dayMs, ledgerFrom }), now - 214 * dayMs)
})

test('R34a: where windows cost calls, later syncs look back fewer days, and after a pause as far as others', () => {
  const ledgerFrom = now - 1000 * dayMs
  const days = simplefinFacts.laterLookBackDays
  assert.equal(lookBackFrom(now, { rowsReadAt: null, ledgerFrom: null }, days), now - 90 * dayMs)
  assert.equal(lookBackFrom(now, { rowsReadAt: now - dayMs, ledgerFrom }, days), now - 43 * dayMs)
  const paused = lookBackFrom(now, { rowsReadAt: now - 60 * dayMs, ledgerFrom }, days)
  assert.equal(paused, now - 74 * dayMs)
})

test('R34a: nothing is read that the ledger does not know, and nothing beyond seven years', () => {
  const ledgerFrom = now - 100 * dayMs
  assert.equal(lookBackFrom(now, { rowsReadAt: now - 200 * dayMs, ledgerFrom }), ledgerFrom)
  const ages = { rowsReadAt: now - 5000 * dayMs, ledgerFrom: now - 6000 * dayMs }
  assert.equal(lookBackFrom(now, ages), Date.parse('2019-11-21T02:00:00Z'))
})
