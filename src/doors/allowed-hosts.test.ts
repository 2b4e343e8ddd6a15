import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Origins } from '#contract/origins.ts'
import { makeAllowedHosts } from './allowed-hosts.ts'

const origins: Origins = {
  base: 'https://money.example.com',
  mcp: 'https://agents.example.com:8443',
  auth: 'https://sign-in.example.com',
}
const outside = makeAllowedHosts({ origins: () => origins, isLoopback: false })
const inside = makeAllowedHosts({ origins: () => origins, isLoopback: true })
const asked = (host?: string) => ({ headers: host === undefined ? {} : { host } })

test('behind a public name the configured names count, whatever their ports, and no loopback one', () => {
  for (const host of ['money.example.com', 'AGENTS.example.com:8443', 'sign-in.example.com:1']) {
    assert.equal(outside.isOwnHost(asked(host)), true, host)
  }
  for (const host of [
    'localhost',
    '127.0.0.1',
    'example.com',
    'x.money.example.com',
    'money.example.com.evil.test',
    'evil.test@money.example.com',
    'money.example.com:80:80',
    '',
  ]) {
    assert.equal(outside.isOwnHost(asked(host)), false, host)
  }
  assert.equal(outside.isOwnHost(asked()), false, 'no name at all')
})

test('on a loopback listener its own names count beside the configured ones, as behind a tunnel', () => {
  for (const host of ['localhost:3000', '127.0.0.1', '[::1]:3000', 'agents.example.com']) {
    assert.equal(inside.isOwnHost(asked(host)), true, host)
  }
  assert.equal(inside.isOwnHost(asked('10.0.0.7')), false)
})

test('the name in an origin is one of ours whatever its scheme and port, and nothing else is', () => {
  for (const origin of ['https://sign-in.example.com', 'http://agents.example.com:1']) {
    assert.equal(outside.isOwnName(origin), true, origin)
  }
  for (const origin of ['https://evil.example.com', 'null', '', 'file://', 'http://localhost:1']) {
    assert.equal(outside.isOwnName(origin), false, origin)
  }
  assert.equal(inside.isOwnName('http://localhost:6274'), true)
})

test('an origin is ours only when it is equal, on loopback also when it is the requested one', () => {
  const host = 'localhost:3000'
  assert.equal(outside.isOwnOrigin(origins.auth, asked('money.example.com')), true)
  for (const origin of ['http://sign-in.example.com', 'https://agents.example.com', 'null']) {
    assert.equal(outside.isOwnOrigin(origin, asked('money.example.com')), false, origin)
  }
  assert.equal(inside.isOwnOrigin('http://localhost:3000', asked(host)), true)
  assert.equal(inside.isOwnOrigin('http://localhost:6274', asked(host)), false)
  assert.equal(outside.isOwnOrigin('http://localhost:3000', asked(host)), false)
})

test('names that are known only once the server listens are read late', () => {
  let base = 'http://127.0.0.1:0'
  const names = makeAllowedHosts({
    origins: () => ({ base, mcp: base, auth: base }),
    isLoopback: false,
  })
  assert.equal(names.isOwnHost(asked('late.example.com')), false)
  base = 'https://late.example.com'
  assert.equal(names.isOwnHost(asked('late.example.com')), true)
})
