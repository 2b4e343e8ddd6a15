import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '#contract/errors.ts'
import { addDays, getZone, parseInstant, toMicros } from '#kernel/time.ts'
import { readDateWindow } from './date-window.ts'

const now = Date.parse('2026-11-21T02:00:00Z')
const sydney = getZone('Australia/Sydney')
const transactions = { zone: sydney, now, defaultDays: 30, maxYears: 7 }
const trades = { zone: sydney, now, defaultDays: null, maxYears: null }
const instant = (text: string) => {
  const micros = parseInstant(text)
  assert(micros !== null)
  return micros
}
const refusal = (entry: string, details?: readonly string[]) => (error: unknown) => {
  assert(error instanceof ApiError)
  assert.equal(error.entry, entry)
  if (details !== undefined)
    assert.deepEqual(
      error.details?.map((line) => line.split(':')[0]),
      details,
    )
  return true
}

test('R14: a plain day is its first and its last instant in the zone of the user', () => {
  const window = readDateWindow({ from: '2026-10-04', to: '2026-10-04' }, transactions)
  assert.equal(window.from, instant('2026-10-03T14:00:00Z'))
  // Daylight saving began that night in Sydney, so the day has 23 hours.
  assert.equal(window.to, instant('2026-10-04T12:59:59.999999Z'))
})

test('R14: a blank where the plus of an offset should stand is read as a plus', () => {
  const window = readDateWindow({ from: '2026-11-01T00:00:00 11:00' }, transactions)
  assert.equal(window.from, instant('2026-10-31T13:00:00Z'))
})

test('R14: a missing from is the first instant of the day thirty days before today, or before the day of an earlier to', () => {
  assert.deepEqual(readDateWindow({}, transactions), {
    from: instant('2026-10-21T13:00:00Z'),
    to: instant('2026-11-21T02:00:00Z'),
    isOpen: true,
  })
  // 11:00 on March 1 in Sydney.
  const earlier = readDateWindow({ to: '2026-03-01T00:00:00Z' }, transactions)
  assert.deepEqual(earlier, {
    from: instant('2026-01-29T13:00:00Z'),
    to: instant('2026-03-01T00:00:00Z'),
  })
  assert.deepEqual(
    readDateWindow({ to: '2026-03-01' }, transactions).from,
    instant('2026-01-29T13:00:00Z'),
  )
  const later = readDateWindow({ to: '2027-03-01' }, transactions)
  assert.equal(later.from, instant('2026-10-21T13:00:00Z'))
})

test('R14: the first day of a missing from is whole in every zone, across changes of the clocks', () => {
  const zones = [
    'Pacific/Kiritimati',
    'Pacific/Auckland',
    'Australia/Sydney',
    'UTC',
    'America/Santiago',
    'Pacific/Pago_Pago',
  ]
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.integer({ min: 0, max: 2 * 365 * 48 }),
      fc.option(fc.integer({ min: -100, max: 5 })),
      (name, half, days) => {
        const zone = getZone(name)
        const present = Date.parse('2025-01-01T00:00:00Z') + half * 1_800_000
        const today = zone.dayOf(toMicros(present))
        const to = days === null ? undefined : addDays(today, days)
        const last = to === undefined || to > today ? today : to
        const window = readDateWindow({ to }, { ...transactions, zone, now: present })
        assert.equal(window.from, zone.startOfDay(addDays(last, -30)))
        assert.equal(window.isOpen === true, to === undefined)
      },
    ),
    { numRuns: 300 },
  )
})

test('R14, R15: a missing from may be the plain day exactly seven years ago, not the day before', () => {
  const to = (day: string) => readDateWindow({ to: day }, transactions).from
  assert.equal(to('2019-12-21'), sydney.startOfDay('2019-11-21'))
  assert.throws(() => to('2019-12-20'), refusal('from_too_old'))
})

