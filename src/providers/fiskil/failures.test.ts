/**
 * Checks refusals: the failure for each status follows docs/providers/fiskil.md and readings R20, R20a, and
 * details contain no secret.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import { cleanDetail, refusalCode, toRefusal } from './failures.ts'

const nowMs = Date.parse('2026-11-20T03:00:00Z')

function refuse(status: number, body: unknown = {}, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = { status, headers, body: new TextEncoder().encode(text) }
  return toRefusal(response, { nowMs, secrets: ['client-secret', 'tok.en'] })
}

test('R20: each status means one kind of failure', () => {
  const kinds: [number, string][] = [
    [400, 'rejected'],
    [401, 'misconfigured'],
    [403, 'rejected'],
    [404, 'rejected'],
    [409, 'rejected'],
    [410, 'misconfigured'],
    [422, 'rejected'],
    [429, 'throttled'],
    [500, 'unavailable'],
    [502, 'unavailable'],
    [503, 'unavailable'],
    [302, 'unavailable'],
  ]
  for (const [status, kind] of kinds) assert.equal(refuse(status).failure.kind, kind, `${status}`)
})

test("the detail is the provider's message, else its code, else the status", () => {
  const body = { id: 'err_1', name: 'bad_request', message: 'from is not in RFC3339 format' }
  assert.equal(refuse(400, body).failure.detail, 'from is not in RFC3339 format')
  assert.equal(refuse(400, { name: 'bad_request' }).failure.detail, 'bad_request')
  for (const other of ['<html>', '', 'null', '[]', '{"message":5}']) {
    assert.equal(refuse(400, other).failure.detail, 'the provider answered 400')
  }
  assert.equal(refusalCode(refuse(404, { name: 'end_user_not_found' })), 'end_user_not_found')
  assert.equal(refusalCode(refuse(404, '<html>')), '')
  assert.equal(refusalCode(new Error('other')), '')
})

test('R20: 429 carries the Retry-After of the provider, in seconds or as a date, else 30', () => {
  const wait = (value?: string) => {
    const { failure } = refuse(429, {}, value === undefined ? {} : { 'retry-after': value })
    return failure.kind === 'throttled' ? failure.retryAfterSeconds : null
  }
  assert.equal(wait(), 30)
  assert.equal(wait('7'), 7)
  assert.equal(wait('0'), 1)
  assert.equal(wait('Fri, 20 Nov 2026 03:01:30 GMT'), 90)
  assert.equal(wait('Fri, 20 Nov 2020 03:01:30 GMT'), 1)
  assert.equal(wait('soon'), 30)
  assert.equal(wait('999999999'), 86_400)
})

test('a detail holds no secret, no token, no query of a URL, no control characters', () => {
  const clean = (text: string) => cleanDetail(text, ['client-secret', 'tok.en'])
  assert.equal(clean('bad client-secret and tok.en'), 'bad [secret] and [secret]')
  assert.equal(clean('got Bearer abc.def-1'), 'got Bearer [secret]')
  assert.equal(clean('jwt eyJhbGciOi.eyJvcmci.c2ln end'), 'jwt [secret] end')
  assert.equal(clean('see https://x.example/a?token=1#t ok'), 'see https://x.example/a ok')
  assert.equal(clean('see https://me:pw@x.example/a'), 'see https://x.example/a')
  assert.equal(clean('a\u0000b\r\nc\u202ed\u2028e'), 'a b c d e')
  assert.equal(clean('x'.repeat(1000)).length, 300)
})

test('a detail is clean for any message of the provider', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 60 }), (text) => {
      const shown = cleanDetail(`${text}client-secret${text}`, ['client-secret'])
      assert.ok(shown.length <= 300)
      assert.doesNotMatch(shown, /\p{Cc}|client-secret/u)
    }),
  )
})
