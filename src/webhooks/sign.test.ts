import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { type EventId, newId } from '#kernel/ids.ts'
import { findForgery, mintSecret, secretsAt, signatureHeaders } from './sign.ts'

/** The library reads the machine's clock. */
const nowSeconds = () => Math.floor(Date.now() / 1000)
const body = Buffer.from('{"type":"transactions.synced","data":{"new":[]}}')

function makeSigned(own: { readonly timestamp?: number; readonly body?: Uint8Array } = {}) {
  return { id: newId<EventId>(), timestamp: nowSeconds(), body, ...own }
}

test('R31: an independent verifier of Standard Webhooks accepts what is signed here, whatever the body', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const secret = mintSecret()
      const signed = makeSigned({ body: Buffer.from(text) })
      const headers = signatureHeaders(signed, [secret])
      assert.deepEqual(new Webhook(secret).verify(text, { ...headers }), JSON.parse(text))
    }),
    { numRuns: 50 },
  )
})

test('R31: while a secret is rotated both verify, the current one first', () => {
  const [current, previous] = [mintSecret(), mintSecret()]
  const headers = signatureHeaders(makeSigned(), [current, previous])
  for (const secret of [current, previous]) {
    new Webhook(secret).verify(body, { ...headers })
    assert.equal(findForgery({ headers, body }, secret, nowSeconds()), null)
  }
  const [first, second, ...rest] = headers['webhook-signature'].split(' ')
  assert.match(first ?? '', /^v1,[A-Za-z0-9+/]{43}=$/)
  assert.match(second ?? '', /^v1,/)
  assert.notEqual(first, second)
  assert.deepEqual(rest, [])
})

test('the verifier refuses another secret, another body, another id and an old stamp; so does ours', () => {
  const secret = mintSecret()
  const signed = makeSigned()
  const headers = signatureHeaders(signed, [secret])
  const old = signatureHeaders(makeSigned({ timestamp: nowSeconds() - 400 }), [secret])
  const cases = [
    { secret: mintSecret(), headers, body },
    { secret, headers, body: Buffer.from(`${body} `) },
    { secret, headers: { ...headers, 'webhook-id': newId() }, body },
    { secret, headers: { ...headers, 'webhook-timestamp': String(signed.timestamp + 1) }, body },
    { secret, headers: old, body },
    { secret, headers: { ...headers, 'webhook-signature': 'v2,abcd' }, body },
    { secret, headers: { ...headers, 'webhook-signature': 'v1,' }, body },
  ]
  for (const one of cases) {
    const given = { ...one.headers }
    assert.throws(() => new Webhook(one.secret).verify(one.body, given), WebhookVerificationError)
    assert.equal(typeof findForgery(one, one.secret, nowSeconds()), 'string')
  }
})

test('what lacks a header, or has a stamp that is no number, is no message of ours', () => {
  const secret = mintSecret()
  const headers = signatureHeaders(makeSigned(), [secret])
  for (const name of Object.keys(headers)) {
    const rest = { ...headers, [name]: undefined }
    assert.match(findForgery({ headers: rest, body }, secret, nowSeconds()) ?? '', /missing/)
  }
  for (const stamp of ['x', '1e9', '-5', `${nowSeconds()}.0`]) {
    const wrong = { ...headers, 'webhook-timestamp': stamp }
    assert.match(findForgery({ headers: wrong, body }, secret, nowSeconds()) ?? '', /timestamp/)
  }
})

test('a secret is whsec_ and 32 random bytes in base64', () => {
  const secrets = Array.from({ length: 100 }, mintSecret)
  assert.equal(new Set(secrets).size, 100)
  for (const secret of secrets) {
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(Buffer.from(secret.slice(6), 'base64').length, 32)
  }
})

test('the previous secret signs until its time is over and not at that instant', () => {
  const secrets = { current: 'whsec_new', previous: { secret: 'whsec_old', until: 1000 } }
  assert.deepEqual(secretsAt(secrets, 999), ['whsec_new', 'whsec_old'])
  assert.deepEqual(secretsAt(secrets, 1000), ['whsec_new'])
  assert.deepEqual(secretsAt({ ...secrets, previous: null }, 0), ['whsec_new'])
})
