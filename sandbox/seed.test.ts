/**
 * The sandbox's random numbers: reproducible, within their bounds, and an error for impossible bounds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRandom } from './seed.ts'

const draw = (seed: string) => {
  const random = makeRandom(seed)
  return Array.from({ length: 50 }, () => random.next())
}

test('the same seed gives the same numbers, another seed gives others', () => {
  assert.deepEqual(draw('emma'), draw('emma'))
  assert.notDeepEqual(draw('emma'), draw('emmb'))
})

test('the numbers of a seed never change between releases', () => {
  const random = makeRandom('tributary')
  assert.deepEqual(
    Array.from({ length: 5 }, () => random.int(0, 999)),
    [153, 982, 636, 493, 587],
  )
})

test('numbers stay within zero and one, whole numbers within both bounds', () => {
  const random = makeRandom('bounds')
  const seen = new Set<number>()
  for (let round = 0; round < 2_000; round += 1) {
    const number = random.next()
    assert.ok(number >= 0 && number < 1)
    seen.add(random.int(-2, 2))
  }
  assert.deepEqual(
    [...seen].sort((a, b) => a - b),
    [-2, -1, 0, 1, 2],
  )
})

test('every entry of a list can be picked, and nothing can be picked from an empty list', () => {
  const random = makeRandom('pick')
  const seen = new Set(Array.from({ length: 200 }, () => random.pick(['a', 'b', 'c'])))
  assert.equal(seen.size, 3)
  assert.throws(() => random.pick([]), RangeError)
  assert.throws(() => random.int(2, 1), RangeError)
})
