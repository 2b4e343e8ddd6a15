/**
 * What the activity page says: a sentence of each action, and word for word what it said when entries had
 * only their text, be they written by this version or by an earlier one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AuditAction, type AuditDetails, parseFacts, toRecord } from '#contract/audit.ts'
import { linkingFailures } from '#providers/linking.ts'
import { readSubject } from '#store/people/former-subjects.ts'
import type { AuditRow } from '#store/ports/audit.ts'
import { auditSamples, factsFor, sampleNames, sampleUser } from '#tests/support/audit-samples.ts'
import { describeSubject, type FormerAction } from '#tests/support/former-sentences.ts'
import { describeEntry } from './sentences.ts'

const actions = Object.keys(auditSamples) as AuditAction[]
const rowOf = (about: Pick<AuditRow, 'action' | 'subject' | 'facts'>): AuditRow => ({
  ...{ id: '', at: 0, actor: 'user', address: null, userId: sampleUser },
  ...about,
})

test('each action has its sentence', () => {
  for (const action of actions) {
    const { subject, sentence } = auditSamples[action]
    const row = rowOf({ action, subject, facts: factsFor(action) })
    assert.equal(describeEntry(row, sampleNames), sentence)
  }
})

test('what the facts of another version say is shown as it was written', () => {
  const row = rowOf({ action: 'keys.create', subject: 'new: text', facts: null })
  assert.equal(describeEntry(row, sampleNames), 'keys.create: new: text')
})

const known = [
  ...['c0000000-0000-4000-8000-000000000002', 'b0000000-0000-4000-8000-000000000004'],
  'e0000000-0000-4000-8000-000000000005',
]
const id = fc.oneof(fc.constantFrom(...known), fc.uuid())
const clientId = fc.oneof(
  fc.constant('https://agent.example/client'),
  fc.webUrl(),
  fc.base64String({ minLength: 1 }),
)
const clientName = fc.oneof(
  fc.constant(null),
  fc.string({ unit: 'grapheme' }),
  fc.array(fc.constantFrom('as', 'Claude', '', 'brokerage:read')).map((words) => words.join(' ')),
)
const scopes = fc.constantFrom(['mcp:read'], ['mcp:read', 'brokerage:read'])
const provider = fc.constantFrom('fiskil', 'akahu', 'snaptrade', 'up', 'a-later-one')
const none = fc.constant({})
const aKey = fc.record({ keyId: id })
const aConnection = fc.record({ connectionId: id })
const anEndpoint = fc.record({ endpointId: id })

const drawn: { readonly [Action in FormerAction]: fc.Arbitrary<AuditDetails[Action]> } = {
  'account.asked-for-password': none,
  'account.confirmed': none,
  'account.end-other-sessions': fc.record({ count: fc.nat() }),
  'account.end-session': fc.record({ sessionId: id }),
  'account.remove-second-factor': none,
  'account.set-name': none,
  'account.set-password': none,
  'account.set-recovery-codes': none,
  'account.set-second-factor': none,
  'account.set-timezone': fc.record({ timezone: fc.constantFrom('UTC', 'Pacific/Auckland') }),
  'account.sign-in-refused': fc.record({
    refused: fc.constantFrom('account', 'code', 'code-missing'),
  }),
  'account.signed-in': none,
  'account.signed-out': none,
  'account.signed-up': none,
  'account.used-recovery-code': none,
  'agent.connected': fc.record({ clientId, scopes, clientName }),
  'agent.disconnected': fc.record({ clientId, clientName }),
  'connections.finish-linking': fc.record({
    provider,
    outcome: fc.constantFrom('agreed', ...linkingFailures),
  }),
  'connections.link': fc.record({ provider, connectionIds: fc.array(id) }),
  'connections.refresh': aConnection,
  'connections.remove': fc.record({ connectionId: id, endsAtProvider: fc.boolean() }),
  'connections.start-linking': fc.record({ provider, renews: fc.option(id) }),
  'connections.sync': aConnection,
  'keys.create': aKey,
  'keys.revoke': aKey,
  'plans.set': fc.record({
    plan: fc.constantFrom('developer', 'professional', 'none'),
    status: fc.constantFrom('active', 'trialing', 'past_due', 'canceled'),
  }),
  'users.create': none,
  'users.delete': none,
  'users.invite': none,
  'users.remind': none,
  'users.reset-second-factor': none,
  'users.set-password': none,
  'users.withdraw-invitation': none,
  'webhooks.create': anEndpoint,
  'webhooks.disable': fc.record({
    endpointId: id,
    reason: fc.constantFrom('owner', 'gone', 'failing'),
  }),
  'webhooks.enable': anEndpoint,
  'webhooks.failing': fc.record({ endpointId: id, days: fc.nat() }),
  'webhooks.remove': anEndpoint,
  'webhooks.replay': anEndpoint,
  'webhooks.rotate': anEndpoint,
  'webhooks.test': anEndpoint,
}

function comparesAlike<Action extends FormerAction>(action: Action): void {
  fc.assert(
    fc.property(drawn[action], (details: AuditDetails[Action]) => {
      const { subject } = toRecord({ action, details }, sampleUser)
      const former = describeSubject(action, subject, sampleNames)
      const facts = parseFacts(action, details)
      assert.equal(describeEntry(rowOf({ action, subject, facts }), sampleNames), former)
      const read = parseFacts(action, readSubject(action, subject))
      assert.deepEqual(read, facts)
      assert.equal(describeEntry(rowOf({ action, subject, facts: read }), sampleNames), former)
    }),
  )
}

test('the text of every earlier entry is read as the facts that it was made of, and shown word for word as before', () => {
  for (const action of Object.keys(drawn) as FormerAction[]) comparesAlike(action)
})
