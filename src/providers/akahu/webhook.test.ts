/** Akahu's webhooks: the signature by a named key, and what each event means here. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { inspect } from 'node:util'
import type { WebhookNotice } from '../port.ts'
import { makeAkahuWebhooks } from './webhook.ts'

const pairs = [2048, 2048].map((modulusLength) => generateKeyPairSync('rsa', { modulusLength }))
const [first, second] = pairs
assert.ok(first !== undefined && second !== undefined)

function makeReceiver() {
  const asked: number[] = []
  const confirmed: number[] = []
  const oddities: string[] = []
  const keys = new Map<number, KeyObject>([
    [4, first?.publicKey as KeyObject],
    [5, second?.publicKey as KeyObject],
  ])
  const receiver = makeAkahuWebhooks({
    keys: {
      async find(id) {
        asked.push(id)
        return keys.get(id) ?? null
      },
      confirm: (id) => void confirmed.push(id),
    },
    odd: (what) => oddities.push(what),
  })
  const receive = (body: string, headers: Readonly<Record<string, string>>) =>
    receiver.receive({ header: (name) => headers[name], body: Buffer.from(body) })
  return { receive, asked, confirmed, oddities }
}

function headersFor(body: string, key = first?.privateKey, id = '4') {
  assert.ok(key !== undefined)
  const signature = sign('sha256', Buffer.from(body), key).toString('base64')
  return { 'x-akahu-signature': signature, 'x-akahu-signing-key': id }
}

const state = 'c0ffee00-0000-4000-8000-000000000001'

async function noticesOf(fields: object) {
  const { receive, oddities } = makeReceiver()
  const body = JSON.stringify({ state, ...fields })
  const verdict = await receive(body, headersFor(body))
  assert.equal(verdict.kind, 'accepted')
  return { notices: verdict.kind === 'accepted' ? verdict.notices : [], oddities }
}

test('a webhook that the named key signed is accepted, and only then the key counts as in use', async () => {
  const { receive, confirmed } = makeReceiver()
  const body = JSON.stringify({ webhook_type: 'ACCOUNT', webhook_code: 'CREATE', state })
  assert.equal((await receive(body, headersFor(body))).kind, 'accepted')
  assert.equal((await receive(body, headersFor(body, second?.privateKey, '5'))).kind, 'accepted')
  assert.deepEqual(confirmed, [4, 5])
})

const body = '{"webhook_type":"ACCOUNT","webhook_code":"CREATE"}'
const good = headersFor(body)
const forgeries: [what: string, headers: Readonly<Record<string, string>>, reason: string][] = [
  ['without a signature', { 'x-akahu-signing-key': '4' }, 'unsigned'],
  ['without the id of a key', { 'x-akahu-signature': good['x-akahu-signature'] }, 'unsigned'],
  ['with an empty signature', { ...good, 'x-akahu-signature': '' }, 'forged'],
  ['of another body', headersFor(`${body} `), 'forged'],
  ['signed by another key than it names', headersFor(body, second?.privateKey, '4'), 'forged'],
  ['of a key that there is not', headersFor(body, first?.privateKey, '6'), 'forged'],
]
for (const [what, headers, reason] of forgeries) {
  test(`a webhook ${what} is refused`, async () => {
    const { receive, confirmed } = makeReceiver()
    assert.deepEqual(await receive(body, headers), { kind: 'refused', reason })
    assert.deepEqual(confirmed, [])
  })
}

test('only whole numbers are requested as ids of keys', async () => {
  for (const id of ['', 'x', '-1', '4.0', '04', '4 ', '1e3', '../token', '1234567890', '4, 4']) {
    const { receive, asked } = makeReceiver()
    const headers = { ...good, 'x-akahu-signing-key': id }
    assert.deepEqual(await receive(body, headers), { kind: 'refused', reason: 'forged' })
    assert.deepEqual(asked, [], id)
  }
})

test('a signature that is not canonical Base64 is never verified with a key', async () => {
  const signature = good['x-akahu-signature']
  for (const text of [`${signature}=`, signature.replace('=', ''), `${signature} `, '!!!!']) {
    const { receive, asked } = makeReceiver()
    const headers = { ...good, 'x-akahu-signature': text }
    assert.deepEqual(await receive(body, headers), { kind: 'refused', reason: 'forged' })
    assert.deepEqual(asked, [])
  }
})

test('a signed body that is no JSON object is refused as unreadable', async () => {
  for (const text of ['', 'null', '[1]']) {
    const { receive } = makeReceiver()
    const verdict = await receive(text, headersFor(text))
    assert.deepEqual(verdict, { kind: 'refused', reason: 'unreadable' })
  }
})

const migrate = { webhook_type: 'ACCOUNT', webhook_code: 'MIGRATE' }

type Kind = WebhookNotice['change']['kind']
const events: [fields: object, kinds: Kind[], account: string | null][] = [
  [{ webhook_type: 'ACCOUNT', webhook_code: 'CREATE', item_id: 'acc_1' }, ['accounts'], 'acc_1'],
  [{ webhook_type: 'ACCOUNT', webhook_code: 'DELETE', item_id: 'acc_1' }, ['accounts'], 'acc_1'],
  [{ ...migrate, previous_item_id: 'acc_1', new_item_id: 'acc_2' }, ['accounts'], null],
  [{ ...update('balance') }, ['balances'], 'acc_1'],
  [{ ...update('status') }, ['consent'], 'acc_1'],
  [{ ...update('balance', 'status') }, ['balances', 'consent'], 'acc_1'],
  [{ ...update('name') }, ['accounts'], 'acc_1'],
  [{ ...update('name', 'balance') }, ['balances', 'accounts'], 'acc_1'],
  [{ ...update() }, ['accounts'], 'acc_1'],
  [{ ...transactions('INITIAL_UPDATE'), new_transactions: 3 }, ['rows'], 'acc_1'],
  [{ ...transactions('DEFAULT_UPDATE'), new_transactions: 1 }, ['rows'], 'acc_1'],
  [{ ...transactions('DELETE'), removed_transactions: ['trans_1'] }, ['rows'], 'acc_1'],
  [{ webhook_type: 'ACCOUNT', webhook_code: 'WEBHOOK_CANCELLED' }, ['cancelled'], null],
  [{ webhook_type: 'TOKEN', webhook_code: 'WEBHOOK_CANCELLED' }, ['cancelled'], null],
]
for (const [fields, kinds, account] of events) {
  test(`${JSON.stringify(fields)} means ${kinds.join(' and ')}`, async () => {
    const { notices, oddities } = await noticesOf(fields)
    assert.deepEqual(
      notices.map(({ change }) => change.kind),
      kinds,
    )
    for (const notice of notices) {
      assert.deepEqual(notice.login, { reference: state })
      assert.equal(notice.account, account)
    }
    assert.deepEqual(oddities, [])
  })
}

function update(...updated_fields: string[]) {
  return { webhook_type: 'ACCOUNT', webhook_code: 'UPDATE', item_id: 'acc_1', updated_fields }
}

function transactions(webhook_code: string) {
  return { webhook_type: 'TRANSACTION', webhook_code, item_id: 'acc_1' }
}

test('a deleted token is reported as a secret: it is in no text and in no other field', async () => {
  const token = 'user_token_ckcanary'
  const { notices } = await noticesOf({
    webhook_type: 'TOKEN',
    webhook_code: 'DELETE',
    item_id: token,
  })
  const [notice] = notices
  assert.ok(notice?.change.kind === 'secret_revoked')
  assert.equal(notice.change.secret.reveal(), token)
  assert.equal(notice.account, null)
  assert.ok(!(inspect(notices, { depth: 9 }) + JSON.stringify(notices)).includes('canary'))
})

test('older kinds give no notice; unknown kinds and events without our reference are counted', async () => {
  for (const webhook_type of ['TRANSFER', 'PAYMENT', 'INCOME']) {
    const told = await noticesOf({ webhook_type, webhook_code: 'UPDATE' })
    assert.deepEqual(told, { notices: [], oddities: [] })
  }
  const unknown = [
    { webhook_type: 'IDENTITY', webhook_code: 'UPDATE' },
    { webhook_type: 'TOKEN', webhook_code: 'DELETE' },
    { webhook_type: 4 },
    {},
  ]
  for (const fields of unknown) {
    const told = await noticesOf(fields)
    assert.deepEqual(told, { notices: [], oddities: ['unknown webhook'] })
  }
  const nobody = await noticesOf({ ...update('balance'), state: undefined })
  assert.deepEqual(nobody, { notices: [], oddities: ['webhook without a person'] })
})

test('repetitions are known by the bytes of their body', async () => {
  const { receive } = makeReceiver()
  const keyOf = async (text: string) => {
    const verdict = await receive(text, headersFor(text))
    return verdict.kind === 'accepted' ? verdict.key : assert.fail('refused')
  }
  assert.equal(await keyOf(body), await keyOf(body))
  assert.notEqual(await keyOf(body), await keyOf(body.replace('CREATE', 'DELETE')))
})
