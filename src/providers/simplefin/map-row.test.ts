import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getZone, toMicros } from '#kernel/time.ts'
import type { RowsQuery } from '../port.ts'
import { timeOf } from './map-row.ts'

test('R16a: without to, a row of today is there from the first minute of its day, wherever that is', () => {
  const now = toMicros(Date.parse('2026-11-28T22:30:00Z'))
  for (const zone of ['Pacific/Auckland', 'America/New_York', 'Pacific/Pago_Pago'].map(getZone)) {
    const query = { zone, window: { from: null, to: now, isOpen: true } } as unknown as RowsQuery
    const isThere = (stamp: string) => timeOf({ posted: Date.parse(stamp) / 1000 }, query) <= now
    for (const time of ['T00:00:00Z', 'T12:00:00Z']) {
      const shown = ['2026-11-28', '2026-11-29', '2026-11-30'].map((day) => isThere(day + time))
      assert.deepEqual(shown, [true, true, false], `${zone.id} ${time}`)
    }
  }
})
