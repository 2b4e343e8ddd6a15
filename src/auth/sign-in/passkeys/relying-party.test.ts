import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAtHome, toRelyingParty } from './relying-party.ts'

const at = (base: string, over: { readonly mcp?: string; readonly auth?: string } = {}) =>
  toRelyingParty({ base, mcp: base, auth: base, ...over })

test('passkeys belong to the host of BASE_URL, and work at our addresses below it alone', () => {
  assert.deepEqual(at('https://tributary.example.com'), {
    id: 'tributary.example.com',
    origins: ['https://tributary.example.com'],
  })
  const party = at('https://example.com:8443', {
    mcp: 'https://mcp.example.com',
    auth: 'https://example.com.evil.test',
  })
  assert.deepEqual(party, {
    id: 'example.com',
    origins: ['https://example.com:8443', 'https://mcp.example.com'],
  })
  const beside = at('https://example.com', { auth: 'https://notexample.com' })
  assert.deepEqual(beside?.origins, ['https://example.com'])
})

test('on the machine itself they belong to localhost; an IP address or plain http has none', () => {
  const local = { id: 'localhost', origins: ['http://localhost:8080'] }
  assert.deepEqual(at('http://localhost:8080'), local)
  assert.deepEqual(at('http://127.0.0.1:8080'), local)
  assert.deepEqual(at('http://[::1]:8080'), local)
  assert.deepEqual(at('http://127.0.0.1')?.origins, ['http://localhost'])
  assert.deepEqual(at('http://tributary.localhost')?.id, 'tributary.localhost')
  for (const base of [
    ...['http://192.0.2.7', 'https://192.0.2.7', 'https://127.0.0.1', 'https://[2001:db8::1]'],
    ...['http://tributary.example.com', 'http://localhost.evil.test'],
  ]) {
    assert.equal(at(base), null, base)
  }
})

test('a page offers them under their own host and port alone, in any case', () => {
  const party = at('https://tributary.example.com:8443')
  assert(party !== null)
  assert.ok(isAtHome(party, 'Tributary.example.com:8443'))
  for (const host of ['tributary.example.com', 'evil.test', '', undefined]) {
    assert.equal(isAtHome(party, host), false, host ?? 'none')
  }
})
