/**
 * Rate limits of keys and of anonymous clients (contract, Limits; readings R6 and R7), by the contract's
 * numbers.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { mintKey } from '#auth/keys.ts'
import {
  type Answer,
  codeOf,
  type ServiceUser,
  specified,
  startService,
} from '#tests/support/service.ts'

let user: ServiceUser
const service = await startService({ env: { ...specified, RATE_LIMIT_PREAUTH_IP: '300' } })
beforeEach(async () => {
  // A minute later every window is a new one.
  service.clock.advance(60_000)
  user = await service.createUser()
})
after(() => service.close())

const unknownId = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'

const remaining = (answer: Answer) => Number(answer.headers['x-ratelimit-remaining'])
const limit = (answer: Answer) => Number(answer.headers['x-ratelimit-limit'])
const reset = (answer: Answer) => Number(answer.headers['x-ratelimit-reset'])

function assertRefused(answer: Answer, retryAfter: number): void {
  assert.equal(answer.status, 429)
  assert.deepEqual(answer.body, { error: { message: 'Too many requests' } })
  assert.equal(answer.headers['retry-after'], String(retryAfter))
  assert.equal(answer.headers['x-cache'], 'BYPASS')
  assert.equal(remaining(answer), 0)
}

test('R7: each bucket has its own minute, which starts with its first request', async () => {
  const buckets = [
    ['/v1/categories', 60],
    ['/v1/balances', 30],
    ['/v1/holdings', 30],
  ] as const
  for (const [path, size] of buckets) {
    const first = await service.get(path, user)
    assert.equal(limit(first), size, path)
    assert.equal(remaining(first), size - 1, path)
    assert.equal(reset(first), Math.ceil((service.clock.now() + 60_000) / 1000), path)
  }
})

test('R7: the window is fixed: the 61st waits for its end, and then there are 60 again', async () => {
  const start = service.clock.now()
  for (let count = 1; count <= 60; count += 1) {
    const answer = await service.get('/v1/categories', user)
    assert.equal(answer.status, 200)
    assert.equal(remaining(answer), 60 - count)
    if (count === 30) service.clock.advance(45_500)
  }
  assertRefused(await service.get('/v1/connections', user), 15)
  const late = await service.get('/v1/accounts', user)
  assert.equal(reset(late), Math.ceil((start + 60_000) / 1000))
  service.clock.advance(14_499)
  assertRefused(await service.get('/v1/categories', user), 1)
  service.clock.advance(1)
  const fresh = await service.get('/v1/categories', user)
  assert.equal(fresh.status, 200)
  assert.equal(remaining(fresh), 59)
})

test('R7: hits, refusals of the plan and errors each count as one request', async () => {
  await service.get('/v1/connections', user)
  const hit = await service.get('/v1/connections', user)
  assert.equal(hit.headers['x-cache'], 'HIT')
  assert.equal(remaining(hit), 58)
  const wrong = await service.get('/v1/accounts?limit=0', user)
  assert.equal(wrong.status, 400)
  assert.equal(remaining(wrong), 57)
  const developer = await service.createUser({ plan: 'developer' })
  await service.get(`/v1/holdings?connectionId=${unknownId}`, developer)
  const refused = await service.get(`/v1/trades?connectionId=${unknownId}`, developer)
  assert.equal(refused.status, 403)
  assert.equal(remaining(refused), 28)
})

test('the heavy endpoints share one bucket of 30, whatever comes of the requests', async () => {
  const paths = ['/v1/transactions', '/v1/holdings', '/v1/trades']
  for (let count = 0; count < 30; count += 1) {
    const answer = await service.get(`${paths[count % 3]}?connectionId=${unknownId}`, user)
    assert.equal(answer.status, 404)
  }
  for (const path of paths) assertRefused(await service.get(path, user), 60)
  assert.equal((await service.get('/v1/balances', user)).status, 400, 'another bucket')
  const colleague = await service.createUser()
  assert.equal((await service.get('/v1/holdings', colleague)).status, 400, 'another key')
})

test('a refused request does not lengthen the wait', async () => {
  for (let count = 0; count < 40; count += 1) await service.get('/v1/balances', user)
  service.clock.advance(60_000)
  assert.equal(remaining(await service.get('/v1/balances', user)), 29)
})

test('R6: of 200 parallel guesses at most 60 are looked at', async () => {
  const guess = `Bearer ${mintKey().key}`
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => service.get('/v1/connections', guess)),
  )
  assert.equal(answers.filter((answer) => answer.status === 401).length, 60)
  const refused = answers.filter((answer) => answer.status === 429)
  assert.equal(refused.length, 140)
  for (const answer of refused) assertRefused(answer, 60)
  for (const answer of answers) assert.equal(limit(answer), 60)
  service.clock.advance(60_000)
  assert.equal((await service.get('/v1/connections', guess)).status, 401)
})

test('R6: the bucket is the address and the first 16 characters of the token', async () => {
  const guess = mintKey().key
  const wrong = (tail: string) => `Bearer ${guess.slice(0, 16)}${tail}`
  for (let count = 0; count < 60; count += 1) {
    assert.equal((await service.get('/v1/categories', wrong(`${count}`))).status, 401)
  }
  assert.equal((await service.get('/v1/categories', wrong('other'))).status, 429)
  const elsewhere = await service.get('/v1/categories', `Bearer ${guess.slice(0, 15)}#`)
  assert.equal(elsewhere.status, 401)
  assert.equal(remaining(elsewhere), 59)
  const none = await service.get('/v1/categories')
  assert.equal(codeOf(none), 'missing_authorization')
  assert.equal(remaining(none), 59)
})

test('R6: a good key gives its point back, so that it is never refused before its own bucket', async () => {
  for (let count = 0; count < 60; count += 1) await service.get('/v1/categories', user)
  const other = await service.get('/v1/balances', user)
  assert.equal(other.status, 400, 'the pre-auth bucket of the same prefix is untouched')
  const guess = await service.get('/v1/categories', `Bearer ${user.key.slice(0, 16)}wrong`)
  assert.equal(remaining(guess), 59)
})

test('R6: a key that is revoked costs pre-auth points like any guess', async () => {
  await service.app.store.keys.revoke(user.keyId, service.clock.now())
  const first = await service.get('/v1/categories', user)
  const second = await service.get('/v1/categories', user)
  assert.deepEqual([remaining(first), remaining(second)], [59, 58])
})

test('R6: an unknown path shows the bucket of its caller as it stands', async () => {
  const guess = `Bearer ${mintKey().key}`
  await service.get('/v1/categories', guess)
  const unknown = await service.get('/v1/unknown', guess)
  assert.equal(limit(unknown), 60)
  assert.equal(remaining(unknown), 59)
})

test('R6: all token prefixes of an address share one ceiling, which a good key does not use up', async () => {
  for (let count = 0; count < 29; count += 1) await service.get('/v1/balances', user)
  const tries = Array.from({ length: 300 }, (_, index) => `Bearer guess-${index}-0123456789`)
  for (const guess of tries) assert.equal((await service.get('/v1/doc', guess)).status, 404)
  for (const guess of tries) assert.equal((await service.get('/v1/accounts', guess)).status, 401)
  const refused = await service.get('/v1/accounts', 'Bearer yet-another-guess')
  assertRefused(refused, 60)
})

test('0 turns a limit off, and the headers stay', async () => {
  const names = ['CHEAP', 'MID', 'HEAVY', 'PREAUTH', 'PREAUTH_IP'].map(
    (name) => `RATE_LIMIT_${name}`,
  )
  const env = Object.fromEntries([...names, 'CONCURRENCY_HEAVY'].map((name) => [name, '0']))
  const open = await startService({ env })
  try {
    const owner = await open.createUser()
    for (let count = 0; count < 70; count += 1) {
      assert.equal((await open.get('/v1/holdings', owner)).status, 400)
      assert.equal((await open.get('/v1/holdings', 'Bearer wrong')).status, 401)
    }
    const answer = await open.get('/v1/categories', owner)
    assert.equal(answer.status, 200)
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
      assert.match(String(answer.headers[name]), /^\d+$/, name)
    }
  } finally {
    await open.close()
  }
})
