/**
 * Days and instants (readings R14 to R16a): what `from` and `to` take in, and which day a row is shown on.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Service, startService } from '#tests/support/service.ts'
import {
  akahuRow,
  type BankUser,
  fiskilRow,
  makeBankUser,
  namesOf,
  plantAkahu,
  plantFiskil,
} from './planted.ts'

let service: Service
let sydney: BankUser
let auckland: BankUser
let angeles: BankUser
let santiago: BankUser
let nzSydney: BankUser
let nzAuckland: BankUser
let nzAngeles: BankUser
before(async () => {
  service = await startService()
  const at = { provider: 'fiskil', name: 'Bonus Saver' } as const
  sydney = await makeBankUser(service, at)
  auckland = await makeBankUser(service, { ...at, timezone: 'Pacific/Auckland' })
  angeles = await makeBankUser(service, { ...at, timezone: 'America/Los_Angeles' })
  santiago = await makeBankUser(service, { ...at, timezone: 'America/Santiago' })
  const nz = { provider: 'akahu', name: 'Rainy Day' } as const
  nzSydney = await makeBankUser(service, nz)
  nzAuckland = await makeBankUser(service, { ...nz, timezone: 'Pacific/Auckland' })
  nzAngeles = await makeBankUser(service, { ...nz, timezone: 'America/Los_Angeles' })
})
after(() => service.close())

/** Plants rows named after their instants, newest first. */
function plant(instants: readonly string[]): void {
  const sorted = instants.toSorted((left, right) => Date.parse(right) - Date.parse(left))
  plantFiskil(
    service,
    'Bonus Saver',
    sorted.map((at) => fiskilRow(at, at)),
  )
  // Walks and answers of the rows before are not wanted any more.
  service.clock.advance(1_800_000)
}

async function assertDay(of: BankUser, day: string, instants: readonly string[]): Promise<void> {
  const answer = await of.ask(`&from=${day}&to=${day}`)
  assert.equal(answer.status, 200)
  assert.deepEqual(namesOf(answer), instants)
  for (const row of answer.body.data) assert.equal(row.date, day)
}

test('R16a: in Sydney the day of both clock changes has 25 and 23 hours', async () => {
  plant([
    '2026-04-04T12:59:59Z',
    '2026-04-04T13:00:00Z',
    '2026-04-05T13:59:59Z',
    '2026-04-05T14:00:00Z',
    '2026-10-03T13:59:59Z',
    '2026-10-03T14:00:00Z',
    '2026-10-04T12:59:59Z',
    '2026-10-04T13:00:00Z',
  ])
  await assertDay(sydney, '2026-04-04', ['2026-04-04T12:59:59Z'])
  await assertDay(sydney, '2026-04-05', ['2026-04-05T13:59:59Z', '2026-04-04T13:00:00Z'])
  await assertDay(sydney, '2026-04-06', ['2026-04-05T14:00:00Z'])
  await assertDay(sydney, '2026-10-03', ['2026-10-03T13:59:59Z'])
  await assertDay(sydney, '2026-10-04', ['2026-10-04T12:59:59Z', '2026-10-03T14:00:00Z'])
  await assertDay(sydney, '2026-10-05', ['2026-10-04T13:00:00Z'])
})

test('R16a: in Auckland the clocks change on other days and hours', async () => {
  plant([
    '2026-04-04T10:59:59Z',
    '2026-04-04T11:00:00Z',
    '2026-04-05T11:59:59Z',
    '2026-04-05T12:00:00Z',
    '2026-09-26T11:59:59Z',
    '2026-09-26T12:00:00Z',
    '2026-09-27T10:59:59Z',
    '2026-09-27T11:00:00Z',
  ])
  await assertDay(auckland, '2026-04-04', ['2026-04-04T10:59:59Z'])
  await assertDay(auckland, '2026-04-05', ['2026-04-05T11:59:59Z', '2026-04-04T11:00:00Z'])
  await assertDay(auckland, '2026-04-06', ['2026-04-05T12:00:00Z'])
  await assertDay(auckland, '2026-09-26', ['2026-09-26T11:59:59Z'])
  await assertDay(auckland, '2026-09-27', ['2026-09-27T10:59:59Z', '2026-09-26T12:00:00Z'])
  await assertDay(auckland, '2026-09-28', ['2026-09-27T11:00:00Z'])
})

test('R14: a day begins at its first instant, also where the clocks skip midnight', async () => {
  plant(['2026-09-06T03:59:59Z', '2026-09-06T04:00:00Z'])
  await assertDay(santiago, '2026-09-05', ['2026-09-06T03:59:59Z'])
  await assertDay(santiago, '2026-09-06', ['2026-09-06T04:00:00Z'])
})

test('R16a: a row with an offset of its own is seen in the zone of the user', async () => {
  const late = '2026-11-10T23:30:00-08:00'
  const early = '2026-11-10T00:30:00+14:00'
  plant([late, early])
  await assertDay(sydney, '2026-11-11', [late])
  await assertDay(sydney, '2026-11-10', [])
  await assertDay(sydney, '2026-11-09', [early])
  await assertDay(angeles, '2026-11-10', [late])
  await assertDay(angeles, '2026-11-09', [early])
  const { body } = await sydney.ask('&from=2026-11-05')
  const stamps = body.data.map((row: { datetime: string }) => row.datetime)
  assert.deepEqual(stamps, [late, early], 'datetime is as the provider wrote it')
})

