/** The words of connections: every code has a sentence of its own, without names of ours. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Provider } from '#contract/resources.ts'
import { describeStatus, describeSyncFailure } from './words.ts'

const codes = [
  ...['consent_lost', 'rejected', 'account_gone', 'unavailable', 'throttled', 'unreadable'],
  ...['misconfigured', 'preparing', 'not_configured', 'too_many', 'too_large', 'too_long'],
  ...['ledger_unreadable', 'interrupted', 'store_unavailable', 'internal'],
]

test('every failure has a sentence of its own, and one that is not known has a general one', () => {
  for (const provider of Provider.options) {
    const sentences = codes.map((code) => describeSyncFailure(code, provider))
    assert.equal(new Set(sentences).size, codes.length)
    for (const sentence of sentences) assert.doesNotMatch(sentence, /_|undefined/)
    const general = describeSyncFailure('of_another_version', provider)
    assert.equal(sentences.includes(general), false)
  }
})

test('a connection that needs its owner says what to do', () => {
  for (const provider of Provider.options) {
    assert.equal(describeStatus({ provider, status: 'active' }).isBroken, false)
    for (const status of ['invalidated', 'revoked', 'pending_mfa'] as const) {
      const { isBroken, sentence } = describeStatus({ provider, status })
      assert.equal(isBroken, true)
      assert.match(sentence, /[Rr]econnect|refresh/)
    }
  }
})

test('at SimpleFIN a refusal may be a subscription that has ended, which no new token mends', () => {
  for (const sentence of [
    describeStatus({ provider: 'simplefin', status: 'invalidated' }).sentence,
    describeSyncFailure('consent_lost', 'simplefin'),
  ]) {
    assert.match(sentence, /its subscription has ended.*renew the subscription/)
    assert.doesNotMatch(sentence, /has expired/)
  }
})
