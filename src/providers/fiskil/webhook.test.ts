/** Fiskil's webhooks: the official vector, both forms of the signature, and what each event means here. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import type { WebhookNotice } from '../port.ts'
import { makeFiskilWebhooks } from './webhook.ts'

/** From the documentation of the provider; the signature was computed with its rule. */
const vector = {
  secret:
    'jf+cnWPind3y0kYqJM4cPAC/8kNcwVXE8/fKs/Kz/SxXIkhVfvV8yh8dtEX9+K2PsmItKu5Jqqwy7cw2JQ+ozsSo2M9qmwpPxRMCREO+',
  body: '{"publish_time":"2023-11-23T03:03:30.792Z","message_id":"9790112556309026","data":{"consent_id":"4a726862-6b39-4cd5-92c0-3d20fe96a202","client_id":"2XbIYazvJeBwaJx1xCaFar64uVk","end_user_id":"2YPr9YiWLNj3KZt9ycjbvy4bRx5","institution_id":"1"}}',
  signature: 'IzCU0JfFkAFOb+uwl+7tKiblh3ZRGkG6r5OyNTEefic=',
}
const now = Date.parse('2026-11-20T21:15:00Z')

function receive(body: string, signature: string | undefined, oddities: string[] = []) {
  const { receive } = makeFiskilWebhooks({
    secret: vector.secret,
    clock: { now: () => now },
    odd: (what) => oddities.push(what),
  })
  const header = (name: string) => (name === 'x-fiskil-signature' ? signature : undefined)
  return receive({ header, body: Buffer.from(body) })
}

const sign = (text: string) =>
  createHmac('sha256', Buffer.from(vector.secret, 'base64')).update(text).digest('base64')

async function noticesOf(data: object, publishTime = '2026-11-20T21:14:30.5Z') {
  const body = JSON.stringify({ message_id: 'm1', publish_time: publishTime, data })
  const oddities: string[] = []
  const verdict = await receive(body, sign(body), oddities)
  assert.equal(verdict.kind, 'accepted')
  return { notices: verdict.kind === 'accepted' ? verdict.notices : [], oddities }
}

test('the vector of the documentation is accepted', async () => {
  const verdict = await receive(vector.body, vector.signature)
  assert.equal(verdict.kind, 'accepted')
})

test('a signature over the body without blanks and line ends is accepted, as the official recipe makes it', async () => {
  const spread = JSON.stringify(JSON.parse(vector.body), null, 2).replaceAll('\n', '\r\n')
  assert.notEqual(spread, vector.body)
  assert.equal((await receive(spread, vector.signature)).kind, 'accepted')
  assert.equal((await receive(spread, sign(spread))).kind, 'accepted')
})

const forgeries: [what: string, signature: string | undefined, reason: string][] = [
  ['without a signature', undefined, 'unsigned'],
  ['with an empty signature', '', 'forged'],
  ['with another signature', sign('another body'), 'forged'],
  ['signed with the text of the secret', hmacOf(vector.secret), 'forged'],
  ['with the signature as hex', Buffer.from(vector.signature, 'base64').toString('hex'), 'forged'],
  ['with the signature without its padding', vector.signature.replace('=', ''), 'forged'],
]
for (const [what, signature, reason] of forgeries) {
  test(`a webhook ${what} is refused`, async () => {
    assert.deepEqual(await receive(vector.body, signature), { kind: 'refused', reason })
  })
}

function hmacOf(key: string): string {
  return createHmac('sha256', key).update(vector.body).digest('base64')
}

test('a signed body that is no JSON object is refused as unreadable', async () => {
  for (const body of ['', 'null', '[]', '"text"', '{"data":']) {
    assert.deepEqual(await receive(body, sign(body)), { kind: 'refused', reason: 'unreadable' })
  }
})