test('R14: instants are inclusive on both sides, to the microsecond', async () => {
  plant(['2026-11-10T01:02:03.123456Z'])
  const ask = async (from: string, to: string) =>
    namesOf(await sydney.ask(`&from=${from}&to=${to}`)).length
  assert.equal(await ask('2026-11-10T01:02:03.123456Z', '2026-11-10T01:02:03.123456Z'), 1)
  assert.equal(await ask('2026-11-10T12:02:03.123456%2B11:00', '2026-11-11'), 1)
  assert.equal(await ask('2026-11-10T12:02:03.123456+11:00', '2026-11-11'), 1)
  assert.equal(await ask('2026-11-10T01:02:03.123457Z', '2026-11-11'), 0)
  assert.equal(await ask('2026-11-09', '2026-11-10T01:02:03.123455Z'), 0)
})

test('R14: a missing from is the whole day 30 days before today, or before the day of an earlier to', async () => {
  const today = Temporal.Instant.fromEpochMilliseconds(service.clock.now())
    .toZonedDateTimeISO('Australia/Sydney')
    .startOfDay()
  const at = (days: number, milliseconds = 0) =>
    today.subtract({ days }).add({ milliseconds }).toInstant().toString()
  const dayOf = (days: number) => today.subtract({ days }).toPlainDate().toString()
  const rows = [at(0), at(30), at(30, -1), at(37), at(37, -1)]
  plant(rows)
  const [newest, first, before, earlier] = rows
  assert.deepEqual(namesOf(await sydney.ask()), [newest, first])
  assert.deepEqual(namesOf(await sydney.ask('&to=2027-06-01')), [newest, first])
  assert.deepEqual(namesOf(await sydney.ask(`&to=${dayOf(7)}`)), [first, before, earlier])
  assert.deepEqual(namesOf(await sydney.ask(`&to=${at(7, 1)}`)), [first, before, earlier])
  assert.equal(namesOf(await sydney.ask(`&from=${dayOf(60)}`)).length, rows.length)
})

test('R14: every real day and every legal form is read, to the ends of the calendar', async () => {
  plant(['2026-11-10T00:00:00Z'])
  const good = [
    'from=2024-02-29',
    'from=2026-11-01t00:00:00z',
    'from=2026-11-01T00:00:00.123456789Z',
    'from=2026-11-01T00:00:00-03:30',
    'from=2026-11-01T00:00:00%2B14:00',
    'from=2026-11-01T23:59:60Z',
    'from=2026-11-01&to=9999-12-31',
    'from=2026-11-01&to=9999-12-31T23:59:59-23:59',
    'from=2026-11-21&to=2026-11-21',
  ]
  for (const query of good) {
    const answer = await sydney.ask(`&${query}`)
    assert.equal(answer.status, 200, `${query} ${answer.text}`)
  }
})

const midnights = [
  ['2026-04-05', '2026-04-04T11:00:00.000Z'],
  ['2026-04-06', '2026-04-05T12:00:00.000Z'],
  ['2026-09-27', '2026-09-26T12:00:00.000Z'],
  ['2026-09-28', '2026-09-27T11:00:00.000Z'],
  ['2026-11-03', '2026-11-02T11:00:00.000Z'],
] as const

test('R16a: a day-only row of a New Zealand bank is that day for everybody, clock changes included', async () => {
  const rows = midnights.map(([day, stamp]) => akahuRow(day, stamp))
  plantAkahu(service, 'Rainy Day', rows)
  for (const reader of [nzSydney, nzAuckland, nzAngeles]) {
    for (const [day] of midnights) await assertDay(reader, day, [day])
    const all = await reader.ask('&from=2026-04-01')
    assert.deepEqual(namesOf(all), midnights.map(([day]) => day).toReversed())
  }
})

test('R16a: an instant bound meets a day-only row at the first instant of its day in the user’s zone', async () => {
  const firsts = [
    [nzSydney, '2026-11-02T23:59:59%2B11:00', '2026-11-03T00:00:00%2B11:00'],
    [nzAuckland, '2026-11-02T23:59:59%2B13:00', '2026-11-03T00:00:00%2B13:00'],
    [nzAngeles, '2026-11-02T23:59:59-08:00', '2026-11-03T00:00:00-08:00'],
  ] as const
  for (const [reader, justBefore, first] of firsts) {
    const to = '2026-11-20'
    assert.deepEqual(namesOf(await reader.ask(`&from=${first}&to=${to}`)), ['2026-11-03'])
    assert.deepEqual(namesOf(await reader.ask(`&from=2026-11-01&to=${first}`)), ['2026-11-03'])
    assert.deepEqual(namesOf(await reader.ask(`&from=2026-11-01&to=${justBefore}`)), [])
    const second = first.replace('00:00:00', '00:00:01')
    assert.deepEqual(namesOf(await reader.ask(`&from=${second}&to=${to}`)), [])
  }
})

test('R16a: a stamp that is no midnight in New Zealand is an instant in the user’s zone', async () => {
  // One o'clock in the morning there, since summer time has begun.
  plantAkahu(service, 'Rainy Day', [akahuRow('wallet', '2026-10-05T12:00:00.000Z')])
  service.clock.advance(1_800_000)
  const shown = async (of: BankUser) => {
    const { body } = await of.ask('&from=2026-10-01')
    return body.data.map((row: { date: string }) => row.date)
  }
  assert.deepEqual(await shown(nzAuckland), ['2026-10-06'])
  assert.deepEqual(await shown(nzSydney), ['2026-10-05'])
  assert.deepEqual(await shown(nzAngeles), ['2026-10-05'])
})

test('R16: rows keep the order of the provider', async () => {
  plant([])
  plantFiskil(service, 'Bonus Saver', [
    fiskilRow('b', '2026-11-10T00:00:00Z'),
    fiskilRow('a', '2026-11-10T00:00:00Z'),
    fiskilRow('c', '2026-11-10T00:00:00Z'),
  ])
  assert.deepEqual(namesOf(await sydney.ask('&from=2026-11-05')), ['b', 'a', 'c'])
})
