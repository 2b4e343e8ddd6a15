/**
 * Checks the wait that a provider asks for: both forms of the header, its bounds, and null for invalid
 * values.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import { maxRetryAfterSeconds, readRetryAfter } from './retry-after.ts'

const nowMs = Date.parse('2026-11-20T03:00:00Z')
const wait = (value: string | string[] | undefined, at = nowMs) =>
  readRetryAfter({ 'retry-after': value }, at)

const table: readonly [
  name: string,
  value: string | string[] | undefined,
  seconds: number | null,
][] = [
  ['seconds', '7', 7],
  ['seconds with leading zeros', '007', 7],
  ['seconds with blanks around', ' 7 ', 7],
  ['more than an hour', '7200', 7200],
  ['no time at all', '0', 1],
  ['a day', '86400', maxRetryAfterSeconds],
  ['more than a day', '86401', maxRetryAfterSeconds],
  ['more digits than a number has', '9'.repeat(400), maxRetryAfterSeconds],
  ['a date', 'Fri, 20 Nov 2026 03:01:30 GMT', 90],
  ['a date more than an hour away', 'Fri, 20 Nov 2026 05:00:00 GMT', 7200],
  ['a date of the past', 'Fri, 20 Nov 2020 03:01:30 GMT', 1],
  ['this very second', 'Fri, 20 Nov 2026 03:00:00 GMT', 1],
  ['a date far away', 'Fri, 20 Nov 2054 03:01:30 GMT', maxRetryAfterSeconds],
  ['a date in the form of RFC 850', 'Friday, 20-Nov-26 03:01:30 GMT', 90],
  ['one of the last century', 'Sunday, 06-Nov-94 08:49:37 GMT', 1],
  ['a date in the form of asctime', 'Fri Nov 20 03:01:30 2026', 90],
  ['the same with one digit of the day', 'Sun Nov  6 08:49:37 1994', 1],
  ['the header twice', ['9', '11'], 9],
  ['no header', undefined, null],
  ['the header without a value', [], null],
  ['an empty value', '', null],
  ['a word', 'soon', null],
  ['a negative number', '-5', null],
  ['a fraction', '1.5', null],
  ['an exponent', '1e3', null],
  ['another base', '0x10', null],
  ['two values in one', '9, 11', null],
  ['a date of ISO 8601', '2026-11-20T03:01:30Z', null],
  ['a date of another zone', 'Fri, 20 Nov 2026 03:01:30 +1100', null],
  ['half a date', 'Fri, 20', null],
  ['a month that is none', 'Fri, 20 Nev 2026 03:01:30 GMT', null],
  ['an hour that is none', 'Fri, 20 Nov 2026 25:01:30 GMT', null],
]
for (const [name, value, seconds] of table) {
  test(`Retry-After, ${name}: ${seconds ?? 'not said'}`, () => {
    assert.equal(wait(value), seconds)
  })
}

test('R20: a wait is what the provider asked for, in either form, at any time', () => {
  const moments = fc.integer({ min: 0, max: Date.parse('2090-01-01T00:00:00Z') })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: maxRetryAfterSeconds }), moments, (seconds, at) => {
      const wholeMs = at - (at % 1000)
      assert.equal(wait(String(seconds), at), seconds)
      assert.equal(wait(new Date(wholeMs + seconds * 1000).toUTCString(), wholeMs), seconds)
    }),
  )
})

test('a wait is a whole number of seconds from one to a day, or null, for any header', () => {
  const sent = fc.oneof(fc.string({ unit: anyCharacter }), fc.stringMatching(/^[\d:, A-Za-z-]*$/))
  fc.assert(
    fc.property(sent, fc.double({ noNaN: true, min: 0, max: 4e12 }), (value, at) => {
      const seconds = wait(value, at)
      if (seconds === null) return
      assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= maxRetryAfterSeconds)
    }),
  )
})
