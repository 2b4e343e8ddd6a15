/** SnapTrade's webhooks: the vector, both forms of the signature, the age, and what each event means here. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { toCanonicalJson } from './canonical.ts'
import { makeSnapTradeWebhooks } from './webhook.ts'

const consumerKey = 'consumer_key'
/** Computed with the rule of docs/providers/snaptrade.md, Webhooks. */
const vector = {
  body: '{"clientId":"C","eventTimestamp":"2026-08-12T18:22:47.039837+00:00","eventType":"CONNECTION_BROKEN","webhookId":"35a74573-84a4-4cdd-aa30-9719f89a0123"}',
  signature: '79ahmsq/5UMkbQQ3pUytYBnD4K8eVL2r9Fn24dC0nF8=',
}
const now = Date.parse('2026-08-12T18:23:00Z')

function receive(body: string, signature: string | undefined, oddities: string[] = []) {
  const { receive } = makeSnapTradeWebhooks({
    consumerKey,
    clock: { now: () => now },
    odd: (what) => oddities.push(what),
  })
  const header = (name: string) => (name === 'signature' ? signature : undefined)
  return receive({ header, body: Buffer.from(body) })
}

const sign = (text: string, key = consumerKey) =>
  createHmac('sha256', key).update(text).digest('base64')

const fields = {
  webhookId: 'w1',
  clientId: 'C',
  eventTimestamp: '2026-08-12T18:22:47.039837+00:00',
  userId: 'user-1',
  brokerageAuthorizationId: 'auth-1',
  brokerageId: 'broker-1',
}

async function noticesOf(more: object) {
  const body = JSON.stringify({ ...fields, ...more })
  const oddities: string[] = []
  const verdict = await receive(body, sign(body), oddities)
  assert.equal(verdict.kind, 'accepted')
  return { notices: verdict.kind === 'accepted' ? verdict.notices : [], oddities }
}

test('the test vector is accepted; its event names no known login and is counted', async () => {
  const oddities: string[] = []
  const verdict = await receive(vector.body, vector.signature, oddities)
  assert.equal(verdict.kind, 'accepted')
  assert.deepEqual(oddities, ['webhook without a person'])
})

test('a body in any other form is verified by its canonical form', async () => {
  const sorted = JSON.parse(vector.body)
  const mixed = Object.fromEntries(Object.entries(sorted).reverse())
  const spread = JSON.stringify(mixed, null, 2)
  assert.notEqual(sign(spread), vector.signature)
  assert.equal((await receive(spread, vector.signature)).kind, 'accepted')
})

const canonical: [what: string, text: string, form: string][] = [
  [
    'keys in the order of code points at every level',
    '{"b":{"d":1,"c":2},"a":[]}',
    '{"a":[],"b":{"c":2,"d":1}}',
  ],
  [
    'keys beyond the first plane after those of it',
    '{"\u{1f600}":1,"\uffee":2,"z":3}',
    '{"z":3,"\\uffee":2,"\\ud83d\\ude00":1}',
  ],
  [
    'everything outside printable ASCII escaped',
    '"é\u007f\u2028\\n~"',
    '"\\u00e9\\u007f\\u2028\\n~"',
  ],
  [
    'numbers as they are written',
    '[1.0, 1e5, -0.10, 12345678901234567890]',
    '[1.0,1e5,-0.10,12345678901234567890]',
  ],
  ['literals', '{ "a" : null, "b" : true, "c" : false }', '{"a":null,"b":true,"c":false}'],
  [
    'a key of its own called __proto__',
    '{"__proto__":{"b":1},"a":2}',
    '{"__proto__":{"b":1},"a":2}',
  ],
]
for (const [what, text, form] of canonical) {
  test(`the canonical form has ${what}`, () => {
    assert.equal(toCanonicalJson(text), form)
  })
}

test('invalid JSON and too deeply nested JSON have no canonical form', () => {
  assert.equal(toCanonicalJson('{'), null)
  assert.equal(toCanonicalJson('['.repeat(60_000)), null)
  assert.equal(toCanonicalJson(`${'['.repeat(33)}${']'.repeat(33)}`), null)
  const brackets = JSON.stringify('[{'.repeat(1000))
  assert.equal(toCanonicalJson(brackets), brackets)
})

