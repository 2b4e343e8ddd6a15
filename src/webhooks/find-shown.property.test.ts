import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type EventId, newId } from '#kernel/ids.ts'
import { findShown } from './find-shown.ts'
import { mintSecret, signatureHeaders } from './sign.ts'
import { toSnippet } from './snippet.ts'

const hexOf = (letter: string) => letter.charCodeAt(0).toString(16).padStart(4, '0')
const bytes = (encoding: BufferEncoding) => (text: string) => Buffer.from(text).toString(encoding)

/** How receivers write down what they were sent. */
const writers: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  JSON: (text) => JSON.stringify(text),
  'JSON with escaped slashes': (text) => JSON.stringify(text).replaceAll('/', '\\/'),
  'JSON with escaped marks': (text) =>
    text.replace(/[^a-z0-9]/gi, (letter) => `\\u${hexOf(letter)}`),
  'a URL': encodeURIComponent,
  'a URL in lower case': (text) =>
    encodeURIComponent(text).replace(/%../g, (one) => one.toLowerCase()),
  base64: bytes('base64'),
  'base64 for URLs': bytes('base64url'),
  hexadecimal: bytes('hex'),
  'hexadecimal in upper case': (text) => bytes('hex')(text).toUpperCase(),
}

const anyWriter = fc.constantFrom(...Object.entries(writers))
const word = fc.string({ unit: fc.constantFrom(...'abc XYZ09.,:;-+/="'), maxLength: 40 })

test('a secret or signature is found in whatever way a receiver wrote it, with whatever stands around it', () => {
  fc.assert(
    fc.property(anyWriter, word, word, ([, write], before, behind) => {
      const secret = mintSecret()
      const body = Buffer.from('{}')
      const headers = signatureHeaders({ id: newId<EventId>(), timestamp: 1, body }, [secret])
      for (const exact of [secret, headers['webhook-signature']]) {
        const shown = write(`${before} ${exact} ${behind}`)
        assert.notDeepEqual(findShown(shown, [exact]), [], shown)
        const kept = Buffer.from(toSnippet(shown, [exact], (text) => text) ?? []).toString()
        assert.ok(kept.includes('[secret]'), kept)
        assert.deepEqual(findShown(kept, [exact]), [], kept)
      }
    }),
    { numRuns: 1000 },
  )
})

test('the bytes of a secret in hexadecimal are found too', () => {
  const secret = mintSecret()
  const hex = Buffer.from(secret.slice('whsec_'.length), 'base64').toString('hex')
  assert.deepEqual(findShown(`key ${hex}.`, [secret]), [[4, 4 + hex.length]])
})

test('what stands around a secret is kept, and a text without one is kept whole', () => {
  fc.assert(
    fc.property(word, word, anyWriter, (before, behind, [, write]) => {
      const secret = mintSecret()
      const [start, end] = [`${before}<`, `>${behind}`]
      const text = `${start}${write(secret)}${end}`
      const kept = Buffer.from(toSnippet(text, [secret], (same) => same) ?? []).toString()
      assert.ok(kept.startsWith(start) && kept.endsWith(end), kept)
      const other = Buffer.from(toSnippet(text, [mintSecret()], (same) => same) ?? []).toString()
      assert.equal(other, text.slice(0, 1024))
    }),
  )
})
