/** Checks that a fingerprint does not depend on how the text is given. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { emptyPrint, makeFingerprint, makeFingerprintKey } from './fingerprint.ts'

test('the fingerprint of an ASCII text is that of its bytes, wherever they stand', () => {
  const fingerprint = makeFingerprint(makeFingerprintKey())
  const ascii = fc.string({ unit: 'binary-ascii', maxLength: 40 })
  fc.assert(
    fc.property(ascii, ascii, ascii, (before, text, after) => {
      const [ofText, ofBytes] = [emptyPrint(), emptyPrint()]
      fingerprint.ofText(text, ofText)
      const bytes = Buffer.from(before + text + after)
      fingerprint.ofAscii(bytes, before.length, before.length + text.length, ofBytes)
      assert.deepEqual(ofBytes, ofText)
    }),
  )
})
