/** Which addresses lead back to this service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeIsOurs } from './own-address.ts'

const base = 'https://money.example.com'
const origins = { base, mcp: 'https://mcp.example.com', auth: base }

test('the public origins and the listener by any address of this machine are ours, others are not', () => {
  const isOurs = makeIsOurs(
    { listener: { host: '0.0.0.0', port: 3000, isLoopback: false } },
    () => origins,
  )
  for (const url of [
    `${base}/simplefin/claim/x`,
    'http://money.example.com/simplefin',
    'https://user:password@MCP.example.com/simplefin',
    'http://127.0.0.1:3000/simplefin',
    'http://127.9.9.9:3000/simplefin',
    'http://localhost:3000/simplefin',
    'http://[::1]:3000/simplefin',
    'http://0.0.0.0:3000/simplefin',
  ]) {
    assert.equal(isOurs(new URL(url)), true, url)
  }
  for (const url of [
    'https://bridge.simplefin.org/simplefin',
    'https://money.example.com:8443/simplefin',
    'http://127.0.0.1:3001/simplefin',
    'http://198.51.100.7:3000/simplefin',
  ]) {
    assert.equal(isOurs(new URL(url)), false, url)
  }
})
