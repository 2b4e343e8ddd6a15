/**
 * The Akahu adapter when things go wrong: each failure of the provider and of the network becomes the one
 * kind that the readings name for it, and a caller that leaves is followed at once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { demoApp, demoUserTokens } from '#sandbox/akahu/emulator.ts'
import type { Misbehaviour } from '#sandbox/emulator.ts'
import { until } from '#tests/support/until.ts'
import { call, failureOf, firstAccount, makeGround, scopedQuery } from './harness.ts'

const reply = (status: number, message: string, headers = {}): Misbehaviour => ({
  kind: 'reply',
  reply: { status, headers, body: { success: false, message } },
})

const answers: [reading: string, does: Misbehaviour, failure: Record<string, unknown>][] = [
  ['R20', reply(400, 'Bad start'), { kind: 'rejected', status: 400, detail: 'Bad start' }],
  [
    'R20',
    reply(401, 'Revoked'),
    { kind: 'consent_lost', becomes: 'invalidated', wholeLogin: true, detail: 'Revoked' },
  ],
  ['R20', reply(403, 'Not allowed'), { kind: 'rejected', status: 403, detail: 'Not allowed' }],
  ['R20', reply(404, 'Account not found'), { kind: 'account_gone', detail: 'Account not found' }],
  ['R20a', reply(410, 'Retired'), { kind: 'misconfigured', status: 410, detail: 'Retired' }],
  [
    'R20',
    reply(429, 'Slow down'),
    { kind: 'throttled', retryAfterSeconds: 30, detail: 'Slow down' },
  ],
  [
    'R20',
    reply(429, 'Slow down', { 'retry-after': '7' }),
    { kind: 'throttled', retryAfterSeconds: 7, detail: 'Slow down' },
  ],
  ['R20', reply(500, 'Oops'), { kind: 'unavailable', status: 500, detail: 'Oops' }],
  [
    'R20',
    { kind: 'reply', reply: { status: 502, body: '<html>' } },
    { kind: 'unavailable', status: 502, detail: 'the provider answered 502' },
  ],
  [
    'R23',
    { kind: 'reply', reply: { status: 302, headers: { location: 'http://127.0.0.1:9/' } } },
    { kind: 'malformed', detail: 'an unexpected status 302' },
  ],
]
for (const [reading, does, expected] of answers) {
  const { kind, ...rest } = expected
  const status = does.kind === 'reply' ? does.reply.status : ''
  test(`${reading}: ${status} on an account is ${kind} ${JSON.stringify(rest)}`, async () => {
    await using ground = await makeGround()
    ground.akahu.addFault({ does })
    const query = scopedQuery('healthy', firstAccount(ground, 'healthy'))
    assert.deepEqual(await failureOf(ground.adapter.transactions.read(query, null, call)), expected)
    assert.equal(ground.akahu.requests.length, 1)
    assert.deepEqual(
      ground.alerts,
      kind === 'misconfigured' ? ['/accounts/{id}/transactions: Retired'] : [],
    )
  })
}

const network: [what: string, does: Misbehaviour, kind: string, requests: number][] = [
  ['R20c: a reset before any byte, tried once more,', { kind: 'reset' }, 'unavailable', 2],
  ['R20: an answer cut off', { kind: 'truncate', afterBytes: 200 }, 'unavailable', 1],
  ['R20: no answer at all', { kind: 'hang' }, 'unavailable', 1],
  ['R20: an answer byte by byte', { kind: 'drip', everyMs: 20 }, 'unavailable', 1],
  ['R23: an answer without end', { kind: 'endless' }, 'malformed', 1],
]
for (const [what, does, kind, requests] of network) {
  test(`${what} is ${kind}`, async () => {
    await using ground = await makeGround({ timeoutMs: kind === 'malformed' ? 20_000 : 300 })
    ground.akahu.addFault({ does })
    const query = scopedQuery('healthy', firstAccount(ground, 'healthy'))
    const failure = await failureOf(ground.adapter.transactions.read(query, null, call))
    assert.equal(failure.kind, kind)
    if (failure.kind === 'unavailable') assert.equal(failure.status, null)
    assert.equal(ground.akahu.requests.length, requests)
    assert.deepEqual(ground.exchanges, ['error GET /accounts/{id}/transactions'])
  })
}

test('R20c: after one reset before any byte the second attempt succeeds', async () => {
  await using ground = await makeGround()
  ground.akahu.addFault({ times: 1, does: { kind: 'reset' } })
  const query = scopedQuery('healthy', firstAccount(ground, 'healthy'))
  const page = await ground.adapter.transactions.read(query, null, call)
  assert.ok(page.length > 0)
})

test('R22: a caller that leaves aborts the call, and its own reason is thrown', async () => {
  await using ground = await makeGround()
  ground.akahu.addFault({ does: { kind: 'hang' } })
  const leaving = new AbortController()
  const query = scopedQuery('healthy', firstAccount(ground, 'healthy'))
  const reading = ground.adapter.transactions.read(query, null, {
    signal: leaving.signal,
    priority: 'user',
  })
  await until('it is asked', () => ground.akahu.requests.length > 0, 1)
  const reason = new Error('nobody waits')
  leaving.abort(reason)
  await assert.rejects(reading, (error) => error === reason)
  for (let tries = 0; ground.akahu.aborted.length === 0 && tries < 500; tries += 1) await sleep(1)
  assert.equal(ground.akahu.aborted.length, 1)
  assert.deepEqual(ground.exchanges, ['aborted GET /accounts/{id}/transactions'])
})

test('R22: a call that was aborted before it began sends nothing', async () => {
  await using ground = await makeGround()
  const gone = AbortSignal.abort()
  const query = scopedQuery('healthy', firstAccount(ground, 'healthy'))
  const asked = { signal: gone, priority: 'user' } as const
  await assert.rejects(ground.adapter.transactions.read(query, null, asked), { name: 'AbortError' })
  await assert.rejects(ground.adapter.discover(query.login, asked), { name: 'AbortError' })
  assert.equal(ground.akahu.requests.length, 0)
})

test('a secret that Akahu repeats in its message is not passed on, nor is a control character', async () => {
  await using ground = await makeGround()
  const said = `Token\u0000${demoUserTokens.healthy}\napp ${demoApp.appToken} ${demoApp.appSecret}`
  ground.akahu.addFault({ does: reply(400, said.padEnd(900, '.')) })
  const query = scopedQuery('healthy', firstAccount(ground, 'healthy'))
  const failure = await failureOf(ground.adapter.transactions.read(query, null, call))
  assert.match(failure.detail, /^Token \[secret\] app \[secret\] \[secret\]\.+$/)
  assert.equal(failure.detail.length, 300)
})
