/**
 * Which URLs of PostgreSQL and Redis are refused at the start, with the sentence that says how they should
 * be.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig } from '#src/config.ts'

const key = Buffer.alloc(32, 1).toString('base64')

/** The one problem of these URLs, or null. No part of a URL is shown. */
function problemOf(urls: Record<string, string>): string | null {
  try {
    readConfig({ ...urls, ENCRYPTION_KEY: key }, '/srv/tributary')
    return null
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    const [problem = ''] = error.problems
    assert.doesNotMatch(problem, /sekrit|cache\.example|db\.example/)
    return problem
  }
}

const database = (parameters: string) =>
  problemOf({ DATABASE_URL: `postgresql://u:sekrit@db.example/x${parameters}` })

test('a password that is not percent-encoded is refused with that sentence, and no part of it is shown', () => {
  for (const password of ['1/sekrit', '?sekrit', '1#sekrit', 'sek/sekrit', 'sekrit%']) {
    assert.match(
      problemOf({ DATABASE_URL: `postgres://u:${password}@db.example:5432/x` }) ?? '',
      /^DATABASE_URL: got a value that is not shown here, should be a URL with user and password percent-encoded: @ is %40/,
    )
    for (const name of ['REDIS_URL', 'REDIS_CACHE_URL']) {
      const urls = {
        REDIS_URL: 'redis://cache.example',
        [name]: `rediss://:${password}@cache.example`,
      }
      assert.match(problemOf(urls) ?? '', new RegExp(`^${name}: .* percent-encoded`))
    }
  }
})

test('an sslmode that is unknown, or could fall back to no TLS, is refused; so is ssl=false, which meant TLS', () => {
  for (const mode of ['bogus', 'prefer', 'allow', '', 'Require']) {
    assert.match(database(`?sslmode=${mode}`) ?? '', /an sslmode of disable, require, /)
  }
  assert.match(database('?sslmode=bogus&sslmode=require') ?? '', /each parameter of TLS once/)
  for (const mode of ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify']) {
    assert.equal(database(`?sslmode=${mode}`), null)
  }
  assert.match(database('?ssl=false') ?? '', /sslmode in place of ssl/)
  assert.equal(database('?ssl=true'), null)
})

test('uselibpqcompat is refused with what to write: with it sslmode=require takes a certificate of any name', () => {
  for (const parameters of [
    'uselibpqcompat=true&sslmode=require',
    'sslmode=verify-full&uselibpqcompat=false',
    'UseLibpqCompat=true',
  ]) {
    const words =
      /should be a URL without uselibpqcompat: with sslmode=verify-full, or with no-verify/
    assert.match(database(`?${parameters}`) ?? '', words, parameters)
  }
})

test('a parameter of TLS that would have no effect is refused, so that nobody connects in plain by mistake', () => {
  for (const parameters of [
    'ssl=true&sslmode=disable',
    'sslmode=disable&sslrootcert=/ca.pem',
    'sslmode=disable&sslnegotiation=direct',
    'sslmode=disable&ssl=0',
    'ssl=0&sslmode=verify-full',
    'sslkey=/key.pem&ssl=0',
  ]) {
    const words = /no other parameter of TLS beside the one that switches TLS off/
    assert.match(database(`?${parameters}`) ?? '', words, parameters)
  }
  const unread = database('?sslmode=no-verify&sslrootcert=/ca.pem') ?? ''
  assert.match(unread, /sslmode=verify-full beside sslrootcert: no-verify does not look/)
  assert.equal(database('?sslmode=no-verify&sslcert=/c.pem&sslkey=/k.pem'), null)
  assert.match(database('?sslrootcert=') ?? '', /no empty parameter of TLS/)
  assert.match(database('?sslnegotiation=postgres') ?? '', /sslmode=verify-full beside/)
  assert.equal(database('?ssl=0'), null)
  assert.equal(database('?ssl=true&sslmode=require&sslrootcert=/ca.pem'), null)
})

test('an sslnegotiation that the driver does not know is refused at the start', () => {
  for (const text of ['bogus', '', 'Direct']) {
    const parameters = `?sslmode=verify-full&sslnegotiation=${text}`
    assert.match(database(parameters) ?? '', /an sslnegotiation of postgres or direct/, text)
  }
  for (const text of ['postgres', 'direct']) {
    assert.equal(database(`?sslmode=verify-full&sslnegotiation=${text}`), null)
  }
  assert.equal(database('?sslnegotiation=direct'), null)
})

test('a socket is named by the parameter host, with or without a user beside it', () => {
  for (const url of [
    'postgresql:///x?host=/var/run/postgresql&user=u',
    'postgresql://u@/x?host=/var/run/postgresql',
    'postgresql://u:sekrit@/x?host=/var/run/postgresql&port=5433',
    'postgresql://u@%2Fvar%2Frun%2Fpostgresql/x',
  ]) {
    assert.equal(problemOf({ DATABASE_URL: url }), null, url)
  }
  assert.match(
    problemOf({ DATABASE_URL: 'postgresql://u@/x?port=many' }) ?? '',
    /a URL with a number as its port/,
  )
})

test('a URL of something else is refused with the beginnings that are meant', () => {
  assert.match(
    problemOf({ DATABASE_URL: 'mysql://u:sekrit@db.example/x' }) ?? '',
    /starts with postgres/,
  )
  assert.match(problemOf({ REDIS_URL: 'http://cache.example' }) ?? '', /starts with redis:\/\//)
  assert.match(
    problemOf({ REDIS_URL: 'redis://cache.example/first' }) ?? '',
    /number of a database/,
  )
})

test('what the drivers would ignore or take otherwise is refused: TLS that is misspelt, twice, or of another driver', () => {
  for (const name of ['SSLMODE', 'sslMode', 'ssl_mode', 'tls', 'sslcrl']) {
    assert.match(database(`?${name}=require`) ?? '', /no other parameters of TLS than ssl, /, name)
  }
  assert.match(database('?sslmode=verify-full&sslmode=disable') ?? '', /TLS once/)
  assert.equal(database('?sslmode=verify-full&sslrootcert=/ca.pem&application_name=t'), null)
  const redis = (parameters: string) =>
    problemOf({ REDIS_URL: `redis://cache.example/0${parameters}` })
  assert.match(redis('?tls=true') ?? '', /no parameters but db and family; rediss:\/\/ is TLS/)
  assert.equal(redis('?family=6'), null)
})

test('several servers in one URL, and a port that is none, are named as that', () => {
  for (const servers of ['db.example:5432,db.example:5433', 'db.example:99999']) {
    assert.match(
      problemOf({ DATABASE_URL: `postgresql://u:sekrit@${servers}/x` }) ?? '',
      /should be a URL of one server, with a number up to 65535 as its port/,
    )
  }
})

test('a URL or another secret in quotes is named as that, and not shown', () => {
  for (const quote of ['"', "'"]) {
    const url = `${quote}redis://:sekrit@cache.example${quote}`
    assert.match(
      problemOf({ REDIS_URL: url }) ?? '',
      /^REDIS_URL: got a value in quotes, should be/,
    )
  }
})
