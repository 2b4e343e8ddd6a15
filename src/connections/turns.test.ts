import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '#contract/errors.ts'
import { makeQueue } from '#kernel/queue.ts'
import { inTime } from './turns.ts'

const messages = {
  link: 'An earlier link or removal at this provider is still in progress; retry later',
  refresh: 'An earlier refresh of this login is still in progress; retry later',
} as const

for (const kind of ['link', 'refresh'] as const) {
  test(`503: a ${kind} whose turn does not come says what it waited for`, async () => {
    const queue = makeQueue()
    const earlier = Promise.withResolvers<void>()
    const first = queue.take('key', () => earlier.promise)
    const until = AbortSignal.abort()
    await assert.rejects(
      inTime({ queue }, { key: 'key', kind }, { until }, () => assert.fail('it never runs')),
      (error) => {
        assert.ok(error instanceof ApiError)
        assert.deepEqual([error.status, error.message], [503, messages[kind]])
        return true
      },
    )
    earlier.resolve()
    await first
  })
}
