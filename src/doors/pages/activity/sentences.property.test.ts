/**
 * What the activity page says: a sentence of each action, also of entries of earlier versions, which had only
 * their text.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type AuditAction,
  type AuditDetails,
  type AuditFacts,
  parseFacts,
  toRecord,
} from '#contract/audit.ts'
import { linkingFailures } from '#providers/linking.ts'
import { readSubject } from '#store/people/former-subjects.ts'
import type { AuditRow } from '#store/ports/audit.ts'
import { auditSamples, factsFor, sampleNames, sampleUser } from '#tests/support/audit-samples.ts'
import { describeEntry } from './sentences.ts'

const actions = Object.keys(auditSamples) as AuditAction[]
const connectionId = 'c0000000-0000-4000-8000-000000000002'
const endpointId = 'e0000000-0000-4000-8000-000000000005'
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

const otherCases: readonly (readonly [AuditFacts, string])[] = [
  [{ action: 'account.signed-in', details: { passkey: true } }, 'Signed in with a passkey'],
  [
    { action: 'account.sign-in-refused', details: { refused: 'passkey' } },
    'Gave a passkey that is not right, and was refused',
  ],
  [
    { action: 'account.set-shows-balances', details: { showsBalances: false } },
    'Chose to see balances after a press',
  ],
  [
    { action: 'programs.revoke', details: { programId: connectionId } },
    'Ended the access of a program',
  ],
  [{ action: 'account.end-other-sessions', details: { count: 1 } }, 'Signed out one other browser'],
  [
    { action: 'account.sign-in-refused', details: { refused: 'code' } },
    'Gave a wrong code, and was refused',
  ],
  [
    { action: 'account.sign-in-refused', details: { refused: 'account' } },
    'Gave a wrong password, and was refused',
  ],
  [
    {
      action: 'agent.connected',
      details: { clientId: '', scopes: ['mcp:read'], clientName: null },
    },
    'Allowed an agent to read banks',
  ],
  [
    { action: 'connections.start-linking', details: { provider: 'up', renews: null } },
    'Began to link an institution through Up',
  ],
  [
    {
      action: 'connections.finish-linking',
      details: { provider: 'a-later-one', outcome: 'agreed' },
    },
    'Agreed at a-later-one',
  ],
  [
    { action: 'connections.link', details: { provider: 'up', connectionIds: [''] } },
    'Linked institutions through Up',
  ],
  [
    { action: 'connections.remove', details: { connectionId, endsAtProvider: false } },
    'Removed the connection to Wattle Bank',
  ],
  [
    { action: 'webhooks.disable', details: { endpointId, reason: 'owner' } },
    'Disabled the webhook endpoint hooks.example',
  ],
  [
    { action: 'webhooks.remove', details: { endpointId } },
    'Removed the webhook endpoint hooks.example',
  ],
]

test('a sentence depends on what happened, and on what still exists', () => {
  for (const [facts, sentence] of otherCases) {
    const row = rowOf({ action: facts.action, subject: '', facts })
    assert.equal(describeEntry(row, sampleNames), sentence)
  }
})

test('what the facts of another version say is shown as it was written', () => {
  const row = rowOf({ action: 'keys.create', subject: 'new: text', facts: null })
  assert.equal(describeEntry(row, sampleNames), 'keys.create: new: text')
})

const id = fc.uuid()
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

/** Actions that came later had facts from the beginning. */
type FormerAction = Exclude<
  AuditAction,
  | `programs.${string}`
  | `consumers.${string}`
  | `account.${'add' | 'remove'}-passkey`
  | 'account.set-shows-balances'
  | 'connections.set-label'
  | 'keys.rotate'
>

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

function isReadBack<Action extends FormerAction>(action: Action): void {
  fc.assert(
    fc.property(drawn[action], (details: AuditDetails[Action]) => {
      const { subject } = toRecord({ action, details }, sampleUser)
      assert.deepEqual(
        parseFacts(action, readSubject(action, subject)),
        parseFacts(action, details),
      )
    }),
  )
}

test('the text of every earlier entry is read as the facts that it was made of', () => {
  for (const action of Object.keys(drawn) as FormerAction[]) isReadBack(action)
})
