/** The format of a key, and which errors its checksum detects before any lookup. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { hashKey, isKeyShaped, mintKey, toKeyStatus } from './keys.ts'

const base62 = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']

test('a minted key has its brand, 39 base62 characters and the hash of the whole', () => {
  const { key, prefix, hash } = mintKey()
  assert.match(key, /^trib_live_[0-9A-Za-z]{39}$/)
  assert.equal(prefix, key.slice(0, 16))
  assert.equal(Buffer.from(hash).toString('hex'), createHash('sha256').update(key).digest('hex'))
  assert.deepEqual(hashKey(key), hash)
  assert.ok(isKeyShaped(key))
})

test('the same 24 bytes give the same key, any other byte another, and further bytes have no effect', () => {
  const bytes = new Uint8Array(32).fill(7)
  const { key } = mintKey(bytes)
  assert.ok(isKeyShaped(key))
  assert.equal(mintKey(bytes.slice(0, 24)).key, key)
  for (let at = 0; at < 24; at += 1) assert.notEqual(mintKey(bytes.with(at, 8)).key, key)
})

test('a thousand minted keys differ in the characters that the pre-auth bucket is named after', () => {
  const prefixes = new Set(Array.from({ length: 1000 }, () => mintKey().prefix))
  assert.ok(prefixes.size > 990)
})

test('any one-character change of a key is refused', () => {
  const { key } = mintKey()
  fc.assert(
    fc.property(
      fc.nat(key.length - 1),
      fc.constantFrom(...base62, '_', '-', ' ', 'é'),
      (at, replacement) => {
        fc.pre(key[at] !== replacement)
        return !isKeyShaped(key.slice(0, at) + replacement + key.slice(at + 1))
      },
    ),
    { numRuns: 2000 },
  )
})

test('two neighbouring characters in the wrong order are refused', () => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 47 }), (at) => {
      const { key } = mintKey()
      fc.pre(key[at] !== key[at + 1])
      const swapped = `${key.slice(0, at)}${key[at + 1]}${key[at]}${key.slice(at + 2)}`
      return !isKeyShaped(swapped)
    }),
    { numRuns: 500 },
  )
})

test('shorter, longer and arbitrary texts are no keys', () => {
  const { key } = mintKey()
  for (const text of ['', key.slice(0, -1), `${key}0`, ` ${key}`, `${key}\n`, key.toUpperCase()]) {
    assert.equal(isKeyShaped(text), false, JSON.stringify(text))
  }
  fc.assert(fc.property(fc.string(), (text) => !isKeyShaped(text)))
})

test('a key is active until its instant of expiry, and a revoked one stays revoked', () => {
  const at = 1_000
  const status = (expiresAt: number | null, revokedAt: number | null = null) =>
    toKeyStatus({ expiresAt, revokedAt }, at)
  assert.deepEqual([status(null), status(at + 1), status(at)], ['active', 'active', 'expired'])
  assert.deepEqual([status(null, at), status(at, at)], ['revoked', 'revoked'])
})
