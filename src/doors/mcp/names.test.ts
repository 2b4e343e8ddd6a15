import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { makeNameCheck, type PublicNames } from './names.ts'

function asked(headers: Record<string, string>): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  Object.assign(request.headers, headers)
  return request
}

const origins: PublicNames = {
  base: 'https://money.example.com',
  mcp: 'https://agents.example.com:8443',
  auth: 'https://sign-in.example.com',
}

test('behind a public name the configured names count, whatever their ports, and no loopback one', () => {
  const isOurs = makeNameCheck({ origins: () => origins, isLoopback: false })
  for (const host of ['money.example.com', 'AGENTS.example.com:8443', 'sign-in.example.com:1']) {
    assert.equal(isOurs(asked({ host })), true, host)
  }
  for (const host of ['localhost', '127.0.0.1', 'example.com', 'x.money.example.com', '']) {
    assert.equal(isOurs(asked({ host })), false, host)
  }
  assert.equal(isOurs(asked({})), false, 'no name at all')
})

test('on a loopback listener its own names count beside the configured ones, as behind a tunnel', () => {
  const isOurs = makeNameCheck({ origins: () => origins, isLoopback: true })
  for (const host of ['localhost:3000', '127.0.0.1', '[::1]:3000', 'agents.example.com']) {
    assert.equal(isOurs(asked({ host })), true, host)
  }
  assert.equal(isOurs(asked({ host: '10.0.0.7' })), false)
})

test('an origin must be ours as well; a request of no page has none', () => {
  const isOurs = makeNameCheck({ origins: () => origins, isLoopback: false })
  const from = (origin: string) => isOurs(asked({ host: 'money.example.com', origin }))
  assert.equal(from('https://sign-in.example.com'), true)
  for (const origin of ['https://evil.example.com', 'null', 'file://', 'http://localhost:3000']) {
    assert.equal(from(origin), false, origin)
  }
})

test('names that are known only once the server listens are asked for late', () => {
  let base = 'http://127.0.0.1:0'
  const isOurs = makeNameCheck({
    origins: () => ({ base, mcp: base, auth: base }),
    isLoopback: false,
  })
  assert.equal(isOurs(asked({ host: 'late.example.com' })), false)
  base = 'https://late.example.com'
  assert.equal(isOurs(asked({ host: 'late.example.com' })), true)
})
