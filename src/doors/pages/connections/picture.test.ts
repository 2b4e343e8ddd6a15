/** The picture of the last days: its bars and its sentence. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeDays, renderPicture } from './picture.ts'

const days = [
  { succeeded: 4, failed: 0 },
  { succeeded: 0, failed: 2 },
  { succeeded: 1, failed: 1 },
  { succeeded: 0, failed: 0 },
]

test('days are told apart by the shape of their bars', () => {
  const svg = renderPicture(days, 4).toString()
  assert.match(svg, /class="good" d="M0 0h6v24h-6zM16 13h6v11h-6z"/)
  assert.match(svg, /class="bad" d="M8 0h6v11h-6zM16 0h6v11h-6z"/)
  assert.match(svg, /class="none" d="M24 22h6v2h-6z"/)
})

test('the sentence says what the picture shows', () => {
  assert.equal(describeDays(days), 'Syncs in the last 4 days: 5 succeeded, 3 failed on 2 days')
  assert.equal(describeDays(days.slice(0, 1)).endsWith('4 succeeded, none failed'), true)
  const svg = renderPicture(undefined, 30).toString()
  assert.match(svg, /role="img" aria-label="No sync ended in the last 30 days"/)
})
