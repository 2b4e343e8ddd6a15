import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AccountId, newId } from '#kernel/ids.ts'
import { anyCharacter } from '#tests/support/any-character.ts'
import { makeFingerprints } from './fingerprints.ts'
import type { RowFingerprint } from './ledger-code.ts'

const account = newId<AccountId>()

function toBytes(print: RowFingerprint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(print)
  return bytes
}

test('R35: a fingerprint is HMAC-SHA256 under the user’s key, cut short, whatever the text and its length', () => {
  const texts = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 5000 }),
    fc.string({ unit: 'grapheme', maxLength: 200 }),
  )
  const keys = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(keys, fc.array(texts, { maxLength: 5 }), (key, list) => {
      const prints = makeFingerprints(key, account)
      const expect = (text: string) =>
        createHmac('sha256', key).update(text, 'utf8').digest().subarray(0, 8)
      for (const text of list) {
        assert.deepEqual(toBytes(prints.idOf(text)), expect(`id|${account}|${text}`))
        const content = expect(`content|${account}|${text.length}|${text}[1]`)
        content[7] = (content[7] ?? 0) & ~1
        assert.deepEqual(toBytes(prints.contentOf(text, '[1]')), content)
      }
    }),
  )
})

test('R35: the fingerprint of a content says where the id ends and the content begins', () => {
  const prints = makeFingerprints(new Uint8Array(32), account)
  const text = fc.string({ minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(text, fc.nat(), fc.nat(), (whole, one, other) => {
      const split = (at: number) => prints.contentOf(whole.slice(0, at), whole.slice(at))
      const [left, right] = [one % (whole.length + 1), other % (whole.length + 1)]
      assert.equal(split(left) === split(right), left === right)
    }),
  )
})
