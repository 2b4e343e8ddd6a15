import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeWait } from './describe-wait.ts'

test('a wait of hours is told in hours, and a short or unknown one in a word', () => {
  const told = [null, 60, 181, 7000, 7200, 50_000].map((retryAfterSeconds) =>
    describeWait({ retryAfterSeconds }),
  )
  assert.deepEqual(told, [
    'shortly',
    'shortly',
    'in 4 minutes',
    'in 117 minutes',
    'in 2 hours',
    'in 14 hours',
  ])
})
