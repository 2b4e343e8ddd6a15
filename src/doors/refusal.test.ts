import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProcessStopping } from '#kernel/process-stopping.ts'
import { toApiError } from './refusal.ts'

test('what a stopping process aborts is 503, and only what nobody expects is a bug of ours', () => {
  const { status, retryAfterSeconds } = toApiError(new ProcessStopping())
  assert.deepEqual([status, retryAfterSeconds], [503, 5])
  assert.equal(toApiError(new DOMException('another end', 'AbortError')).status, 500)
})
