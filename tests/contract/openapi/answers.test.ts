/**
 * The checker that request tests hold answers against must itself be able to fail: each kind of wrong answer
 * is refused, and every example of the document is accepted as the answer that it stands for.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorCatalogue } from '#contract/errors.ts'
import { makeOpenApi } from '#contract/openapi.ts'
import { type GivenAnswer, makeAnswerChecker } from '#tests/support/answers.ts'

const document = makeOpenApi({ baseUrl: 'https://api.tributary.test', version: '1.2.3' })
const check = makeAnswerChecker(document)

const always = {
  'content-type': 'application/json; charset=utf-8',
  'x-request-id': 'f3b6',
  'x-cache': 'MISS',
  'x-ratelimit-limit': '60',
  'x-ratelimit-remaining': '59',
  'x-ratelimit-reset': '1795144560',
}
const deprecated = {
  deprecation: 'true',
  sunset: 'Wed, 01 Sep 2027 00:00:00 GMT',
  link: '</doc>; rel="deprecation"',
}
const pagination = { total: 0, limit: 50, offset: 0, hasMore: false }
const accounts = (body: unknown, headers: object = {}): GivenAnswer => ({
  status: 200,
  headers: { ...always, ...headers },
  body,
})
const ask = (path: string, method = 'GET') => ({ method, path })
const failure = (status: number, error: object, headers: object = {}): GivenAnswer => ({
  status,
  headers: { ...always, ...headers },
  body: { error },
})

test('an answer that fits is accepted, with a query string and any case of header names', () => {
  check(ask('/v1/accounts?limit=10'), accounts({ data: [], pagination }))
  const headers = new Headers(always)
  check(ask('/v1/connections'), { status: 200, headers, body: { data: [] } })
  const late = failure(503, { message: 'later' }, { 'Retry-After': 30 })
  check(ask('/v1/holdings?connectionId=x'), late)
})

test('a field beyond the schema, a missing field and a number for a decimal are refused', () => {
  assert.throws(
    () => check(ask('/v1/accounts'), accounts({ data: [], pagination, extra: 1 })),
    /must NOT have additional properties \(extra\)/,
  )
  assert.throws(
    () => check(ask('/v1/accounts'), accounts({ data: [], pagination: { ...pagination, x: 1 } })),
    /body\/pagination: must NOT have additional properties \(x\)/,
  )
  assert.throws(() => check(ask('/v1/accounts'), accounts({ data: [] })), /pagination/)
  const balance = {
    accountId: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
    currentBalance: 1.5,
    availableBalance: '1e3',
    currency: 'AUD',
  }
  assert.throws(
    () => check(ask('/v1/balances?accountIds=x'), accounts({ data: [balance] })),
    /currentBalance: must be string[\s\S]*availableBalance: must match pattern/,
  )
})

test('an undocumented status or code is refused', () => {
  assert.throws(
    () => check(ask('/v1/categories'), failure(400, { message: 'no' })),
    /status is not documented/,
  )
  const tooOld = failure(400, { message: 'no', code: 'from_too_old' })
  assert.throws(() => check(ask('/v1/trades?connectionId=x'), tooOld), /code from_too_old/)
  const silent = failure(404, { message: 'no' })
  assert.throws(() => check(ask('/v1/trades?connectionId=x'), silent), /code \(none\)/)
  const nullCode = failure(403, { message: 'no', code: null })
  assert.throws(() => check(ask('/v1/trades?connectionId=x'), nullCode), /code: must be string/)
})

test('missing, invalid and misplaced headers are refused', () => {
  const body = { data: [], pagination }
  for (const name of Object.keys(always)) {
    const missing = accounts(body, { [name]: undefined })
    const text = new RegExp(name.replaceAll('-', '.'), 'i')
    assert.throws(() => check(ask('/v1/accounts'), missing), text)
  }
  assert.throws(() => check(ask('/v1/accounts'), accounts(body, { 'x-cache': 'hit' })), /X-Cache/)
  assert.throws(
    () => check(ask('/v1/accounts'), accounts(body, { 'x-ratelimit-reset': '1.5' })),
    /X-RateLimit-Reset: "1.5" is not valid/,
  )
  assert.throws(
    () => check(ask('/v1/accounts'), accounts(body, { 'retry-after': '3' })),
    /Retry-After is not documented/,
  )
  assert.throws(
    () => check(ask('/v1/accounts'), failure(429, { message: 'Too many requests' })),
    /Retry-After is missing/,
  )
  assert.throws(
    () => check(ask('/v1/accounts'), failure(401, { message: 'no', code: 'invalid_token' })),
    /WWW-Authenticate is missing/,
  )
  const hit = failure(500, { message: 'no' }, { 'x-cache': 'HIT' })
  assert.throws(() => check(ask('/v1/accounts'), hit), /only 200s are cached/)
})

test('R20: a 503 has Retry-After, unless only the operator can fix the cause', () => {
  const path = '/v1/holdings?connectionId=x'
  const later = failure(503, { message: 'The provider is temporarily unavailable' })
  assert.throws(() => check(ask(path), later), /Retry-After is missing/)
  check(ask(path), failure(503, { message: errorCatalogue.provider_not_configured.message }))
})

test('R9: the deprecation headers are demanded without an accountId and refused with one', () => {
  const body = { data: [], pagination }
  const plain = '/v1/transactions?connectionId=x'
  check(ask(plain), accounts(body, deprecated))
  check(ask(`${plain}&accountId=y`), accounts(body))
  assert.throws(() => check(ask(plain), accounts(body)), /Sunset is missing/)
  assert.throws(
    () => check(ask(`${plain}&accountId=y`), accounts(body, deprecated)),
    /Sunset is out of place/,
  )
  assert.throws(
    () => check(ask(plain), accounts(body, { ...deprecated, 'x-service-truncated': 'true' })),
    /hasMore is not true/,
  )
})

test('R3, R4: an unknown path and another method must be not_found with X-Cache BYPASS', () => {
  const unknown = failure(404, { message: 'no', code: 'not_found' }, { 'x-cache': 'BYPASS' })
  check(ask('/v1/nothing'), unknown)
  check(ask('/v1/accounts/'), unknown)
  check(ask('/v1/accounts', 'POST'), unknown)
  check(ask('/v1/accounts', 'HEAD'), { ...unknown, body: null })
  assert.throws(() => check(ask('/v1/nothing'), accounts({ data: [] })), /404 is due/)
  const missed = failure(404, { message: 'no', code: 'not_found' })
  assert.throws(() => check(ask('/v1/nothing'), missed), /must be BYPASS/)
  const other = failure(404, { message: 'no', code: 'account_not_found' }, { 'x-cache': 'BYPASS' })
  assert.throws(() => check(ask('/v1/nothing'), other), /must be not_found/)
})
