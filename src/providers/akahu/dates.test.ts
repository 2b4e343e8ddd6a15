/**
 * Checks the date rule (reading R16a) by examples on both sides of daylight saving, and by properties in
 * several zones. `tests/adapters/akahu` tests which rows a read returns.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addDays, getZone, toIso, toMicros } from '#kernel/time.ts'
import { makeDateReader } from './dates.ts'

const sydney = getZone('Australia/Sydney')
const auckland = getZone('Pacific/Auckland')
const zones = [sydney, auckland, getZone('America/New_York'), getZone('Pacific/Kiritimati')]

const bounded = { from: null, to: null }

function read(text: string, zone = sydney) {
  const date = makeDateReader({ zone, window: bounded })(text)
  assert.ok(date !== null, text)
  return date
}

const table: [text: string, inSydney: string, why: string][] = [
  ['2022-12-08T11:00:00.000Z', '2022-12-09', 'midnight in summer time (+13)'],
  ['2022-07-08T12:00:00.000Z', '2022-07-09', 'midnight in standard time (+12)'],
  ['2026-09-26T12:00:00.000Z', '2026-09-27', 'midnight of the day on which summer time begins'],
  ['2026-09-27T11:00:00.000Z', '2026-09-28', 'midnight of the day after'],
  ['2026-04-04T11:00:00.000Z', '2026-04-05', 'midnight of the day on which summer time ends'],
  ['2026-04-05T12:00:00.000Z', '2026-04-06', 'midnight of the day after'],
  ['2022-07-08T11:00:00.000Z', '2022-07-08', '23:00 in standard time is an instant'],
  ['2022-12-08T12:00:00.000Z', '2022-12-08', '01:00 in summer time is an instant'],
  ['2022-12-08T11:00:00.001Z', '2022-12-08', 'a millisecond past midnight is an instant'],
  ['2022-12-08T00:00:00.000Z', '2022-12-08', 'midnight UTC is an instant'],
  ['2022-12-08T14:30:00.000Z', '2022-12-09', 'an instant after midnight in Sydney'],
]
for (const [text, day, why] of table) {
  test(`R16a: ${text} is shown as ${day} in Sydney (${why})`, () => {
    assert.equal(read(text).day, day)
  })
}

test('R16a: every New Zealand midnight means its day in every zone and counts at its first instant there', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 29_000 }), fc.constantFrom(...zones), (number, zone) => {
      const day = addDays('1970-01-01', number)
      const midnight = toIso(auckland.startOfDay(day) / 1000)
      assert.deepEqual(read(midnight, zone), { day, time: zone.startOfDay(day) })
    }),
  )
})

test('R16a: every other stamp is an instant: seen in the zone, counted where it is', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2_500_000_000_000 }),
      fc.constantFrom(...zones),
      (ms, zone) => {
        const instant = toMicros(ms)
        fc.pre(auckland.startOfDay(auckland.dayOf(instant)) !== instant)
        assert.deepEqual(read(toIso(ms), zone), { day: zone.dayOf(instant), time: instant })
      },
    ),
  )
})

test('R16a: the day that is shown and the time that counts never disagree', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5_000_000 }), fc.constantFrom(...zones), (half, zone) => {
      const { day, time } = read(toIso(half * 1_800_000), zone)
      assert.equal(zone.dayOf(time), day)
    }),
  )
})

for (const text of [
  '',
  '2022-12-08',
  '2022-12-08T11:00',
  '2022-02-30T11:00:00Z',
  'soon',
  7,
  null,
]) {
  test(`a stamp that is ${JSON.stringify(text)} cannot be read`, () => {
    assert.equal(makeDateReader({ zone: sydney, window: bounded })(text), null)
  })
}

test('times at the ends of the calendar, whose day some zone cannot express, cannot be read', () => {
  for (const zone of zones) {
    assert.equal(makeDateReader({ zone, window: bounded })('9999-12-31T11:00:00.000Z'), null)
    assert.equal(makeDateReader({ zone, window: bounded })('0001-01-01T00:00:00.000Z'), null)
    assert.match(read('9999-12-29T23:00:00.000Z', zone).day, /^9999-12-\d\d$/)
  }
})

test('a reader that is asked again and again gives each stamp its own answer', () => {
  const reader = makeDateReader({ zone: sydney, window: bounded })
  const texts = ['2022-12-08T11:00:00.000Z', 'soon', 'soon', '2022-12-08T11:00:00.001Z']
  assert.deepEqual(
    [...texts, ...texts].map((text) => reader(text)?.day ?? null),
    [...Array(2)].flatMap(() => ['2022-12-09', null, null, '2022-12-08']),
  )
  assert.equal(makeDateReader({ zone: sydney, window: bounded })(''), null)
})
