/** Windows of instants over rows that know their days: any tiling shows each row once, on its own day. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toMidday } from '#kernel/midday.ts'
import { toDays } from './rows-window.ts'

const zones = [
  'UTC',
  'Australia/Sydney',
  'Pacific/Auckland',
  'Pacific/Pago_Pago',
  'Pacific/Kiritimati',
  'America/St_Johns',
]
const now = Date.parse('2026-11-25T12:00:00Z')
const nowSeconds = now / 1000
const daySeconds = 86_400

/** The days of rows that a window shows, read as the API reads days: both ends inclusive. */
function show(
  days: readonly string[],
  window: { start: number | null; end: number | null },
  zone: string,
): string[] {
  const read = toDays(window, { zone, now })
  if (read === null) return []
  return days.filter((day) => {
    const posted = toMidday(day, zone)
    const isRead = day >= (read.from ?? '') && day <= (read.to ?? '9999')
    return (
      isRead &&
      posted >= (window.start ?? posted) &&
      posted < (window.end ?? Number.POSITIVE_INFINITY)
    )
  })
}

test('any tiling of windows shows each row once, in every zone', () => {
  const ages = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 30 })
  const cuts = fc.array(fc.integer({ min: 0, max: 410 * daySeconds }), { maxLength: 10 })
  fc.assert(
    fc.property(ages, cuts, fc.constantFrom(...zones), (back, before, zone) => {
      const today = Temporal.Instant.fromEpochMilliseconds(now)
        .toZonedDateTimeISO(zone)
        .toPlainDate()
      const days = [...new Set(back)].map((age) => today.subtract({ days: age }).toString())
      const edges = [
        ...before.map((seconds) => nowSeconds - seconds),
        nowSeconds - 420 * daySeconds,
        nowSeconds + 3 * daySeconds,
      ]
      const sorted = [...new Set(edges)].toSorted((one, other) => one - other)
      const shown = sorted
        .slice(0, -1)
        .flatMap((start, index) => show(days, { start, end: sorted[index + 1] ?? null }, zone))
      assert.deepEqual(shown.toSorted(), days.toSorted())
    }),
  )
})

test('windows before the history, in the future, empty and reversed are not read', () => {
  const read = (start: number | null, end: number | null) =>
    toDays({ start, end }, { zone: 'Australia/Sydney', now })
  const year = 366 * daySeconds
  assert.equal(read(0, 44 * daySeconds), null)
  assert.equal(read(nowSeconds - 9 * year, nowSeconds - 8 * year), null)
  assert.equal(read(nowSeconds + 5 * daySeconds, null), null)
  assert.equal(read(nowSeconds, nowSeconds), null)
  assert.equal(read(nowSeconds, nowSeconds - 1), null)
  assert.equal(read(1e15, null), null)
  assert.deepEqual(read(0, null), { from: '2019-11-25', to: null })
  assert.deepEqual(read(null, null), { from: null, to: null })
})

test('a window that ends today or later is one query all day long', () => {
  const read = (end: number | null) =>
    toDays({ start: Date.parse('2026-08-27T00:00:00Z') / 1000, end }, { zone: 'UTC', now })
  for (const end of [
    null,
    nowSeconds,
    nowSeconds + 3600,
    Date.parse('2026-12-01T00:00:00Z') / 1000,
  ]) {
    assert.deepEqual(read(end), { from: '2026-08-26', to: null })
  }
  assert.deepEqual(read(Date.parse('2026-10-01T00:00:00Z') / 1000), {
    from: '2026-08-26',
    to: '2026-10-02',
  })
})
