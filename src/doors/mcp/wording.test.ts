import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiError, type ErrorName, errorCatalogue, toEnvelope } from '#contract/errors.ts'
import { toAgentEnvelope } from './wording.ts'

/** Errors for operators and REST callers; no tool ever answers with them. */
const neverOfTools: readonly ErrorName[] = ['not_found', 'user_not_found', 'key_not_found']

test('no message of the catalogue sends an agent to a path or a header', () => {
  for (const name of Object.keys(errorCatalogue) as ErrorName[]) {
    if (neverOfTools.includes(name)) continue
    const { message } = toAgentEnvelope(apiError(name), 'r-1').error
    assert.doesNotMatch(message, /\/v1\/|X-[A-Z]/, name)
  }
  assert.match(toAgentEnvelope(apiError('internal'), 'r-1').error.message, /quote request r-1 when/)
})

test('details are reworded like the message, and the code stays', () => {
  const error = apiError('connection_not_found', { details: ['see /v1/accounts, /v1/other'] })
  assert.deepEqual(toAgentEnvelope(error, 'r').error, {
    message: 'Connection not found; list yours with list_connections',
    code: 'connection_not_found',
    details: ['see list_accounts, /v1/other'],
  })
})

test('the message of a provider is not reworded', () => {
  const error = apiError('upstream_bad_request', { message: 'Upstream rejected: GET /v1/accounts' })
  assert.deepEqual(toAgentEnvelope(error, 'r'), toEnvelope(error))
})
