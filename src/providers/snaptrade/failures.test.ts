/**
 * Checks the table of docs/providers/snaptrade.md, Errors and limits, one row per status, and the cleaning of
 * the provider's message.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UpstreamFailure } from '../failure.ts'
import { type Blame, cleanDetail, toFailure } from './failures.ts'

const nowMs = Date.parse('2026-11-20T03:00:00Z')

function failureOf(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
  blame: Blame = 'user',
) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const secrets = ['s3cret-of-user', 'user-1']
  return toFailure({ status, headers, body: bytes }, { nowMs, secrets, blame })
}

const rows: readonly [string, number, unknown, UpstreamFailure['kind']][] = [
  ['bad input', 400, { detail: 'bad', code: '1012' }, 'rejected'],
  ['R20a: a signature refused', 401, { default_detail: 'x', default_code: 1076 }, 'misconfigured'],
  ['R20a: our client id refused', 401, { detail: 'Invalid clientId provided' }, 'misconfigured'],
  ['R20a: our clock refused', 401, { detail: 'Invalid timestamp' }, 'misconfigured'],
  ['a user secret refused', 401, { detail: 'Invalid userID', code: '1083' }, 'rejected'],
  ['R20a: our plan', 402, { detail: 'payment', code: '9' }, 'misconfigured'],
  ['R20: a disabled connection', 402, { detail: 'disabled', code: 3003 }, 'consent_lost'],
  ['R20: a connection disabled before', 402, { detail: 'again', code: '3011' }, 'consent_lost'],
  ['a permission refused', 403, { default_detail: 'no', default_code: 1066 }, 'rejected'],
  ['a resource unknown', 404, { default_detail: 'no', default_code: 1011 }, 'rejected'],
  ['R20a: an endpoint retired', 410, { detail: 'gone' }, 'misconfigured'],
  ['R20a: a first sync not finished', 425, { detail: 'wait', code: 3012 }, 'preparing'],
  ['a broker that cannot', 501, { error: 'not implemented' }, 'unavailable'],
  ['a server error', 500, { detail: 'oops' }, 'unavailable'],
  ['a broker out of reach', 503, { detail: 'brokerage', code: 3002 }, 'unavailable'],
  ['a redirect', 302, '', 'malformed'],
  ['an unexpected success', 204, '', 'malformed'],
]

for (const [name, status, body, kind] of rows) {
  test(`${name} (${status}) is ${kind}`, () => {
    assert.equal(failureOf(status, body).kind, kind)
  })
}

test('R20: a 429 waits as long as the window says, else 30 seconds', () => {
  const wait = (headers: Record<string, string>) => {
    const failure = failureOf(429, { detail: 'throttled' }, headers)
    return failure.kind === 'throttled' ? failure.retryAfterSeconds : null
  }
  assert.equal(wait({ 'x-ratelimit-reset': '7' }), 7)
  assert.equal(wait({ 'retry-after': '12', 'x-ratelimit-reset': '7' }), 12)
  assert.equal(wait({ 'retry-after': '7200', 'x-ratelimit-reset': '7' }), 7200)
  assert.equal(wait({ 'retry-after': 'Fri, 20 Nov 2026 03:01:30 GMT' }), 90)
  assert.equal(wait({ 'retry-after': 'soon', 'x-ratelimit-reset': '7' }), 7)
  assert.equal(wait({}), 30)
  assert.equal(wait({ 'x-ratelimit-reset': '0' }), 1)
  assert.equal(wait({ 'x-ratelimit-reset': '1781222400' }), 30)
  assert.equal(wait({ 'x-ratelimit-reset': 'soon' }), 30)
})

test('the first text of the body is the detail, under any key', () => {
  for (const body of [
    { detail: 'because' },
    { default_detail: 'because' },
    { error: 'because' },
    { detail: ['no text'], error: 'because' },
  ]) {
    assert.equal(failureOf(400, body).detail, 'because')
  }
  assert.equal(failureOf(400, '<html>Bad</html>').detail, 'SnapTrade answered 400')
  assert.equal(failureOf(400, 'null').detail, 'SnapTrade answered 400')
})

test('a failure of the provider names its request, for its support', () => {
  const { detail } = failureOf(500, { detail: 'oops' }, { 'x-request-id': 'ab-12' })
  assert.equal(detail, 'oops (request ab-12)')
})

test('a detail never holds a secret, a control character or more than 300 characters', () => {
  const url = 'https://h/accounts?clientId=C&userId=user%2D1&userSecret=abc&x=1'
  assert.equal(
    cleanDetail(`no: s3cret-of-user\u0000\r\nat ${url}`, ['s3cret-of-user', 'user-1']),
    'no: [secret] at https://h/accounts?clientId=[secret]&userId=[secret]&userSecret=[secret]&x=1',
  )
  assert.equal(cleanDetail('x'.repeat(1000), []).length, 300)
  assert.equal(cleanDetail('a b%2Fc', ['b/c']), 'a [secret]')
})

const refusals: readonly [Blame, number, unknown, UpstreamFailure['kind']][] = [
  ['ours', 401, { detail: 'Invalid userID', code: '1083' }, 'misconfigured'],
  ['ours', 402, { detail: 'payment', code: '9' }, 'misconfigured'],
  ['brought', 401, { default_detail: 'x', default_code: 1076 }, 'consent_lost'],
  ['brought', 401, { detail: 'Invalid clientId provided' }, 'consent_lost'],
  ['brought', 401, { detail: 'Invalid timestamp', code: '1076' }, 'misconfigured'],
  ['brought', 402, { detail: 'payment', code: '9' }, 'rejected'],
  ['brought', 402, { detail: 'disabled', code: 3003 }, 'consent_lost'],
  ['brought', 403, { detail: 'no' }, 'rejected'],
]

for (const [blame, status, body, kind] of refusals) {
  test(`${status} ${JSON.stringify(body)} for a key that is ${blame} is ${kind}`, () => {
    const failure = failureOf(status, body, {}, blame)
    assert.equal(failure.kind, kind)
    const isKey = status === 401 && kind === 'consent_lost'
    assert.equal('wholeLogin' in failure, isKey)
  })
}

const waits: readonly [string, Record<string, string>, number][] = [
  ['the account alone', { 'x-ratelimit-account-reset': '41' }, 41],
  ['the key alone', { 'x-ratelimit-reset': '9' }, 9],
  ['the account, which is used up', windows({ account: ['0', '41'], key: ['200', '9'] }), 41],
  ['the key, which is used up', windows({ account: ['3', '41'], key: ['0', '9'] }), 9],
  ['the later of two that are used up', windows({ account: ['0', '12'], key: ['0', '55'] }), 55],
  ['the account where neither says so', windows({ account: ['1', '41'], key: ['1', '9'] }), 41],
  ['no number', { 'x-ratelimit-account-reset': 'soon', 'x-ratelimit-reset': '7' }, 7],
  ['no headers', {}, 30],
]

function windows(of: { account: [string, string]; key: [string, string] }) {
  return {
    'x-ratelimit-account-remaining': of.account[0],
    'x-ratelimit-account-reset': of.account[1],
    'x-ratelimit-remaining': of.key[0],
    'x-ratelimit-reset': of.key[1],
  }
}

for (const [name, headers, seconds] of waits) {
  test(`a 429 whose headers show ${name} means ${seconds} s`, () => {
    const failure = failureOf(429, { detail: 'slow' }, headers)
    assert.equal(failure.kind === 'throttled' && failure.retryAfterSeconds, seconds)
  })
}
