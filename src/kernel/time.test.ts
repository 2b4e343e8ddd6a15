/**
 * Checks days and instants by examples, including oddities of the calendar and of time zones (readings R14,
 * R16a).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addDays,
  addMicros,
  getZone,
  isZone,
  parseDay,
  parseInstant,
  systemClock,
  toIso,
  toMicros,
} from './time.ts'

const micros = (iso: string) => toMicros(Date.parse(iso))

const instants: readonly [string, number][] = [
  ['2026-10-21T03:04:05Z', micros('2026-10-21T03:04:05Z')],
  ['2026-10-21t03:04:05z', micros('2026-10-21T03:04:05Z')],
  ['2026-10-21 03:04:05Z', micros('2026-10-21T03:04:05Z')],
  ['2026-10-21T03:04:05.1Z', micros('2026-10-21T03:04:05.100Z')],
  ['2026-10-21T03:04:05.123456Z', micros('2026-10-21T03:04:05.123Z') + 456],
  ['2026-10-21T03:04:05.123456999Z', micros('2026-10-21T03:04:05.123Z') + 456],
  ['2026-10-21T03:04:05+11:00', micros('2026-10-20T16:04:05Z')],
  ['2026-10-21T03:04:05.5-0330', micros('2026-10-21T06:34:05.500Z')],
  ['2026-10-21T03:04:05-00:00', micros('2026-10-21T03:04:05Z')],
  ['2016-12-31T23:59:60Z', micros('2017-01-01T00:00:00Z')],
  ['2024-02-29T00:00:00Z', micros('2024-02-29T00:00:00Z')],
  ['1969-12-31T23:59:59.999999Z', -1],
  ['0000-01-01T00:00:00Z', micros('0000-01-01T00:00:00Z')],
  ['9999-12-31T23:59:59Z', micros('9999-12-31T23:59:59Z')],
]

for (const [text, wanted] of instants) {
  test(`R14: ${text} is an instant`, () => assert.equal(parseInstant(text), wanted))
}

const noInstants = [
  '',
  '2026-10-21',
  '2026-10-21T03:04:05',
  '2026-10-21T03:04Z',
  '2026-10-21T03:04:05.Z',
  '2026-10-21T03:04:05 Z',
  '2026-10-21T03:04:05Z ',
  '2026-10-21T03:04:05+11',
  '2026-10-21T03:04:05+11:0',
  '2026-10-21T03:04:05+24:00',
  '2026-10-21T03:04:05+10:60',
  '2026-10-21T24:00:00Z',
  '2026-10-21T03:60:00Z',
  '2026-10-21T03:04:61Z',
  '2026-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-00-01T00:00:00Z',
  '2026-10-00T00:00:00Z',
  '1900-02-29T00:00:00Z',
  '+002026-10-21T03:04:05Z',
  '2026/10/21T03:04:05Z',
  '2026-10-21_03:04:05Z',
  '２026-10-21T03:04:05Z',
  '2026-10-21T03:04:05Z\n',
]

for (const text of noInstants) {
  test(`R14: ${JSON.stringify(text)} is not an instant`, () =>
    assert.equal(parseInstant(text), null))
}

test('R14: only real calendar days are days', () => {
  for (const day of ['2026-02-28', '2024-02-29', '2000-02-29', '2026-12-31', '0001-01-01']) {
    assert.equal(parseDay(day), day)
  }
  const unreal = [
    '2026-02-30',
    '2026-02-29',
    '1900-02-29',
    '2026-04-31',
    '2026-13-01',
    '2026-00-10',
  ]
  for (const day of [
    ...unreal,
    'x2026-01-01',
    '12026-01-01',
    '2026-1-01',
    '2026-01-01 ',
    '20260101',
    '2026-01-32',
    '',
  ]) {
    assert.equal(parseDay(day), null, day)
  }
})

/** Zone, day, its first instant, its length in hours. */
const oddDays: readonly [string, string, string, number][] = [
  ['Australia/Sydney', '2026-10-04', '2026-10-03T14:00:00Z', 23],
  ['Australia/Sydney', '2026-04-05', '2026-04-04T13:00:00Z', 25],
  ['Australia/Sydney', '2026-07-01', '2026-06-30T14:00:00Z', 24],
  ['Pacific/Auckland', '2026-09-27', '2026-09-26T12:00:00Z', 23],
  ['Pacific/Auckland', '2026-04-05', '2026-04-04T11:00:00Z', 25],
  ['Australia/Lord_Howe', '2026-10-04', '2026-10-03T13:30:00Z', 23.5],
  ['Australia/Lord_Howe', '2026-04-05', '2026-04-04T13:00:00Z', 24.5],
  ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00Z', 23],
  ['UTC', '2026-02-28', '2026-02-28T00:00:00Z', 24],
]

for (const [id, day, first, hours] of oddDays) {
  test(`R16a: ${day} in ${id} begins at ${first} and lasts ${hours} hours`, () => {
    const zone = getZone(id)
    assert.equal(zone.startOfDay(day), micros(first))
    assert.equal(zone.endOfDay(day) + 1, micros(first) + hours * 3600 * 1_000_000)
    assert.equal(zone.dayOf(zone.startOfDay(day)), day)
    assert.equal(zone.dayOf(addMicros(zone.startOfDay(day), -1)), addDays(day, -1))
    assert.equal(zone.dayOf(zone.endOfDay(day)), day)
    assert.equal(zone.dayOf(addMicros(zone.endOfDay(day), 1)), addDays(day, 1))
  })
}

test('R16a: the very instant at which the clocks go back falls on the day that they go back to', () => {
  const zone = getZone('America/Sao_Paulo')
  // At 02:00 UTC midnight of the 18th became 23:00 of the 17th.
  assert.equal(zone.dayOf(micros('2018-02-18T01:59:59.999Z')), '2018-02-17')
  assert.equal(zone.dayOf(micros('2018-02-18T02:00:00Z')), '2018-02-17')
  assert.equal(zone.dayOf(micros('2018-02-18T03:00:00Z')), '2018-02-18')
  assert.equal(zone.dayOf(micros('2018-02-18T02:00:00Z')), '2018-02-17')
})

test('zones are IANA names; offsets, blanks and made-up names are none', () => {
  for (const id of ['Australia/Sydney', 'Pacific/Auckland', 'UTC', 'Etc/GMT+10'])
    assert.ok(isZone(id), id)
  const bare = ['+10:00', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00+11:00[Australia/Sydney]']
  for (const id of [...bare, '', 'Sydney', 'Australia/Sidney', 'Z ', '../etc'])
    assert.ok(!isZone(id), id)
  assert.throws(() => getZone('Australia/Sidney'), RangeError)
  assert.equal(getZone('UTC'), getZone('UTC'))
})

test('days are added in the calendar', () => {
  assert.equal(addDays('2024-02-28', 1), '2024-02-29')
  assert.equal(addDays('2026-03-01', -1), '2026-02-28')
  assert.equal(addDays('2026-12-31', 1), '2027-01-01')
})

test('our own timestamps have milliseconds and end in Z', () => {
  assert.equal(toIso(0), '1970-01-01T00:00:00.000Z')
  assert.ok(Math.abs(systemClock.now() - Date.now()) < 1000)
})
