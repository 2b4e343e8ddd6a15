import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asksForOther, settleAuthorization, settleTokenRequest } from './requests.ts'

const resource = 'https://mcp.example.test/mcp'
const scopeOf = (query: string) => settleAuthorization(query, resource).get('scope')

test('scopes: known ones in their order, the default where none is known, offline_access kept', () => {
  assert.equal(scopeOf(''), 'mcp:read')
  assert.equal(scopeOf('scope='), 'mcp:read')
  assert.equal(scopeOf('scope=openid'), 'mcp:read')
  assert.equal(scopeOf('scope=brokerage:read+x+mcp:read+mcp:read'), 'brokerage:read mcp:read')
  assert.equal(scopeOf('scope=offline_access'), 'mcp:read offline_access')
})

test('what is given twice stays twice, for the engine to refuse', () => {
  const params = settleAuthorization('scope=mcp:read&scope=x&state=a&state=b', resource)
  assert.deepEqual(params.getAll('scope'), ['mcp:read', 'x'])
  assert.deepEqual(params.getAll('state'), ['a', 'b'])
})

test('one trailing slash of the resource is removed, no other address is changed', () => {
  const settle = (value: string) =>
    settleAuthorization(`resource=${encodeURIComponent(value)}`, resource).get('resource')
  assert.equal(settle(`${resource}/`), resource)
  assert.equal(settle(resource), resource)
  assert.equal(settle(`${resource}//`), `${resource}//`)
  assert.equal(settle('https://other.test/'), 'https://other.test/')
})

test('a token request asks for ours, for nothing, or for another', () => {
  const asks = (form: string) => asksForOther(settleTokenRequest(form, resource), resource)
  const named = (value: string) => `resource=${encodeURIComponent(value)}`
  assert.equal(asks('code=x'), false)
  assert.equal(asks('resource='), false)
  assert.equal(asks(named(resource)), false)
  assert.equal(asks(named(`${resource}/`)), false)
  assert.equal(asks(named('https://other.test/mcp')), true)
  assert.equal(asks(`${named(resource)}&${named('https://other.test/mcp')}`), true)
})

test('values pass through as they were sent', () => {
  const params = settleTokenRequest('code=a%2Bb%26c&code_verifier=x~y_z-.', resource)
  assert.equal(params.get('code'), 'a+b&c')
  assert.equal(params.get('code_verifier'), 'x~y_z-.')
})
