/**
 * Both clients verify what the service signs; the vectors of Python are written by the same signer
 * (python.test.ts).
 */
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import type { EventId } from '#kernel/ids.ts'
import { mintSecret, signatureHeaders } from '#webhooks/sign.ts'
import { webhooks } from '../../sdk/typescript/index.js'

const id = '5f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10' as EventId
const timestamp = 1_795_144_560
const now = timestamp * 1000
const amount = '-90071992547409931005'
const text = `{"id":"${id}","type":"transactions.synced","data":{"new":[{"id":"t1","amount":${amount},"description":"\\"amount\\": 12 \\u00e9"}],"updated":[]}}`
const body = new Uint8Array(Buffer.from(text))
const secret = mintSecret()
const headers = signatureHeaders({ id, timestamp, body }, [secret])

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'verified',
    (error: unknown) => (error instanceof webhooks.WebhookError ? error.reason : `${error}`),
  )

test('an event that the service signed is verified, and its amounts keep every digit', async () => {
  const event = await webhooks.verify(body, headers, secret, { now })
  assert(event.type === 'transactions.synced')
  assert.equal(event.data.new[0]?.amount, amount)
  assert.equal(event.data.new[0]?.description, '"amount": 12 é')
  assert.equal(
    await reasonOf(webhooks.verify(text, new Headers(headers), secret, { now })),
    'verified',
  )
  const upper = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
  )
  assert.equal(
    await reasonOf(webhooks.verify(body, upper, [mintSecret(), secret], { now })),
    'verified',
  )
})

test('R41: an event about a connection is verified, and its type says what its data are', async () => {
  const at = '2026-11-27T03:00:00.000Z'
  const event = `{"id":"${id}","type":"connection.expiring","data":{"id":"c1","status":"active","expires_at":"${at}"}}`
  const sent = new Uint8Array(Buffer.from(event))
  const signed = signatureHeaders({ id, timestamp, body: sent }, [secret])
  const given = await webhooks.verify(sent, signed, secret, { now })
  assert(given.type === 'connection.expiring')
  assert.deepEqual([given.data.status, given.data.expires_at], ['active', at])
})

test('while a secret is rotated either one verifies', async () => {
  const [old, next] = [mintSecret(), mintSecret()]
  const both = signatureHeaders({ id, timestamp, body }, [next, old])
  for (const one of [old, next]) {
    assert.equal(await reasonOf(webhooks.verify(body, both, one, { now })), 'verified')
  }
})

test('what was changed, is too old or comes from a clock that is off by an hour is refused, with the reason', async () => {
  const changed = Buffer.from(text.replace('t1', 't2'))
  const hour = 3_600_000
  assert.equal(await reasonOf(webhooks.verify(changed, headers, secret, { now })), 'no_match')
  assert.equal(await reasonOf(webhooks.verify(body, headers, mintSecret(), { now })), 'no_match')
  assert.equal(
    await reasonOf(webhooks.verify(body, headers, secret, { now: now + hour })),
    'too_old',
  )
  assert.equal(
    await reasonOf(webhooks.verify(body, headers, secret, { now: now - hour })),
    'too_new',
  )
  const tolerant = { now: now + hour, toleranceSeconds: 3601 }
  assert.equal(await reasonOf(webhooks.verify(body, headers, secret, tolerant)), 'verified')
  for (const name of Object.keys(headers)) {
    const some = { ...headers, [name]: undefined }
    assert.equal(await reasonOf(webhooks.verify(body, some, secret, { now })), 'headers_missing')
  }
  const odd = { ...headers, 'webhook-signature': `v0,abc v1,% ${headers['webhook-signature']}` }
  assert.equal(await reasonOf(webhooks.verify(body, odd, secret, { now })), 'verified')
  const other = { ...headers, 'webhook-signature': 'v1a,abc' }
  assert.equal(await reasonOf(webhooks.verify(body, other, secret, { now })), 'no_match')
})

test('a body that was parsed already, and a secret that is none, say so', async () => {
  const parsed = JSON.parse(text) as never
  await assert.rejects(webhooks.verify(parsed, headers, secret, { now }), /pass the raw body/)
  await assert.rejects(webhooks.verify(body, headers, 'whsec_', { now }), TypeError)
})

test('a signed body that is no JSON is unreadable', async () => {
  const broken = new Uint8Array(Buffer.from('{'))
  const signed = signatureHeaders({ id, timestamp, body: broken }, [secret])
  assert.equal(await reasonOf(webhooks.verify(broken, signed, secret, { now })), 'unreadable')
})

test('thousands of signatures cost no more than one, and a time that is no number is refused', async () => {
  const sign = mock.method(crypto.subtle, 'sign')
  const verify = mock.method(crypto.subtle, 'verify')
  const many = { ...headers, 'webhook-signature': 'v1, '.repeat(4000) }
  assert.equal(await reasonOf(webhooks.verify(body, many, secret, { now })), 'no_match')
  assert.equal(sign.mock.callCount() + verify.mock.callCount(), 1)
  for (const odd of [{ now: Number.NaN }, { now, toleranceSeconds: Number.NaN }]) {
    await assert.rejects(webhooks.verify(body, headers, secret, odd), TypeError)
  }
})
