/**
 * Rows of today that have only a day (reading R16a), seen from zones that are behind the one they were
 * written in.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { addDays, getZone, toMicros, toMillis } from '#kernel/time.ts'
import { callTool } from '#tests/support/agent.ts'
import { startService } from '#tests/support/service.ts'
import { akahuRow, fiskilRow, makeBankUser, namesOf, plantAkahu, plantFiskil } from './planted.ts'

const service = await startService()
after(() => service.close())

test('R16a: without to, a plain date counts once its day has begun anywhere on Earth', async () => {
  const reader = await makeBankUser(service, {
    provider: 'fiskil',
    name: 'Bonus Saver',
    timezone: 'Pacific/Pago_Pago',
  })
  // Ten in the morning UTC: midnight has just passed on the first islands.
  const present = Date.parse('2026-12-06T10:00:00Z')
  service.clock.advance(present - service.clock.now())
  plantFiskil(
    service,
    'Bonus Saver',
    ['2026-12-08', '2026-12-07', '2026-12-06'].map((day) => ({
      ...fiskilRow(day, day),
      postsAtMs: 0,
    })),
  )
  assert.deepEqual(namesOf(await reader.ask()), ['2026-12-07', '2026-12-06'])
  assert.deepEqual(namesOf(await reader.ask('&from=2026-12-05&to=2026-12-06')), ['2026-12-06'])
})

/**
 * One minute past midnight: rows stamped midnight UTC of the days around today, of which the past ones and
 * today's are shown.
 */
async function checkMidnightUtc(
  { provider, name, timezone }: Parameters<typeof makeBankUser>[1] & { readonly timezone: string },
  present: string,
): Promise<void> {
  service.clock.advance(Date.parse(present) - service.clock.now())
  const today = getZone(timezone).dayOf(toMicros(service.clock.now()))
  const yesterday = addDays(today, -1)
  const days = [addDays(today, 2), addDays(today, 1), today, yesterday]
  const created_at = '2026-01-01T00:00:00.000Z'
  if (provider === 'akahu') {
    const toRow = (day: string) => akahuRow(day, `${day}T00:00:00.000Z`, { created_at })
    plantAkahu(service, name, days.map(toRow))
  } else {
    const toRow = (day: string) => ({ ...fiskilRow(day, `${day}T00:00:00Z`), postsAtMs: 0 })
    plantFiskil(service, name, days.map(toRow))
  }
  const reader = await makeBankUser(service, { provider, name, timezone })
  for (const [query, shown] of [
    ['', [today, yesterday]],
    [`&from=${addDays(today, -3)}`, [today, yesterday]],
    [`&from=${today}`, [today]],
    // A bound that was given is the bound.
    [`&from=${yesterday}&to=${present}`, [yesterday]],
  ] as const) {
    const answer = await reader.ask(query)
    assert.deepEqual(namesOf(answer), shown, `${present} ${query}`)
    assert.deepEqual(
      answer.body.data.map(({ date }: { date: string }) => date),
      shown,
    )
  }
}

test('R16a: without to, a row of today that Fiskil stamps midnight UTC is there from the first minute of the day', async () => {
  const of = { provider: 'fiskil', name: 'Bonus Saver', timezone: 'Australia/Sydney' } as const
  await checkMidnightUtc(of, '2026-12-07T13:01:00Z')
})

test('R16a: without to, a card row of today that Akahu stamps midnight UTC is there from the first minute of the day', async () => {
  const of = { provider: 'akahu', name: 'Rainy Day', timezone: 'Pacific/Auckland' } as const
  for (const present of ['2026-12-08T11:01:00Z', '2027-01-01T23:59:00Z']) {
    await checkMidnightUtc(of, present)
  }
})

/** The present, and the New Zealand day and stamp of it: on either side of both changes of the clocks. */
const presents = [
  ['2027-01-04T11:00:00Z', '2027-01-05'],
  ['2027-04-03T11:00:00Z', '2027-04-04'],
  ['2027-04-04T12:00:00Z', '2027-04-05'],
  ['2027-09-25T12:30:00Z', '2027-09-26'],
  ['2027-09-26T11:00:00Z', '2027-09-27'],
] as const

test('R16a: without to, today’s rows of New Zealand are there for everybody as soon as the day has begun there', async () => {
  const zones = ['Pacific/Kiritimati', 'Australia/Sydney', 'Europe/London', 'Pacific/Pago_Pago']
  const auckland = getZone('Pacific/Auckland')
  for (const [present, day] of presents) {
    service.clock.advance(Date.parse(present) - service.clock.now())
    const stamp = (of: string) => new Date(toMillis(auckland.startOfDay(of))).toISOString()
    const tomorrow = addDays(day, 1)
    plantAkahu(service, 'Rainy Day', [
      akahuRow(tomorrow, stamp(tomorrow)),
      akahuRow(day, stamp(day)),
      akahuRow(addDays(day, -1), stamp(addDays(day, -1))),
    ])
    for (const timezone of zones) {
      const reader = await makeBankUser(service, { provider: 'akahu', name: 'Rainy Day', timezone })
      const days = [day, addDays(day, -1)]
      const label = `${present} seen from ${timezone}`
      for (const query of ['', `&from=${addDays(day, -3)}`]) {
        const answer = await reader.ask(query)
        assert.deepEqual(namesOf(answer), days, label)
        assert.deepEqual(
          answer.body.data.map((row: { date: string }) => row.date),
          days,
        )
      }
      const { connectionId, id: accountId } = reader.account
      const tool = await callTool(service, reader.user, 'list_transactions', {
        connectionId,
        accountId,
      })
      assert.deepEqual(
        tool.result.structuredContent.data.map((row: { date: string }) => row.date),
        days,
        label,
      )
      // A bound that was given is the bound: the day as the user has it.
      const mine = getZone(timezone).dayOf(toMicros(service.clock.now()))
      assert.deepEqual(
        namesOf(await reader.ask(`&to=${mine}`)),
        [tomorrow, ...days].filter((one) => one <= mine),
        label,
      )
    }
  }
})
