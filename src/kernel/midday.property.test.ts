/** The midday of a day shows that day in its zone and in UTC. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toMidday } from './midday.ts'

const zones = [
  'UTC',
  'Australia/Sydney',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
  'America/New_York',
  'America/St_Johns',
  'Europe/Berlin',
  'Asia/Kathmandu',
]

test('the midday of a day is that day by the clock of its zone and by that of UTC, with four hours to spare', () => {
  const days = fc.integer({ min: 0, max: 20_000 })
  fc.assert(
    fc.property(days, fc.constantFrom(...zones), (number, zone) => {
      const day = Temporal.PlainDate.from('1980-01-01').add({ days: number }).toString()
      const midday = toMidday(day, zone)
      for (const hours of [-4, 0, 4]) {
        const at = Temporal.Instant.fromEpochMilliseconds((midday + hours * 3600) * 1000)
        for (const clock of [zone, 'UTC']) {
          assert.equal(
            at.toZonedDateTimeISO(clock).toPlainDate().toString(),
            day,
            `${zone} ${clock}`,
          )
        }
      }
    }),
  )
})
