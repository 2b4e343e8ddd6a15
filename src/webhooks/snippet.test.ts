import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeRedactor } from '#telemetry/redact.ts'
import { anyCharacter } from '#tests/support/any-character.ts'
import { mintSecret, signatureHeaders } from './sign.ts'
import { toSnippet } from './snippet.ts'

const same = (text: string) => text
const textOf = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString())

test('the first KiB of an answer is kept, never a broken character at its end', () => {
  assert.equal(textOf(toSnippet('fine', [], same)), 'fine')
  assert.equal(toSnippet('', [], same), null)
  assert.equal(toSnippet('x'.repeat(5000), [], same)?.byteLength, 1024)
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 200, maxLength: 2000 }), (text) => {
      const clean = text.toWellFormed()
      const kept = textOf(toSnippet(clean, [], same)) ?? ''
      assert.ok(clean.startsWith(kept))
      assert.ok(Buffer.byteLength(kept) <= 1024)
    }),
  )
})

test('a receiver that shows what it was sent shows neither secret nor signature', () => {
  const redact = makeRedactor()
  const secrets = [mintSecret(), mintSecret()]
  const headers = signatureHeaders(
    { id: 'id' as never, timestamp: 1, body: Buffer.from('{}') },
    secrets,
  )
  const list = headers['webhook-signature']
  const exact = [...secrets, ...list.split(' ')]
  const encoded = encodeURIComponent(list)
  for (const answer of [
    JSON.stringify({ headers }),
    `webhook-signature: ${list}\n`,
    `<td>${list}</td>`,
    `query=${encoded}`,
    `${'x'.repeat(4090)}${list}`,
    `secret is ${secrets[0]} or ${secrets[1]}`,
  ]) {
    const kept = textOf(toSnippet(answer, exact, redact)) ?? ''
    for (const secret of exact) {
      assert.ok(!kept.includes(secret), answer)
      assert.ok(!kept.includes(secret.slice(3, 20)), answer)
    }
  }
})
