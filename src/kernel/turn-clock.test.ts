/** Checks that synchronous code sees one time, and later code the current time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { makeTurnClock } from './turn-clock.ts'

test('within one synchronous run the time is read once and stays the same', () => {
  let readings = 0
  const clock = makeTurnClock({ now: () => 1000 + readings++ })
  assert.deepEqual([clock.now(), clock.now(), clock.now()], [1000, 1000, 1000])
  assert.equal(readings, 1)
})

test('after an await the time is read again, even when it went backwards', async () => {
  let time = 1000
  const clock = makeTurnClock({ now: () => time })
  assert.equal(clock.now(), 1000)
  time = 5000
  await null
  assert.equal(clock.now(), 5000)
  time = 10
  await nextTurn()
  assert.equal(clock.now(), 10)
})
