import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AccountId, newId } from '#kernel/ids.ts'
import { makeFingerprints } from './fingerprints.ts'

const account = newId<AccountId>()

test('R35: a fingerprint is HMAC-SHA256 under the user’s key, cut short, whatever the text and its length', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 5000 }),
    fc.string({ unit: 'grapheme', maxLength: 200 }),
  )
  const keys = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(keys, fc.array(texts, { maxLength: 5 }), (key, list) => {
      const prints = makeFingerprints(key, account)
      const expect = (text: string, length: number) =>
        createHmac('sha256', key).update(text, 'utf8').digest().subarray(0, length)
      for (const text of list) {
        const id = Buffer.from(prints.idOf(text), 'latin1')
        assert.deepEqual(id, expect(`id|${account}|${text}`, 16))
        const content = expect(`content|${text}`, 8)
        content[7] = (content[7] ?? 0) & ~1
        assert.deepEqual(Buffer.from(prints.contentOf(text), 'latin1'), content)
      }
    }),
  )
})
