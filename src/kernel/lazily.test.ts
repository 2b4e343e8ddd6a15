import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atFirstUse, lazily } from './lazily.ts'

test('nothing is made before the first call, and calls at once share what is made', async () => {
  let count = 0
  const value = lazily(async () => {
    count += 1
    return { count }
  })
  assert.equal(count, 0)
  const [first, second] = await Promise.all([value(), value()])
  assert.equal(first, second)
  assert.equal(await value(), first)
  assert.equal(count, 1)
})

test('calls at once share a failure, and the next call tries again', async () => {
  let count = 0
  const value = lazily(async () => {
    count += 1
    if (count === 1) throw new Error('not yet')
    return count
  })
  const answers = await Promise.allSettled([value(), value()])
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await value(), 2)
})

test('a value that is made at its first use is made once, also when it is undefined', () => {
  let count = 0
  const value = atFirstUse(() => {
    count += 1
  })
  assert.equal(count, 0)
  value()
  value()
  assert.equal(count, 1)
})
