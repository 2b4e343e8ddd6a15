import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AttemptOutcome, type Circumstances, decide } from './retry-policy.ts'

const now = Date.UTC(2026, 10, 20, 3, 15)
const schedule = [0, 5, 300]
const middle = () => 0.5

const answered = (status: number, headers: Record<string, string> = {}): AttemptOutcome => ({
  kind: 'answered',
  head: { status, headers },
})
const silent: AttemptOutcome = { kind: 'silent', failure: 'the connection was refused' }
const at = (attempts: number, own: Partial<Circumstances> = {}): Circumstances => ({
  attempts,
  schedule,
  now,
  random: middle,
  ...own,
})

test('every 2xx is a success', () => {
  for (const status of [200, 201, 202, 204, 299]) {
    assert.deepEqual(decide(answered(status), at(1)), {
      decision: { kind: 'succeeded' },
      signal: 'succeeded',
      failure: null,
      holdUntil: null,
    })
  }
})

for (const status of [100, 300, 301, 302, 304, 307, 400, 401, 404, 409, 418, 429, 500, 503, 599])
  test(`${status} is a failure and is tried again`, () => {
    const { decision, signal, failure } = decide(answered(status), at(1))
    assert.deepEqual(decision, { kind: 'retry', dueAt: now + 5000 })
    assert.equal(signal, 'failed')
    assert.match(failure ?? '', new RegExp(`answered ${status}`))
    if (status < 400 && status >= 300) assert.match(failure ?? '', /not followed/)
  })

test('a missing answer is a failure with its description', () => {
  const { decision, signal, failure } = decide(silent, at(2))
  assert.deepEqual(decision, { kind: 'retry', dueAt: now + 300_000 })
  assert.equal(signal, 'failed')
  assert.equal(failure, 'the connection was refused')
})

test('after the last entry of the schedule a delivery is exhausted', () => {
  assert.deepEqual(decide(silent, at(3)).decision, { kind: 'exhausted' })
  assert.deepEqual(decide(answered(500), at(4)).decision, { kind: 'exhausted' })
  assert.deepEqual(decide(answered(500), at(1, { schedule: [0] })).decision, { kind: 'exhausted' })
  assert.deepEqual(decide(answered(200), at(9)).decision, { kind: 'succeeded' })
})

test('a wait is a tenth shorter at the least, a tenth longer at the most', () => {
  const waitWith = (random: number) => {
    const { decision } = decide(silent, at(2, { random: () => random }))
    return decision.kind === 'retry' ? decision.dueAt - now : null
  }
  assert.equal(waitWith(0), 270_000)
  assert.equal(waitWith(0.5), 300_000)
  assert.ok((waitWith(0.999_999) ?? 0) <= 330_000)
})

test('410 ends the delivery and says that the endpoint is gone', () => {
  const { decision, signal } = decide(answered(410), at(1))
  assert.deepEqual(decision, { kind: 'exhausted' })
  assert.equal(signal, 'gone')
})

test('webhook-delivery: abort-message ends the delivery on a failure, and is nothing to a success', () => {
  const headers = { 'webhook-delivery': 'abort-message' }
  const { decision, signal, failure } = decide(answered(422, headers), at(1))
  assert.deepEqual(decision, { kind: 'exhausted' })
  assert.equal(signal, 'answered')
  assert.match(failure ?? '', /422/)
  assert.equal(decide(answered(200, headers), at(1)).decision.kind, 'succeeded')
  const other = { 'webhook-delivery': 'something-else' }
  assert.equal(decide(answered(422, other), at(1)).decision.kind, 'retry')
})

for (const status of [429, 502, 503, 504])
  test(`${status} with Retry-After holds the endpoint for so long`, () => {
    const wait = (text: string) => decide(answered(status, { 'retry-after': text }), at(1))
    assert.deepEqual(wait('120').decision, { kind: 'retry', dueAt: now + 120_000 })
    assert.equal(wait('120').holdUntil, now + 120_000)
    assert.equal(wait('Fri, 20 Nov 2026 03:20:00 GMT').holdUntil, now + 300_000)
    // A day at the most.
    assert.equal(wait('99999999').holdUntil, now + 86_400_000)
    // A wait that is shorter than the schedule's changes nothing for the delivery.
    assert.deepEqual(wait('2').decision, { kind: 'retry', dueAt: now + 5000 })
    assert.equal(wait('2').holdUntil, now + 2000)
    for (const text of ['', 'soon', '-5', '1.5']) assert.equal(wait(text).holdUntil, null)
  })

test('Retry-After on another failure is not asked for', () => {
  for (const status of [301, 400, 500]) {
    assert.equal(decide(answered(status, { 'retry-after': '120' }), at(1)).holdUntil, null)
  }
})
