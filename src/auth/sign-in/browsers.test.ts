/** What the cookie of a browser that signed in before proves, and what it does not. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { newId, type UserId } from '#kernel/ids.ts'
import { makeSealer } from '#store/seal.ts'
import { browserLifeMs, makeBrowsers } from './browsers.ts'

let now = Date.UTC(2026, 10, 22)
const clock = { now: () => now }
const [oldKey, newKey] = [randomBytes(32), randomBytes(32)]
const make = (...keys: Uint8Array[]) =>
  makeBrowsers({ secrets: makeSealer(keys).deriveAll('sign-in'), clock })
const browsers = make(oldKey)
const emma = { userId: newId<UserId>(), passwordHash: '$argon2id$emma' }
const noah = { userId: newId<UserId>(), passwordHash: '$argon2id$noah' }

test('a browser is recognised only for the user who signed in there, always with the same id', () => {
  const cookie = browsers.remember(null, emma)
  const name = browsers.recognise(cookie, emma)
  assert.match(name ?? '', /^[\w-]{16}$/)
  assert.equal(browsers.recognise(browsers.remember(cookie, emma), emma), name)
  assert.equal(browsers.recognise(cookie, noah), null)
  assert.notEqual(browsers.recognise(browsers.remember(null, emma), emma), name)
  assert.ok(!cookie.includes(emma.userId))
})

test('a changed, invented or truncated cookie proves nothing', () => {
  const cookie = browsers.remember(null, emma)
  const [id = '', at = '', signature = ''] = cookie.split('.')
  const other = `${id.startsWith('A') ? 'B' : 'A'}${id.slice(1)}`
  for (const text of [
    '',
    '~~~',
    id,
    `${id}.${at}`,
    `${other}.${at}.${signature}`,
    `${id}.${(now + 1).toString(36)}.${signature}`,
    `${id}.${at}.${'A'.repeat(43)}`,
    cookie.toUpperCase(),
    'x'.repeat(100_000),
  ]) {
    assert.equal(browsers.recognise(text, emma), null, text.slice(0, 80))
    assert.equal(browsers.recognise(browsers.remember(text, emma), emma) === null, false)
  }
  assert.equal(browsers.recognise(null, emma), null)
})

test('a new password makes every browser unknown', () => {
  const cookie = browsers.remember(null, emma)
  assert.equal(browsers.recognise(cookie, { ...emma, passwordHash: '$argon2id$new' }), null)
})

test('four people share a browser; a fifth replaces the first', () => {
  const people = Array.from({ length: 5 }, () => ({ ...emma, userId: newId<UserId>() }))
  let cookie: string | null = null
  for (const person of people) cookie = browsers.remember(cookie, person)
  const known = people.map((person) => browsers.recognise(cookie, person) !== null)
  assert.deepEqual(known, [false, true, true, true, true])
  assert.ok((cookie ?? '').length < 400)
})

test('a rotation of the encryption key keeps browsers known for as long as the old key is listed', () => {
  const cookie = browsers.remember(null, emma)
  assert.notEqual(make(newKey, oldKey).recognise(cookie, emma), null)
  assert.equal(make(newKey).recognise(cookie, emma), null)
  const renewed = make(newKey, oldKey).remember(cookie, emma)
  assert.notEqual(make(newKey).recognise(renewed, emma), null)
})

test('a year after the last sign-in a browser is no longer recognised', () => {
  const cookie = browsers.remember(null, emma)
  now += browserLifeMs - 1
  assert.notEqual(browsers.recognise(cookie, emma), null)
  const renewed = browsers.remember(cookie, emma)
  now += 1
  assert.equal(browsers.recognise(cookie, emma), null)
  assert.notEqual(browsers.recognise(renewed, emma), null)
})
