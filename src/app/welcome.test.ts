/** Why a process has not started: one line that says what to do, without frames of the program. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiError } from '#contract/errors.ts'
import { UpstreamError } from '#providers/failure.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import { describeStartFailure } from './welcome.ts'

test('a store that fails after it was opened is one line with what to do, and no stack', () => {
  assert.equal(
    describeStartFailure(new StoreUnavailableError('the disk under the store is full')),
    'the disk under the store is full. See that the disk under DATA_DIR, or the server of DATABASE_URL, is there, takes writes and has free space',
  )
  const known = new StoreUnavailableError('PostgreSQL is full', { remedy: 'Make room' })
  assert.equal(describeStartFailure(known), 'PostgreSQL is full. Make room')
})

test('emulators that do not answer within the time limits are one line that names the two variables', () => {
  const failure = { kind: 'unavailable', status: null, detail: 'no answer within 10 ms' } as const
  const error = apiError('provider_unavailable', { cause: new UpstreamError('akahu', failure) })
  assert.equal(
    describeStartFailure(error),
    'the emulators of the sandbox did not answer in time (no answer within 10 ms): raise UPSTREAM_TIMEOUT_MS and REQUEST_TIMEOUT_MS, or leave both out',
  )
})
