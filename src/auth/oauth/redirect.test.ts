import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeRedirect, toShownName } from './redirect.ts'

test('a person sees the host, a browser’s policy gets the narrowest source that works', () => {
  const cases = [
    ['https://claude.ai/api/callback?x=1', 'claude.ai', 'https://claude.ai'],
    ['https://x.test:8443/cb', 'x.test', 'https://x.test:8443'],
    ['http://127.0.0.1:5000/cb', '127.0.0.1', 'http://127.0.0.1:5000'],
    ['http://localhost/cb', 'localhost', 'http://localhost'],
    ['http://[::1]:5000/cb', '[::1]', 'http://*:5000'],
    ['cursor://anysphere.cursor-retrieval/cb', 'cursor://anysphere.cursor-retrieval', 'cursor:'],
    ['com.example.app:/callback', 'com.example.app:', 'com.example.app:'],
  ] as const
  for (const [uri, host, formAction] of cases)
    assert.deepEqual(describeRedirect(uri), { host, formAction }, uri)
})

test('no IPv6 address opens the policy to the ports of the web', () => {
  for (const uri of [
    'http://[::1]/cb',
    'http://[::1]:80/cb',
    'http://[::1]:443/cb',
    'https://[::1]:5000/cb',
    'https://[2001:db8::1]/cb',
    'https://[2001:db8::1]:8443/cb',
  ])
    assert.equal(describeRedirect(uri).formAction, '', uri)
})

test('no part of an address can add a directive to the policy', () => {
  for (const uri of ["https://x.test/;script-src 'unsafe-inline'", 'https://x.test/ *', 'a.b:x;y'])
    assert.doesNotMatch(describeRedirect(uri).formAction, /[\s;,'"*]/)
})

test('a name is one short line without marks that disguise it', () => {
  assert.equal(toShownName('  Claude\n\tDesktop '), 'Claude Desktop')
  assert.equal(toShownName('evil\u202egnp.exe\u2066\u200b'), 'evil gnp.exe')
  assert.equal(toShownName('Ko\u0304whai 銀行 🦜'), 'Ko\u0304whai 銀行 🦜')
  assert.equal([...(toShownName('🦜'.repeat(500)) ?? '')].length, 80)
  for (const empty of [undefined, '', ' \u0000\u200f\n']) assert.equal(toShownName(empty), null)
})
