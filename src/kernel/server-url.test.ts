/** Which URLs of servers can be read as they are meant. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findUnencoded, parseServerUrl } from './server-url.ts'

test('a password that is not percent-encoded is told apart wherever it would be cut up', () => {
  for (const password of [
    '12/34',
    '?34',
    '12?34',
    '12#34',
    'pa/ss',
    '50%off',
    'a%',
    '%ff',
    'p@s/s',
  ]) {
    assert.match(
      findUnencoded(`postgres://u:${password}@db:5432/x`) ?? '',
      /percent-encoded/,
      password,
    )
    assert.match(findUnencoded(`redis://:${password}@cache`) ?? '', /percent-encoded/, password)
  }
})

test('a URL with an encoded password, without one, or with parameters passes', () => {
  for (const url of [
    'postgres://u:12%2F34%23%40%25@db:5432/x?sslmode=verify-full&sslrootcert=/etc/ca.pem',
    'postgres://u:p@ss@db/x',
    'postgresql://u@/x?host=/var/run/postgresql',
    'postgresql:///x?host=/var/run/postgresql&user=u',
    'rediss://:p@cache:6380/1',
    'redis://cache',
  ]) {
    assert.equal(findUnencoded(url), null, url)
    assert.ok(parseServerUrl(url), url)
  }
})

test('a user beside no host belongs to a socket', () => {
  const read = parseServerUrl('postgresql://u:p@/x?host=/run/pg')
  assert.deepEqual(
    [read?.host, read?.url.username, read?.url.password, read?.url.pathname],
    ['', 'u', 'p', '/x'],
  )
  assert.equal(parseServerUrl('not a url'), null)
})