const forgeries: [what: string, signature: string | undefined, reason: string][] = [
  ['without a signature', undefined, 'unsigned'],
  ['with the signature of another body', sign('{}'), 'forged'],
  ['with the signature of another key', sign(vector.body, 'another'), 'forged'],
  ['with the signature without its padding', vector.signature.replace('=', ''), 'forged'],
]
for (const [what, signature, reason] of forgeries) {
  test(`a webhook ${what} is refused`, async () => {
    assert.deepEqual(await receive(vector.body, signature), { kind: 'refused', reason })
  })
}

const ages: [time: unknown, verdict: string][] = [
  ['2026-08-11T18:23:00Z', 'accepted'],
  ['2026-08-11T18:22:59.999Z', 'too_old'],
  ['2026-08-13T18:23:01Z', 'too_old'],
  ['2026-08-12T14:23:00-04:00', 'accepted'],
  ['yesterday', 'unreadable'],
  [undefined, 'unreadable'],
  [1_786_559_000, 'unreadable'],
]
for (const [time, expected] of ages) {
  test(`a webhook of ${String(time)} is ${expected} at 2026-08-12T18:23:00Z`, async () => {
    const body = JSON.stringify({ ...fields, eventType: 'CONNECTION_FIXED', eventTimestamp: time })
    const verdict = await receive(body, sign(body))
    assert.equal(verdict.kind === 'refused' ? verdict.reason : verdict.kind, expected)
  })
}

test('a signed body that is no JSON object is refused as unreadable', async () => {
  for (const body of ['', 'null', '[]']) {
    assert.deepEqual(await receive(body, sign(body)), { kind: 'refused', reason: 'unreadable' })
  }
})

const at = Date.parse('2026-08-12T18:22:47.039Z')
const told: [type: string, change: object][] = [
  ['CONNECTION_BROKEN', { kind: 'status', status: 'invalidated', at }],
  ['CONNECTION_FIXED', { kind: 'status', status: 'active', at }],
  ['CONNECTION_DELETED', { kind: 'status', status: 'revoked', at }],
  ['CONNECTION_ADDED', { kind: 'accounts' }],
  ['CONNECTION_UPDATED', { kind: 'accounts' }],
  ['NEW_ACCOUNT_AVAILABLE', { kind: 'accounts' }],
  ['ACCOUNT_REMOVED', { kind: 'accounts' }],
  ['ACCOUNT_TRANSACTIONS_INITIAL_UPDATE', { kind: 'rows' }],
  ['ACCOUNT_TRANSACTIONS_UPDATED', { kind: 'rows' }],
  ['ACCOUNT_HOLDINGS_UPDATED', { kind: 'holdings' }],
]
for (const [eventType, change] of told) {
  test(`${eventType} applies to its own connection`, async () => {
    const { notices, oddities } = await noticesOf({ eventType, accountId: 'acc-1' })
    assert.deepEqual(notices, [
      {
        login: { upstreamUserId: 'user-1' },
        connection: 'auth-1',
        // Only a status must not be taken for that of another connection to the same broker.
        institutionId: 'status' in change ? null : 'broker-1',
        account: 'acc-1',
        refreshedAt: null,
        change,
      },
    ])
    assert.deepEqual(oddities, [])
  })
}

test('a status without a connection id applies to none: a sync asks the provider', async () => {
  const { notices } = await noticesOf({
    eventType: 'CONNECTION_DELETED',
    brokerageAuthorizationId: undefined,
  })
  assert.deepEqual([notices[0]?.connection, notices[0]?.change], [null, { kind: 'consent' }])
})

test('events about the portal, users and orders give no notice; unknown events are counted', async () => {
  for (const eventType of ['USER_REGISTERED', 'CONNECTION_ATTEMPTED', 'TRADE_UPDATE']) {
    assert.deepEqual(await noticesOf({ eventType }), { notices: [], oddities: [] })
  }
  for (const eventType of ['CONNECTION_PAINTED', undefined, 4]) {
    assert.deepEqual(await noticesOf({ eventType }), { notices: [], oddities: ['unknown webhook'] })
  }
})

test('repetitions are known by the id of the webhook', async () => {
  const keyOf = async (more: object) => {
    const body = JSON.stringify({ ...fields, eventType: 'USER_REGISTERED', ...more })
    const verdict = await receive(body, sign(body))
    return verdict.kind === 'accepted' ? verdict.key : assert.fail('refused')
  }
  const key = await keyOf({})
  assert.equal(await keyOf({ eventTimestamp: '2026-08-12T18:20:00Z' }), key)
  assert.notEqual(await keyOf({ webhookId: 'w2' }), key)
})
