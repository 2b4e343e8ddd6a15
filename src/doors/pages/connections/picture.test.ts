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
  assert.match(svg, /class="good" d="M3 0v24M19 13v11"/)
  assert.match(svg, /class="bad" d="M11 0v11M19 0v11"/)
  assert.match(svg, /class="none" d="M24 23h6"/)
})

test('days without a sync that follow each other are one line', () => {
  const none = { succeeded: 0, failed: 0 }
  const svg = renderPicture([none, none, ...days, none], 7).toString()
  assert.match(svg, /class="none" d="M0 23h14M40 23h14"/)
})

test('the sentence says what the picture shows', () => {
  assert.equal(describeDays(days), 'Syncs in the last 4 days: 5 succeeded, 3 failed on 2 days')
  assert.equal(describeDays(days.slice(0, 1)).endsWith('4 succeeded, none failed'), true)
  const svg = renderPicture(undefined, 30).toString()
  assert.match(svg, /role="img" aria-label="No sync ended in the last 30 days"/)
})

test('a picture of thirty days, each with a good and a bad run, has less than 800 bytes', () => {
  const mixed = Array.from({ length: 30 }, () => ({ succeeded: 1, failed: 1 }))
  const svg = renderPicture(mixed, 30)
  assert.ok(Buffer.byteLength(svg.toString()) < 800, `${svg.toString().length} bytes`)
})
