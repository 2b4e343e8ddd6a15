/**
 * Checks refused requests: one failure per status and audience, the requested wait, and details that are safe
 * to show.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Audience, cleanDetail, toFailure } from './failures.ts'

const nowMs = Date.parse('2026-11-20T21:15:00.000Z')
const context = { nowMs, secrets: ['app-secret-1'] }

function failureOf(
  status: number,
  audience: Audience,
  body = '{"success":false,"message":"No."}',
  headers: Record<string, string> = {},
) {
  return toFailure(
    { status, headers, body: Buffer.from(body) },
    { ...context, audience, isPersonal: false },
  )
}

const table: [status: number, audience: Audience, kind: string, reading: string][] = [
  [400, 'user', 'rejected', 'R20'],
  [401, 'user', 'consent_lost', 'R20'],
  [401, 'account', 'consent_lost', 'R20'],
  [403, 'user', 'rejected', 'R20'],
  [404, 'user', 'rejected', 'R20'],
  [404, 'account', 'account_gone', 'R20'],
  [409, 'user', 'rejected', 'R20'],
  [410, 'user', 'misconfigured', 'R20a'],
  [410, 'app', 'misconfigured', 'R20a'],
  [401, 'app', 'misconfigured', 'R20a'],
  [403, 'app', 'misconfigured', 'R20a'],
  [404, 'app', 'rejected', 'R20'],
  [429, 'user', 'throttled', 'R20'],
  [429, 'app', 'throttled', 'R20'],
  [500, 'user', 'unavailable', 'R20'],
  [503, 'app', 'unavailable', 'R20'],
  [302, 'user', 'malformed', 'R23'],
]
for (const [status, audience, kind, reading] of table) {
  test(`${reading}: ${status} on an endpoint of the ${audience} is ${kind}`, () => {
    assert.equal(failureOf(status, audience).kind, kind)
  })
}

test('R20: a refused user token invalidates every connection of that token, with the words of Akahu', () => {
  assert.deepEqual(failureOf(401, 'user'), {
    kind: 'consent_lost',
    becomes: 'invalidated',
    wholeLogin: true,
    detail: 'No.',
  })
})

test('R20: both forms of Retry-After are used; without a valid one it is 30 seconds', () => {
  const seconds = (header: string) =>
    failureOf(429, 'user', undefined, header === '' ? {} : { 'retry-after': header })
  const cases: [string, number][] = [
    ['7', 7],
    ['0', 1],
    ['Fri, 20 Nov 2026 21:16:30 GMT', 90],
    ['Fri, 20 Nov 2026 21:00:00 GMT', 1],
    ['999999999', 86_400],
    ['', 30],
    ['soon', 30],
    ['-5', 30],
    ['1.5', 30],
  ]
  for (const [header, expected] of cases) {
    const failure = seconds(header)
    assert.equal(failure.kind === 'throttled' ? failure.retryAfterSeconds : null, expected, header)
  }
})

const details: [body: string, detail: string, why: string][] = [
  ['{"success":false,"message":"Account is closed"}', 'Account is closed', 'message'],
  ['{"error":"invalid_grant","error_description":"Code used"}', 'Code used', 'error_description'],
  ['{"error":"invalid_grant"}', 'invalid_grant', 'error'],
  ['{"message":42}', 'the provider answered 400', 'a message that is no text'],
  ['<html>', 'the provider answered 400', 'a page'],
  ['', 'the provider answered 400', 'nothing'],
  ['[]', 'the provider answered 400', 'a list'],
  ['{"message":" \\u0000\\n "}', 'the provider answered 400', 'only control characters'],
  [`{"message":"${'x'.repeat(70_000)}"}`, 'the provider answered 400', 'far too much'],
]
for (const [body, detail, why] of details) {
  test(`the detail of a refusal is taken from ${why}`, () => {
    assert.equal(failureOf(400, 'user', body).detail, detail)
  })
}

test('a detail has no secrets, no control characters, and at most 300 characters', () => {
  const said = `Bad\r\nuser_token_ck1 at https://x.test/?t=app_token_ck-2\u2028app-secret-1\u0007!`
  assert.equal(
    cleanDetail(said, ['app-secret-1', '']),
    'Bad [secret] at https://x.test/?t=[secret] [secret] !',
  )
  const long = cleanDetail(`${'y'.repeat(299)}😀😀`, [])
  assert.equal(long.length, 300)
  assert.ok(long.isWellFormed())
})
