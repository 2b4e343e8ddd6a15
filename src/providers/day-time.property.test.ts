import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addDays, addMicros, getZone, toMicros, type Zone } from '#kernel/time.ts'
import { earliestZone, timeOfDay, timeOfInstant } from './day-time.ts'

const auckland = getZone('Pacific/Auckland')
/**
 * From the zone where a day starts first to the one where it starts last, with daylight saving in both
 * hemispheres.
 */
const zones = [
  'Pacific/Kiritimati',
  'Pacific/Chatham',
  'Pacific/Auckland',
  'Australia/Sydney',
  'Europe/London',
  'America/New_York',
  'America/Santiago',
  'Pacific/Pago_Pago',
].map(getZone)

const hour = 3_600_000
/** Every half hour of two years, which includes all daylight saving changes. */
const present = fc
  .integer({ min: 0, max: 2 * 365 * 48 })
  .map((half) => toMicros(Date.parse('2025-01-01T00:00:00Z') + (half * hour) / 2))
const places = fc.constantFrom<Zone>(auckland, earliestZone)
/** Days around the current one. */
const distance = fc.integer({ min: -40, max: 3 })

test('R16a: where to is missing, a day-only row counts once its day has begun where it was written, wherever the user lives', () => {
  fc.assert(
    fc.property(present, places, fc.constantFrom(...zones), distance, (to, written, zone, days) => {
      const day = addDays(written.dayOf(to), days)
      const time = timeOfDay(day, written, { zone, window: { from: null, to, isOpen: true } })
      assert.equal(time <= to, days <= 0)
      // A time is moved only when the row would otherwise be hidden, or shown too early.
      const first = zone.startOfDay(day)
      if (first <= to && days <= 0) assert.equal(time, first)
    }),
    { numRuns: 500 },
  )
})

test('R16a: where to is given, or nothing is, a day-only row counts at the first instant of its day in the user’s zone', () => {
  fc.assert(
    fc.property(present, places, fc.constantFrom(...zones), distance, (to, written, zone, days) => {
      const day = addDays(written.dayOf(to), days)
      for (const window of [
        { from: null, to },
        { from: null, to: null },
      ]) {
        assert.equal(timeOfDay(day, written, { zone, window }), zone.startOfDay(day))
      }
    }),
  )
})

test('R16a: a plain date begins where days begin first', () => {
  for (const zone of zones) {
    assert(earliestZone.startOfDay('2026-11-22') <= zone.startOfDay('2026-11-22'), zone.id)
  }
})

test('R16a: where to is missing, midnight UTC counts once its day has begun where it was written; every other instant as it is', () => {
  fc.assert(
    fc.property(present, places, distance, fc.boolean(), (to, written, days, isMidnight) => {
      const day = addDays(written.dayOf(to), days)
      const instant = addMicros(toMicros(Date.parse(`${day}T00:00:00Z`)), isMidnight ? 0 : 1)
      const time = timeOfInstant(instant, written, { from: null, to, isOpen: true })
      if (isMidnight) assert.equal(time <= to, days <= 0)
      if (!isMidnight || instant <= to) assert.equal(time, instant)
      for (const window of [
        { from: null, to },
        { from: null, to: null },
      ]) {
        assert.equal(timeOfInstant(instant, written, window), instant)
      }
    }),
    { numRuns: 500 },
  )
})