const ids = {
  end_user_id: 'eu_1',
  client_id: 'client',
  institution_id: '22',
  consent_id: '4a726862-6b39-4cd5-92c0-3d20fe96a202',
}
const events: [event: string, kind: WebhookNotice['change']['kind']][] = [
  ['consent.received', 'consent'],
  ['consent.updated', 'consent'],
  ['consent.revoked', 'consent'],
  ['banking.accounts.sync.completed', 'accounts'],
  ['banking.balances.sync.completed', 'balances'],
  ['banking.transactions.basic.sync.completed', 'rows'],
  ['banking.transactions.recent.sync.completed', 'rows'],
  ['banking.transactions.sync.completed', 'rows'],
]
for (const [event, kind] of events) {
  test(`${event} means ${kind} of this person's consent`, async () => {
    const { notices, oddities } = await noticesOf({ event, ...ids })
    const published = Date.parse('2026-11-20T21:14:30.500Z')
    assert.deepEqual(notices, [
      {
        login: { upstreamUserId: 'eu_1' },
        connection: ids.consent_id,
        institutionId: '22',
        account: null,
        refreshedAt: kind === 'consent' ? null : published,
        change: { kind },
      },
    ])
    assert.deepEqual(oddities, [])
  })
}

test('a time of the future is not when the bank was read', async () => {
  const event = 'banking.balances.sync.completed'
  const { notices } = await noticesOf({ event, ...ids }, '2027-01-01T00:00:00Z')
  assert.equal(notices[0]?.refreshedAt, now)
  const unreadable = await noticesOf({ event, ...ids }, 'soon')
  assert.equal(unreadable.notices[0]?.refreshedAt, null)
})

test('events about data that we do not serve give no notice; unknown ones are counted', async () => {
  const known = await noticesOf({ event: 'banking.payees.sync.completed', ...ids })
  assert.deepEqual(known, { notices: [], oddities: [] })
  const failed = await noticesOf({ event: 'banking.transactions.sync.failed', ...ids })
  assert.deepEqual(failed.oddities, ['transactions sync failed at the bank'])
  for (const event of ['banking.cards.sync.completed', '', 7, undefined]) {
    const { notices, oddities } = await noticesOf({ ...ids, event })
    assert.deepEqual([notices, oddities], [[], ['unknown webhook']])
  }
  for (const id of [4, '', 'a\0b']) {
    const nobody = await noticesOf({ event: 'consent.updated', end_user_id: id })
    assert.deepEqual(nobody, { notices: [], oddities: ['webhook without a person'] })
  }
})

test('a repeated delivery has the key of the first one, another message has another', async () => {
  const keyOf = async (message: object) => {
    const body = JSON.stringify(message)
    const verdict = await receive(body, sign(body))
    assert.equal(verdict.kind, 'accepted')
    return verdict.kind === 'accepted' ? verdict.key : ''
  }
  const message = { message_id: 'm1', data: { event: 'consent.updated', ...ids } }
  const first = await keyOf({ ...message, delivery_attempt: 1 })
  assert.equal(await keyOf({ ...message, delivery_attempt: 2 }), first)
  assert.notEqual(await keyOf({ ...message, message_id: 'm2' }), first)
  assert.notEqual(await keyOf({ data: 1 }), await keyOf({ data: 2 }))
})

test('blanks that are put into a signed message do not make it another one', async () => {
  const keys = new Set<string>()
  for (const id of ['9790112556309026', '9 790112556309026', '97901  12556309026']) {
    const verdict = await receive(vector.body.replace('9790112556309026', id), vector.signature)
    keys.add(verdict.kind === 'accepted' ? verdict.key : assert.fail('refused'))
  }
  assert.equal(keys.size, 1)
  const withoutId = vector.body.replace('message_id', 'message')
  for (const body of [withoutId, withoutId.replaceAll(',', ', ')]) {
    const verdict = await receive(body, sign(withoutId))
    keys.add(verdict.kind === 'accepted' ? verdict.key : assert.fail('refused'))
  }
  assert.equal(keys.size, 2)
})
