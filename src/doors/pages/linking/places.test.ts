import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toReturnOrigin } from './places.ts'

const returnTo = (base: string, host: string) =>
  toReturnOrigin({ origins: () => ({ base, mcp: base, auth: base }) }, { headers: { host } })

test('a browser returns by the scheme of the public origin, also where a proxy serves https on this machine', () => {
  assert.equal(returnTo('https://127.0.0.1:8443', 'localhost:8443'), 'https://localhost:8443')
  assert.equal(returnTo('http://127.0.0.1:3000', 'LOCALHOST:3000'), 'http://localhost:3000')
  assert.equal(returnTo('https://bank.example', 'bank.example'), 'https://bank.example')
  assert.equal(returnTo('https://bank.example', '127.0.0.1:3000'), 'https://bank.example')
})
