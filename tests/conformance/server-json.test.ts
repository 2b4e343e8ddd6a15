/**
 * `server.json` keeps the rules of the MCP registry's schema of 2025-12-11, and says what the product says.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const read = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))
const entry = read('server.json')

test('its names and texts have the form and the length that the registry allows', () => {
  assert.match(entry.name, /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
  assert(entry.title.length >= 1 && entry.title.length <= 100)
  assert(entry.description.length >= 1 && entry.description.length <= 100)
})

test('its version is that of the package', () => {
  assert.equal(entry.version, read('package.json').version)
})

test('it offers the streamable transport at /mcp of a server that its reader names', () => {
  const [remote, ...more] = entry.remotes
  assert.deepEqual(more, [])
  assert.equal(remote.type, 'streamable-http')
  assert.match(remote.url, /^https:\/\/\S+\/mcp$/)
  const asked = [...remote.url.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  assert.deepEqual(asked, Object.keys(remote.variables))
})