test('R14: every bad date is named at once', () => {
  for (const bad of [
    '2026-02-30',
    '2026-1-1',
    '2026-01-01T00:00:00',
    '2026-01-01 10:00:00Z',
    'x',
    '2026-01-01T00:00Z',
    '2026-01-01T00:00:00+1000',
    '2026-13-01',
    '2026-01-01T24:00:00Z',
  ]) {
    assert.throws(
      () => readDateWindow({ from: bad, to: bad }, transactions),
      refusal('invalid_dates', ['from', 'to']),
      bad,
    )
  }
})

test('R14: only the bad one of two dates is named, with what it must look like', () => {
  for (const [name, dates] of [
    ['from', { from: '2026-02-30', to: '2026-11-01' }],
    ['to', { from: '2026-11-01', to: '2026-02-30' }],
  ] as const) {
    assert.throws(
      () => readDateWindow(dates, transactions),
      (error: unknown) => {
        assert(error instanceof ApiError)
        assert.equal(error.entry, 'invalid_dates')
        assert.equal(error.details?.length, 1)
        assert.match(error.details[0] ?? '', new RegExp(`^${name}: Must be YYYY-MM-DD or RFC3339 `))
        return true
      },
    )
  }
})

test('R14: a fraction may be long, but not without end', () => {
  const digits = (count: number) => `2026-11-01T00:00:00.${'1'.repeat(count)}Z`
  assert.equal(digits(43).length, 64)
  assert.equal(
    readDateWindow({ from: digits(43) }, transactions).from,
    instant('2026-11-01T00:00:00.111111Z'),
  )
  assert.throws(
    () => readDateWindow({ from: digits(44) }, transactions),
    refusal('invalid_dates', ['from']),
  )
})

test('R15: from and to may be the same instant', () => {
  const at = '2026-11-01T00:00:00Z'
  assert.deepEqual(readDateWindow({ from: at, to: at }, trades), {
    from: instant(at),
    to: instant(at),
  })
})

test('R15: from after to is refused, and a missing to counts as now', () => {
  assert.throws(
    () => readDateWindow({ from: '2026-11-02', to: '2026-11-01' }, trades),
    refusal('invalid_date_range'),
  )
  assert.throws(
    () => readDateWindow({ from: '2026-11-22' }, transactions),
    refusal('invalid_date_range'),
  )
  assert.throws(() => readDateWindow({ from: '2026-11-22' }, trades), refusal('invalid_date_range'))
  readDateWindow({ from: '2026-11-21', to: '2026-11-21' }, transactions)
})

test('R15: more than seven calendar years back is too old, the plain day exactly seven years ago is not', () => {
  readDateWindow({ from: '2019-11-21' }, transactions)
  assert.throws(() => readDateWindow({ from: '2019-11-20' }, transactions), refusal('from_too_old'))
  assert.throws(
    () => readDateWindow({ from: '2019-11-21T01:59:59Z' }, transactions),
    refusal('from_too_old'),
  )
  readDateWindow({ from: '2019-11-21T02:00:00Z' }, transactions)
  readDateWindow({ from: '1990-01-01' }, trades)
})

test('trades without dates have no bounds: the provider decides', () => {
  assert.deepEqual(readDateWindow({}, trades), { from: null, to: null })
  assert.equal(readDateWindow({ from: '2026-01-01' }, trades).to, null)
  const to = '2026-11-01T00:00:00Z'
  assert.deepEqual(readDateWindow({ to }, trades), { from: null, to: instant(to) })
})

test('any text is either a window or a clear refusal', () => {
  const zones = ['Australia/Sydney', 'Pacific/Auckland', 'UTC', 'America/St_Johns'].map(getZone)
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.oneof(
        fc.string(),
        fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      ),
      fc.option(fc.string(), { nil: undefined }),
      (zone, from, to) => {
        try {
          const window = readDateWindow({ from, to }, { ...transactions, zone })
          assert((window.from ?? 0) <= (window.to ?? toMicros(now)))
        } catch (error) {
          assert(error instanceof ApiError)
          assert.equal(error.status, 400)
        }
      },
    ),
  )
})
