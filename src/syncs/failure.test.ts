/** What the owner of a connection sees of a failed sync, and the error for the operator who requested it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiError } from '#contract/errors.ts'
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import { toUpstreamApiError as guardError } from '#providers/guard.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import { SyncError, toFailure, toSyncApiError } from './failure.ts'
import { LedgerFormatError } from './ledger-code.ts'

const canary = 'Paid 1,234.56 to Jane'
const failures: readonly (readonly [UpstreamFailure, string, string])[] = [
  [{ kind: 'rejected', status: 400, detail: canary }, 'rejected', 'upstream_bad_request'],
  [{ kind: 'account_gone', detail: canary }, 'account_gone', 'provider_unavailable'],
  [{ kind: 'unavailable', status: 500, detail: canary }, 'unavailable', 'provider_unavailable'],
  [
    { kind: 'throttled', retryAfterSeconds: 7, detail: canary },
    'throttled',
    'provider_unavailable',
  ],
  [{ kind: 'preparing', detail: canary, of: canary }, 'preparing', 'provider_unavailable'],
  [{ kind: 'misconfigured', status: 401, detail: canary }, 'misconfigured', 'provider_unavailable'],
  [
    { kind: 'consent_lost', becomes: 'revoked', detail: canary },
    'consent_lost',
    'upstream_bad_request',
  ],
]

test('a stored failure has its code and no text of a provider', () => {
  for (const [upstream, code, entry] of failures) {
    const error = new UpstreamError('fiskil', upstream)
    for (const thrown of [error, guardError(error)]) {
      const failure = toFailure(thrown)
      assert.equal(failure.code, code)
      assert.doesNotMatch(failure.message, /Jane|1,234/)
      assert.equal(toSyncApiError(failure).entry, entry)
    }
  }
})

test('a stored failure speaks to the operator, who reads it in the doctor, and not of them', () => {
  for (const [upstream] of failures) {
    assert.doesNotMatch(toFailure(new UpstreamError('fiskil', upstream)).message, /operator/)
  }
})

test('the wait that a provider asks for is kept', () => {
  const upstream = { kind: 'throttled', retryAfterSeconds: 7, detail: '' } as const
  assert.equal(toFailure(new UpstreamError('akahu', upstream)).retryAfterSeconds, 7)
})

test('R23: an unreadable row is reported with the adapter’s message', () => {
  const upstream = {
    kind: 'malformed',
    detail: 'the amount of a transaction is no number',
  } as const
  const { code, message } = toFailure(new UpstreamError('akahu', upstream))
  assert.equal(code, 'unreadable')
  assert.match(message, /the amount of a transaction is no number$/)
})

test('a store that is unavailable during a run is not an error of ours, and the run can be requested again', () => {
  const failure = toFailure(new StoreUnavailableError(canary))
  assert.equal(failure.code, 'store_unavailable')
  assert.doesNotMatch(failure.message, /Jane/)
  assert.equal(toSyncApiError(failure).entry, 'service_unavailable')
})

test('a run of a provider that only a newer version knows is interrupted: another process can do it', () => {
  const thrown = apiError('service_unavailable', { cause: new Error(canary) })
  const failure = toFailure(thrown)
  assert.equal(failure.code, 'interrupted')
  assert.doesNotMatch(failure.message, new RegExp(canary))
})

test('failures with a known reason have codes, and errors of ours show no details', () => {
  assert.equal(toFailure(new LedgerFormatError('x')).code, 'ledger_unreadable')
  assert.equal(toFailure(new SyncError('too_large', 'Too many')).code, 'too_large')
  assert.equal(toFailure(apiError('provider_not_configured')).code, 'not_configured')
  const ours = toFailure(new TypeError(canary))
  assert.equal(ours.code, 'internal')
  assert.doesNotMatch(ours.message, /Jane/)
  assert.equal(toSyncApiError(ours).entry, 'internal')
  assert.equal(toSyncApiError({ code: 'of a newer version', message: 'x' }).entry, 'sync_failed')
})
