import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EndpointId, newId, type UserId } from '#kernel/ids.ts'
import { makeSealer, type Sealer } from '../seal.ts'
import { type ReadEndpoint, sealSecrets, sealUrl } from './endpoint-rows.ts'
import { makeOpenedEndpoints } from './opened-endpoints.ts'

const [keyA, keyB] = [new Uint8Array(32).fill(0xa1), new Uint8Array(32).fill(0xb2)]
const id = newId<EndpointId>()
const plain = {
  id,
  userId: newId<UserId>(),
  events: 'transactions.synced',
  skipEmpty: false,
  pending: false,
  health: 'healthy',
  failures: 0,
  failingSince: null,
  warnedDays: 0,
  disabledReason: null,
  createdAt: 0,
} as const

function sealed(sealer: Sealer, current: string, previous: string | null = null): ReadEndpoint {
  const until = 1000
  const columns = sealSecrets(sealer, id, {
    current,
    previous: previous === null ? null : { secret: previous, until },
  })
  return {
    ...plain,
    sealedUrl: sealUrl(sealer, id, 'https://consumer.example.test/').sealed_url,
    secret: columns.secret,
    secretKey: columns.secret_key,
    previousSecret: columns.previous_secret,
    previousUntil: previous === null ? null : until,
  }
}

function counting(keys: readonly Uint8Array[]) {
  const sealer = makeSealer(keys)
  let count = 0
  const opened = makeOpenedEndpoints({
    ...sealer,
    open(...asked) {
      count += 1
      return sealer.open(...asked)
    },
  })
  return { sealer, opened, count: () => count }
}

test('an endpoint is decrypted once for a lease, and its plain columns are those of the row', () => {
  const { sealer, opened, count } = counting([keyA])
  const row = sealed(sealer, 'whsec_one', 'whsec_zero')
  const first = opened.open('lease', row)
  assert.equal(first.endpoint.url, 'https://consumer.example.test/')
  assert.deepEqual(first.secrets, {
    current: 'whsec_one',
    previous: { secret: 'whsec_zero', until: 1000 },
  })
  assert.equal(count(), 3)
  const later = opened.open('lease', { ...row, health: 'degraded', failures: 1, skipEmpty: true })
  assert.deepEqual(later, {
    ...first,
    endpoint: { ...first.endpoint, health: 'degraded', failures: 1, skipEmpty: true },
  })
  assert.equal(count(), 3)
  opened.forget('lease')
  opened.open('lease', row)
  assert.equal(count(), 6)
})

test('secrets that were rotated during the lease are those of the next attempt', () => {
  const { sealer, opened } = counting([keyA])
  opened.open('lease', sealed(sealer, 'whsec_one'))
  const { secrets } = opened.open('lease', sealed(sealer, 'whsec_two', 'whsec_one'))
  assert.deepEqual(secrets, {
    current: 'whsec_two',
    previous: { secret: 'whsec_one', until: 1000 },
  })
  const shorter = { ...sealed(sealer, 'whsec_two', 'whsec_one'), previousUntil: 500 }
  assert.equal(opened.open('lease', shorter).secrets?.previous?.until, 500)
})

test('what was sealed anew under another key is decrypted with that key, or not at all', () => {
  const row = sealed(makeSealer([keyA]), 'whsec_one')
  const resealed = sealed(makeSealer([keyB, keyA]), 'whsec_one')
  const both = counting([keyA, keyB]).opened
  const one = counting([keyA]).opened
  for (const opened of [both, one]) assert.ok(opened.open('lease', row).secrets)
  assert.equal(both.open('lease', resealed).secrets?.current, 'whsec_one')
  const unknown = one.open('lease', resealed)
  assert.equal(unknown.secrets, null)
  assert.equal(unknown.endpoint.url, '')
})

test('leases that are never forgotten do not fill the memory', () => {
  const { sealer, opened, count } = counting([keyA])
  const row = sealed(sealer, 'whsec_one')
  for (let lease = 0; lease <= 128; lease += 1) opened.open(String(lease), row)
  const before = count()
  opened.open('128', row)
  assert.equal(count(), before)
  opened.open('0', row)
  assert.equal(count(), before + 2)
})
