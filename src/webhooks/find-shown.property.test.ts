import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type EventId, newId } from '#kernel/ids.ts'
import { findShown } from './find-shown.ts'
import { mintSecret, signatureHeaders } from './sign.ts'
import { toSnippet } from './snippet.ts'

const hexOf = (letter: string, digits: number) =>
  letter.charCodeAt(0).toString(16).padStart(digits, '0')
const every = (write: (letter: string) => string) => (text: string) =>
  text.replace(/[\s\S]/g, write)
const marks = (write: (letter: string) => string) => (text: string) =>
  text.replace(/[^a-z0-9]/gi, write)
const bytes = (encoding: BufferEncoding) => (text: string) => Buffer.from(text).toString(encoding)

/** How receivers write down what they were sent. */
const writers: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  JSON: (text) => JSON.stringify(text),
  'JSON with escaped slashes': (text) => JSON.stringify(text).replaceAll('/', '\\/'),
  'JSON with escaped marks': marks((letter) => `\\u${hexOf(letter, 4)}`),
  'JSON with all escaped': every((letter) => `\\u${hexOf(letter, 4).toUpperCase()}`),
  'a URL': encodeURIComponent,
  'a URL in lower case': (text) =>
    encodeURIComponent(text).replace(/%../g, (one) => one.toLowerCase()),
  'a URL with all escaped': every((letter) => `%${hexOf(letter, 2)}`),
  'a form that was decoded': (text) => text.replaceAll('+', ' '),
  'HTML by number': marks((letter) => `&#${letter.charCodeAt(0)};`),
  'HTML by hexadecimal number': every((letter) => `&#x${hexOf(letter, 2)};`),
  'HTML by name': (text) =>
    text.replaceAll('+', '&plus;').replaceAll('/', '&sol;').replaceAll('=', '&equals;'),
  'the inspector': every((letter) => `\\x${hexOf(letter, 2)}`),
  base64: bytes('base64'),
  'base64 in lines': (text) => bytes('base64')(text).replace(/.{30}/g, '$&\r\n'),
  'base64 for URLs': bytes('base64url'),
  hexadecimal: bytes('hex'),
  'hexadecimal in pairs': (text) => bytes('hex')(text).replace(/../g, '$& '),
}

/** These may cut an escape in two, so that they come before the others. */
const breakers: Readonly<Record<string, (text: string) => string>> = {
  lines: (text) => text.replace(/.{10}/g, '$&\n'),
  'lines of HTML': (text) => text.replace(/.{16}/g, '$&<br/>\n'),
  'quoted-printable': (text) => text.replaceAll('=', '=3D').replace(/.{20}/g, '$&=\r\n'),
}

const writer = fc.constantFrom(...Object.entries(writers))
const anyWriter = fc.constantFrom(...Object.entries({ ...writers, ...breakers }))
const word = fc.string({ unit: fc.constantFrom(...'abc XYZ09.,:;-+/="'), maxLength: 40 })

test('a secret or signature is found in whatever way a receiver wrote it, also in two ways one inside the other', () => {
  fc.assert(
    fc.property(anyWriter, writer, word, word, ([, first], [, second], before, behind) => {
      const secret = mintSecret()
      const body = Buffer.from('{}')
      const headers = signatureHeaders({ id: newId<EventId>(), timestamp: 1, body }, [secret])
      for (const exact of [secret, headers['webhook-signature']]) {
        const shown = second(`${before} ${first(exact)} ${behind}`)
        assert.notDeepEqual(findShown(shown, [exact]), [], shown)
        const kept = Buffer.from(toSnippet(shown, [exact], (text) => text) ?? []).toString()
        assert.ok(kept.includes('[secret]'), kept)
        assert.deepEqual(findShown(kept, [exact]), [], kept)
      }
    }),
    { numRuns: 1000 },
  )
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
