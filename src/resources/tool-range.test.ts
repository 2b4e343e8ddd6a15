import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '#contract/errors.ts'
import { getZone } from '#kernel/time.ts'
import { type DateParameters, readDateWindow } from './date-window.ts'
import { readFormerRange, readToolRange } from './tool-range.ts'

const sydney = getZone('Australia/Sydney')
/** 13:00 of 2026-11-21 in Sydney. */
const now = Date.parse('2026-11-21T02:00:00Z')
const read = (given: DateParameters, zone = sydney, at = now) =>
  readToolRange(given, { maxDays: 366, zone, now: at })
const range = (from?: string, to?: string) => read({ from, to })

function refusal(from: string, to: string): readonly string[] | null {
  try {
    range(from, to)
  } catch (error) {
    assert(error instanceof ApiError)
    assert.equal(error.entry, 'invalid_params')
    return error.details
  }
  return null
}

test('R30: with neither bound the last 366 days are asked for, as a day, so that the question stays the same', () => {
  assert.deepEqual(range(), { from: '2025-11-20' })
  const tonight = now + 10 * 3_600_000
  assert.deepEqual(read({}, sydney, tonight), { from: '2025-11-20' })
})

test('R30: the day is that of the user’s zone', () => {
  const late = Date.parse('2026-11-20T14:00:00Z')
  assert.deepEqual(read({}, sydney, late), { from: '2025-11-20' })
  assert.deepEqual(read({}, getZone('America/New_York'), late), { from: '2025-11-19' })
})

test('R30: from alone reaches 366 days, or until now when that is nearer', () => {
  assert.deepEqual(range('2024-01-01'), { from: '2024-01-01', to: '2025-01-01' })
  assert.deepEqual(range('2026-01-01'), { from: '2026-01-01' })
  assert.deepEqual(range('2025-11-19'), { from: '2025-11-19', to: '2026-11-20' })
  // Today has not ended, so now is nearer than its end.
  assert.deepEqual(range('2025-11-20'), { from: '2025-11-20' })
  assert.deepEqual(range('2025-11-21'), { from: '2025-11-21' })
  assert.deepEqual(range('2024-06-01T00:00:00Z'), {
    from: '2024-06-01T00:00:00Z',
    to: '2025-06-02T00:00:00.000Z',
  })
})

test('R30: to alone begins 366 days before it, also when it lies ahead', () => {
  assert.deepEqual(range(undefined, '2025-01-01'), { from: '2024-01-01', to: '2025-01-01' })
  assert.deepEqual(range(undefined, '2026-12-31'), { from: '2025-12-30', to: '2026-12-31' })
  assert.deepEqual(range(undefined, '2025-06-02T10:00:00+10:00'), {
    from: '2024-06-01T00:00:00.000Z',
    to: '2025-06-02T10:00:00+10:00',
  })
})

test('R30: 366 days between both bounds are allowed, one more is an error that says so', () => {
  assert.deepEqual(range('2025-01-01', '2026-01-02'), { from: '2025-01-01', to: '2026-01-02' })
  assert.deepEqual(refusal('2025-01-01', '2026-01-03'), [
    'to: must be at most 366 days after from; ask year by year',
  ])
  assert.equal(refusal('2025-01-01T00:00:00Z', '2026-01-02T00:00:00Z'), null)
  assert.notEqual(refusal('2025-01-01T00:00:00Z', '2026-01-02T00:00:01Z'), null)
  assert.equal(refusal('2025-01-01', '2026-01-01T13:00:00Z'), null, 'midnight in Sydney')
  assert.notEqual(refusal('2025-01-01', '2026-01-01T13:00:01Z'), null)
})

test('R30: a daylight saving change in between adds and removes no day', () => {
  assert.equal(refusal('2025-09-01', '2026-09-02'), null)
  assert.equal(refusal('2025-09-01T00:00:00+10:00', '2026-09-02T00:00:00+10:00'), null)
})

test('invalid dates and a reversed range are left for the resource to refuse', () => {
  assert.deepEqual(range('yesterday', '2026-01-01'), { from: 'yesterday', to: '2026-01-01' })
  assert.deepEqual(range('yesterday'), { from: 'yesterday' })
  assert.deepEqual(range(undefined, '2026-02-30'), { to: '2026-02-30' })
  assert.deepEqual(range('2026-05-01', '2026-04-01'), { from: '2026-05-01', to: '2026-04-01' })
})

test('dates at the ends of the calendar cause no error', () => {
  assert.deepEqual(range('9999-12-31'), { from: '9999-12-31' })
  assert.equal(range('0000-01-01', '0000-06-01').from, '0000-01-01')
  assert.equal(range(undefined, '9999-12-31T23:59:59Z').from, '9998-12-30T23:59:59.000Z')
})

test('to alone near the year 0000 begins where the calendar does: a bound that was not given is never bad', () => {
  assert.deepEqual(range(undefined, '0000-01-01'), { from: '0000-01-01', to: '0000-01-01' })
  assert.deepEqual(range(undefined, '0001-01-01'), { from: '0000-01-01', to: '0001-01-01' })
  assert.deepEqual(range(undefined, '0001-01-02'), { from: '0000-01-02', to: '0001-01-02' })
  const rules = { zone: sydney, now, defaultDays: null, maxYears: null }
  for (const to of [
    '0000-01-01',
    '0000-06-01T00:00:00Z',
    '0000-01-01T00:00:00+14:00',
    '0000-01-01T00:00:00+23:59',
  ]) {
    const window = readDateWindow(range(undefined, to), rules)
    assert.ok(window.from !== null && window.to !== null && window.from <= window.to, to)
  }
})

test('R30: for some hours a range is known as it was filled in before midnight', () => {
  const hour = 3_600_000
  /** 22 November 2026 in Sydney begins. */
  const midnight = Date.parse('2026-11-21T13:00:00Z')
  const at = (ms: number, given: DateParameters) =>
    readFormerRange(given, { maxDays: 366, zone: sydney, now: midnight + ms })
  assert.deepEqual(at(0, {}), { from: '2025-11-20' })
  assert.deepEqual(at(5 * hour, {}), { from: '2025-11-20' })
  assert.equal(at(6 * hour, {}), undefined)
  assert.equal(at(-1, {}), undefined)
  // The last day of such a `from` was today, so that there was no `to`.
  for (const from of ['2025-11-20', '2025-11-20T13:00:00Z']) {
    assert.deepEqual(at(1, { from }), { from })
    assert.equal(at(-1, { from }), undefined)
    assert.equal(at(6 * hour + 1, { from }), undefined)
  }
  for (const given of ['2025-11-21', 'x']) assert.equal(at(hour, { from: given }), undefined)
})

test('R30: dates that were given are never those of a walk before midnight', () => {
  const midnight = Date.parse('2026-11-21T13:00:00Z')
  for (const given of [
    { from: '2025-11-21' },
    { from: '2025-11-20', to: '2026-11-21' },
    { to: '2026-11-21' },
  ]) {
    const rules = { maxDays: 366, zone: sydney, now: midnight + 1 }
    assert.equal(readFormerRange(given, rules), undefined, JSON.stringify(given))
  }
})
