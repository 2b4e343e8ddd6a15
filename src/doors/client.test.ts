/** The client's address behind proxies: what is no address never becomes one. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { clientAddress } from './client.ts'

function addressOf(forwarded: string, peer = '10.0.0.1'): string {
  const request = { socket: { remoteAddress: peer }, headers: { 'x-forwarded-for': forwarded } }
  return clientAddress(request as unknown as IncomingMessage, (one) => one.startsWith('10.'))
}

for (const [forwarded, address] of [
  ['203.0.113.7', '203.0.113.7'],
  ['198.51.100.1, 203.0.113.7:4711, 10.0.0.2', '203.0.113.7'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['203.0.113.7, ', '203.0.113.7'],
  ['', '10.0.0.1'],
  ['garbage', '10.0.0.1'],
  ['unknown', '10.0.0.1'],
  ['_hidden, 10.0.0.2', '10.0.0.1'],
  ['203.0.113.7, garbage, 10.0.0.2', '10.0.0.1'],
  ['203.0.113.7.8', '10.0.0.1'],
  ['fe80::1%anything', '10.0.0.1'],
  ['10.0.0.3', '10.0.0.1'],
] as const) {
  test(`X-Forwarded-For ${JSON.stringify(forwarded)} of a trusted proxy: the client is ${address}`, () => {
    assert.equal(addressOf(forwarded), address)
  })
}

test('X-Forwarded-For of anybody else counts for nothing', () => {
  assert.equal(addressOf('203.0.113.7', '198.51.100.9'), '198.51.100.9')
})
