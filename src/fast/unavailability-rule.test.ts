/** When missed deadlines make Redis unavailable: they are counted per stall, not per command. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeLateness, unavailabilityRule } from './unavailability-rule.ts'

const { stallMs, inARow, ofRecent, recentMs } = unavailabilityRule

test('many commands that miss their deadline together are one stall, and Redis stays in use', () => {
  const lateness = makeLateness()
  for (let command = 0; command < 10_000; command += 1) {
    assert.equal(lateness.late(command * ((stallMs - 1) / 10_000)), false)
  }
})

test('several stalls in a row without an answer make Redis unavailable', () => {
  const lateness = makeLateness()
  const verdicts = Array.from({ length: inARow }, (_, stall) => lateness.late(stall * stallMs))
  assert.deepEqual(verdicts, [...Array(inARow - 1).fill(false), true])
})

test('an answer between stalls resets the count', () => {
  const lateness = makeLateness()
  for (let stall = 0; stall < ofRecent - 1; stall += 1) {
    assert.equal(lateness.late(stall * stallMs), false)
    lateness.answered()
  }
})

test('frequent stalls make Redis unavailable even with answers between them', () => {
  const lateness = makeLateness()
  const apart = recentMs / ofRecent - 1
  let away = false
  for (let stall = 0; stall < ofRecent; stall += 1) {
    assert.equal(away, false)
    away = lateness.late(stall * apart)
    lateness.answered()
  }
  assert.equal(away, true)
})

test('stalls that are far apart expire one by one, however many there are', () => {
  const lateness = makeLateness()
  const apart = recentMs / (ofRecent - 1) + 1
  for (let stall = 0; stall < 1000; stall += 1) {
    assert.equal(lateness.late(stall * apart), false)
    lateness.answered()
  }
})

test('after a reset earlier stalls do not count', () => {
  const lateness = makeLateness()
  for (let stall = 0; stall < inARow; stall += 1) lateness.late(stall * stallMs)
  lateness.reset()
  assert.equal(lateness.late(inARow * stallMs), false)
})
