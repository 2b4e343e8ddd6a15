/**
 * Checks instants against a pattern and Temporal, and days against Intl across every daylight saving change.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addDays, getZone, parseInstant, toMicros } from './time.ts'

const grammar =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):?(\d{2}))$/

/** The slow reference: the grammar as a pattern, the calendar from Temporal. */
function slowInstant(text: string): number | null {
  const match = grammar.exec(text)
  if (match === null) return null
  const [
    ,
    year,
    month,
    day,
    hour,
    minute,
    second,
    fraction = '',
    sign,
    hours = '0',
    minutes = '0',
  ] = match
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(second) > 60) return null
  try {
    const fields = { year: Number(year), month: Number(month), day: Number(day) }
    const date = Temporal.PlainDate.from(fields, { overflow: 'reject' })
    const time = Temporal.PlainTime.from(
      { hour: Number(hour), minute: Number(minute) },
      { overflow: 'reject' },
    )
    const ms = date.toZonedDateTime({ timeZone: 'UTC', plainTime: time }).epochMilliseconds
    const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -60_000 : 60_000)
    const micros = Number(fraction.slice(0, 6).padEnd(6, '0'))
    return (ms + Number(second) * 1000 - offset) * 1000 + micros
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

const digits = (count: number, max: number) =>
  fc.integer({ min: 0, max }).map((value) => String(value).padStart(count, '0'))

const wellFormed = fc
  .tuple(
    fc.oneof(
      digits(4, 9999),
      digits(4, 40).map((text) => `20${text.slice(2)}`),
    ),
    digits(2, 14),
    digits(2, 33),
    fc.constantFrom('T', 't', ' '),
    digits(2, 25),
    digits(2, 61),
    digits(2, 62),
    fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,12}$/)),
    fc.oneof(fc.constantFrom('Z', 'z'), fc.stringMatching(/^[+-][0-2]\d:?[0-6]\d$/)),
  )
  .map(([year, month, day, divider, hour, minute, second, fraction, zone]) => {
    return `${year}-${month}-${day}${divider}${hour}:${minute}:${second}${fraction}${zone}`
  })

/** One character changed, added or removed. */
const damaged = fc
  .tuple(
    wellFormed,
    fc.nat(34),
    fc.constantFrom('', '0', '9', ':', '.', '-', '+', 'Z', 'T', ' ', '/', '٣', 'x'),
  )
  .chain(([text, at, by]) =>
    fc.constantFrom(
      text.slice(0, at) + by + text.slice(at),
      text.slice(0, at) + by + text.slice(at + 1),
    ),
  )

test('R14: any text is the instant that the pattern and Temporal say, or none as they say', () => {
  fc.assert(
    fc.property(fc.oneof(wellFormed, damaged), (text) => {
      assert.equal(parseInstant(text), slowInstant(text), text)
    }),
    { numRuns: 20_000 },
  )
})

test('R14: what Temporal writes is read back to the microsecond', () => {
  const range = { min: -62_167_219_200_000_000n, max: 9_007_199_254_740_991n }
  fc.assert(
    fc.property(fc.bigInt(range), (micros) => {
      const instant = Temporal.Instant.fromEpochNanoseconds(micros * 1000n)
      assert.equal(parseInstant(instant.toString()), Number(micros))
    }),
    { numRuns: 2000 },
  )
})

const zoneIds = [
  'Australia/Sydney',
  'Pacific/Auckland',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'America/Sao_Paulo',
  'Pacific/Apia',
  'Asia/Kolkata',
  'UTC',
]

function makeIntlDay(id: string): (ms: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: id,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  return (ms) => format.format(ms)
}

for (const id of zoneIds) {
  test(`R16a: in ${id} the day of an instant is the local day, for any order of calls`, () => {
    const zone = getZone(id)
    const onTheWall = makeIntlDay(id)
    const anyMs = fc.integer({ min: Date.UTC(1995, 0, 1), max: Date.UTC(2045, 0, 1) })
    fc.assert(
      fc.property(anyMs, (ms) => assert.equal(zone.dayOf(toMicros(ms)), onTheWall(ms))),
      { numRuns: 500 },
    )
  })

  test(`R16a: in ${id} days meet without gap or overlap, every day of six years`, () => {
    const zone = getZone(id)
    const onTheWall = makeIntlDay(id)
    let day = '2022-01-01'
    for (let count = 0; count < 6 * 365; count += 1) {
      const next = addDays(day, 1)
      assert.equal(zone.endOfDay(day) + 1, zone.startOfDay(next))
      assert.equal(onTheWall(zone.startOfDay(day) / 1000), day)
      assert.equal(onTheWall(zone.startOfDay(next) / 1000 - 1), day)
      assert.equal(zone.dayOf(zone.endOfDay(day)), day)
      day = next
    }
  })
}
