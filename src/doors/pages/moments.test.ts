import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderMoment } from './moments.ts'

test('a time is shown in the person’s zone to the minute, with the exact instant in UTC', () => {
  const at = Date.UTC(2026, 9, 3, 16, 5, 9, 7)
  const exact = '2026-10-03T16:05:09.007Z'
  // Daylight saving begins in Sydney five minutes before this instant.
  for (const [zone, text] of [
    ['Australia/Sydney', '4 Oct 2026, 03:05'],
    ['Pacific/Auckland', '4 Oct 2026, 05:05'],
    ['UTC', '3 Oct 2026, 16:05'],
  ] as const) {
    const shown = renderMoment(at, zone).toString()
    assert.equal(shown, `<time datetime="${exact}" title="${exact}">${text}</time>`)
  }
})
