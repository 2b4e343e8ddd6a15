import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSessionSweep } from './session-sweep.ts'

test('a sweep goes on until nothing is left, and again after its time', async () => {
  const left = [500, 500, 12, 0, 7, 0]
  const again = Promise.withResolvers<void>()
  const sweep = startSessionSweep(
    {
      async sweep() {
        if (left.length === 1) again.resolve()
        return left.shift() ?? 0
      },
    },
    { onFailure: (error) => again.reject(error), everyMs: 5 },
  )
  await again.promise
  await sweep.stop()
  assert.deepEqual(left, [])
})

test('a sweep that fails is reported, and the next one comes', async () => {
  const failures: unknown[] = []
  const second = Promise.withResolvers<void>()
  let calls = 0
  const sweep = startSessionSweep(
    {
      async sweep() {
        calls += 1
        if (calls === 1) throw new Error('the store is away')
        second.resolve()
        return 0
      },
    },
    { onFailure: (error) => failures.push(error), everyMs: 5 },
  )
  await second.promise
  await sweep.stop()
  assert.equal(failures.length, 1)
})

test('stop waits for the sweep under way and lets no other begin', async () => {
  const gate = Promise.withResolvers<number>()
  let calls = 0
  const sweep = startSessionSweep(
    {
      sweep() {
        calls += 1
        return gate.promise
      },
    },
    { onFailure: (error) => gate.reject(error), everyMs: 1 },
  )
  await new Promise((resolve) => setImmediate(resolve))
  let isStopped = false
  const stopping = sweep.stop().then(() => {
    isStopped = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isStopped, false)
  gate.resolve(500)
  await stopping
  assert.equal(calls, 1)
})
