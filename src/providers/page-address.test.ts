import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPageAddress } from './page-address.ts'

test('a page on the web, and one of this machine, is an address for a browser', () => {
  for (const text of [
    'https://oauth.akahu.nz/?state=a%20b',
    'http://127.0.0.1:4020/authorize?x=1',
    'http://[::1]:4020/',
    'http://localhost/',
  ]) {
    assert.equal(readPageAddress(text), text)
  }
})

test('anything else a provider may answer is no address for a browser', () => {
  const refused: readonly unknown[] = [
    null,
    7,
    '',
    '/portal',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,hello',
    'http://example.test/',
    'http://127.0.0.1.example.test/',
    'https://person:word@example.test/',
    'https://example.test/a b',
    'https://example.test/\u202e',
    ' https://example.test/',
    'https://',
    `https://example.test/${'a'.repeat(4_096)}`,
  ]
  for (const text of refused) assert.equal(readPageAddress(text), null, String(text))
})
