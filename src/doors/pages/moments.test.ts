import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderAgo, renderMoment } from './moments.ts'

const now = Date.parse('2026-11-26T08:00:00Z')
const textOf = (ms: number) =>
  /title="([^"]+)">([^<]+)</.exec(String(renderAgo(ms, 'Pacific/Auckland', now)))

test('F8: a time within a day is told as what has passed, with the exact instant on hover', () => {
  for (const [back, words] of [
    [5_000, 'just now'],
    [59_999, 'just now'],
    [60_000, '1 minute ago'],
    [12.5 * 60_000, '12 minutes ago'],
    [3_600_000, '1 hour ago'],
    [86_399_999, '23 hours ago'],
    [-30_000, 'within a minute'],
    [-2 * 3_600_000, 'in 2 hours'],
  ] as const) {
    const [, exact, text] = textOf(now - back) ?? assert.fail('no time')
    assert.equal(text, words)
    assert.equal(exact, new Date(now - back).toISOString())
  }
})

test('F8: an earlier time is a date in the zone of the person', () => {
  const at = now - 86_400_000
  assert.equal(
    String(renderAgo(at, 'Pacific/Auckland', now)),
    String(renderMoment(at, 'Pacific/Auckland')),
  )
  assert.match(String(renderMoment(at, 'Pacific/Auckland')), />25 Nov 2026, 21:00</)
})
