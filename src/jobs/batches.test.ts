import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInBatches } from './batches.ts'

const never = new AbortController().signal

test('batches run until nothing is left', async () => {
  const left = [500, 500, 12, 0, 7]
  await runInBatches(async () => left.shift() ?? 0, { maxBatches: 100, stop: never })
  assert.deepEqual(left, [7])
})

test('no run makes more batches than its bound', async () => {
  let calls = 0
  const work = async () => {
    calls += 1
    return 500
  }
  await runInBatches(work, { maxBatches: 15, stop: never })
  assert.equal(calls, 15)
})

test('after a stop no further batch is started', async () => {
  const stopping = new AbortController()
  let calls = 0
  const work = async () => {
    calls += 1
    stopping.abort()
    return 500
  }
  await runInBatches(work, { maxBatches: 15, stop: stopping.signal })
  assert.equal(calls, 1)
})

test('between two batches of synchronous work the event loop turns', async () => {
  const order: string[] = []
  setImmediate(() => order.push('request'))
  const work = async () => order.push('batch')
  await runInBatches(work, { maxBatches: 2, stop: never })
  assert.deepEqual(order, ['batch', 'request', 'batch'])
})
