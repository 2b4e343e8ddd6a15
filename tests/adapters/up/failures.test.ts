/**
 * The Up adapter when things go wrong: each failure of the provider and of the network becomes the one kind
 * that the readings name for it, no secret is told, and the hour's budget is kept.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Misbehaviour } from '#sandbox/emulator.ts'
import { toToken } from '#sandbox/up/index.ts'
import {
  background,
  balanceQuery,
  call,
  failureOf,
  loginFor,
  makeGround,
  personOf,
  plantedQuery,
  scopedQuery,
  startOfTests,
  walk,
  withRows,
} from './harness.ts'

const reply = (
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Misbehaviour => ({
  kind: 'reply',
  reply: { status, headers, body: { errors: [{ status: String(status), title: 'Oh', detail }] } },
})

const answers: [does: Misbehaviour, failure: Record<string, unknown>][] = [
  [reply(400, 'Bad since'), { kind: 'rejected', status: 400, detail: 'Oh: Bad since' }],
  [reply(403, 'No'), { kind: 'rejected', status: 403, detail: 'Oh: No' }],
  [reply(404, 'Gone'), { kind: 'account_gone', detail: 'Oh: Gone' }],
  [reply(410, 'Retired'), { kind: 'misconfigured', status: 410, detail: 'Oh: Retired' }],
  [
    reply(429, 'Slow down', { 'retry-after': '7' }),
    { kind: 'throttled', retryAfterSeconds: 7, detail: 'Oh: Slow down' },
  ],
  [
    // It is 21:15 by the tests' clock, and by the answer's.
    reply(429, 'Slow down'),
    { kind: 'throttled', retryAfterSeconds: 45 * 60, detail: 'Oh: Slow down' },
  ],
  [reply(500, 'Oops'), { kind: 'unavailable', status: 500, detail: 'Oh: Oops' }],
  [
    { kind: 'reply', reply: { status: 502, body: '<html>' } },
    { kind: 'unavailable', status: 502, detail: 'the provider answered 502' },
  ],
  [
    { kind: 'reply', reply: { status: 302, headers: { location: 'http://127.0.0.1:9/' } } },
    { kind: 'malformed', detail: 'an unexpected status 302' },
  ],
]
for (const [does, expected] of answers) {
  const { kind, ...rest } = expected
  const status = does.kind === 'reply' ? does.reply.status : ''
  test(`R20: ${status} on an account is ${kind} ${JSON.stringify(rest)}`, async () => {
    await using ground = await makeGround()
    ground.up.addFault({ does })
    assert.deepEqual(await failureOf(walk(ground.adapter, scopedQuery(ground, 'mfa'))), expected)
    assert.equal(ground.alerts.length, kind === 'misconfigured' ? 1 : 0)
  })
}

test('R20: 401 is a lost consent of the whole login, with words instead of Up’s own', async () => {
  await using ground = await makeGround()
  const query = scopedQuery(ground, 'mfa')
  personOf(ground, 'mfa').token = null
  const failure = await failureOf(walk(ground.adapter, query))
  assert.ok(failure.kind === 'consent_lost' && failure.wholeLogin)
  assert.match(failure.detail, /^Up refuses this token: it has expired, was revoked, or/)
})

test('404 on a list of everything is a refusal, not an account that is gone', async () => {
  await using ground = await makeGround()
  ground.up.addFault({ does: reply(404, 'What?') })
  const query = { ...scopedQuery(ground, 'mfa'), scoped: false }
  assert.equal((await failureOf(walk(ground.adapter, query))).kind, 'rejected')
})

const networks: [name: string, does: Misbehaviour, kind: string][] = [
  ['a reset connection', { kind: 'reset' }, 'unavailable'],
  ['an answer that breaks off', { kind: 'truncate', afterBytes: 40 }, 'unavailable'],
  ['silence', { kind: 'hang' }, 'unavailable'],
  ['an answer without end', { kind: 'endless' }, 'malformed'],
  [
    'a page of an intermediary',
    { kind: 'reply', reply: { status: 200, body: '<html>' } },
    'malformed',
  ],
]
for (const [name, does, kind] of networks) {
  test(`R20: ${name} is ${kind}`, async () => {
    await using ground = await makeGround({ timeoutMs: kind === 'malformed' ? 20_000 : 300 })
    ground.up.addFault({ does })
    const query = scopedQuery(ground, 'mfa')
    assert.equal((await failureOf(walk(ground.adapter, query))).kind, kind)
    if (does.kind === 'endless') return
    assert.equal((await failureOf(ground.adapter.discover(query.login, call))).kind, kind)
  })
}

test('R20c: one reset before any byte is tried again', async () => {
  await using ground = await makeGround()
  ground.up.addFault({ times: 1, does: { kind: 'reset' } })
  await ground.adapter.discover(loginFor(ground, 'mfa'), call)
  assert.deepEqual(ground.exchanges, ['200 GET /accounts'])
})

test('a refusal that repeats the token, or any other, does not show it', async () => {
  await using ground = await makeGround()
  const token = toToken('mfa')
  ground.up.addFault({ does: reply(400, `no ${token} and no up:yeah:somebody-elses-token please`) })
  const failure = await failureOf(ground.adapter.discover(loginFor(ground, 'mfa'), call))
  assert.deepEqual(failure, {
    kind: 'rejected',
    status: 400,
    detail: 'Oh: no [secret] and no [secret] please',
  })
  const part = token.slice('up:yeah:'.length)
  ground.up.clearFaults()
  ground.up.addFault({
    does: reply(400, `${encodeURIComponent(token)}, up%3Ayeah%3Aother, ${part}`),
  })
  const encoded = await failureOf(ground.adapter.discover(loginFor(ground, 'mfa'), call))
  assert.equal(encoded.detail, 'Oh: [secret], [secret] [secret]')
})

test('R23: a row that cannot be read fails the read, and names no value of it', async () => {
  await using ground = await makeGround()
  const wrong: Record<string, unknown>[] = [
    { createdAt: 'yesterday' },
    { createdAt: undefined },
    { status: undefined },
    { status: '' },
    { status: 7 },
    { description: undefined },
    { rawText: 7 },
    { cashback: { description: 'x', amount: { currencyCode: 'AUD', value: '1' } } },
    { cashback: { amount: { currencyCode: 'AUD', value: '1.00', valueInBaseUnits: 100 } } },
  ]
  for (const overrides of wrong) {
    withRows(ground, [{ id: 'one', overrides }])
    const failure = await failureOf(walk(ground.adapter, plantedQuery(ground)))
    assert.equal(failure.kind, 'malformed', JSON.stringify(overrides))
    assert.doesNotMatch(failure.detail, /yesterday|1\.00|7/)
  }
  const usd = (value: string, valueInBaseUnits: number) => ({
    currencyCode: 'USD',
    value,
    valueInBaseUnits,
  })
  const foreign = [
    { amount: usd('-1.00', -100) },
    { cashback: { description: 'x', amount: usd('1.00', 100) } },
  ]
  for (const overrides of foreign) {
    withRows(ground, [{ id: 'one', overrides }])
    const failure = await failureOf(walk(ground.adapter, plantedQuery(ground)))
    assert.ok(failure.kind === 'malformed')
    assert.match(failure.detail, /not in the currency of its account/)
  }
  withRows(ground, [{ id: 'one', overrides: { settledAt: null } }])
  const { pages } = await walk(ground.adapter, plantedQuery(ground))
  assert.throws(() => pages[0]?.details(0), /no time of settlement/)
})

test('bodies of another shape are malformed', async () => {
  await using ground = await makeGround()
  const bodies: unknown[] = ['', '[]', {}, { data: {} }, { data: [] }, { data: [7], links: {} }]
  for (const body of bodies) {
    ground.up.clearFaults()
    ground.up.addFault({ does: { kind: 'reply', reply: { status: 200, body } } })
    for (const work of [
      () => ground.adapter.discover(loginFor(ground, 'mfa'), call),
      () => walk(ground.adapter, scopedQuery(ground, 'mfa')),
      () => ground.adapter.identify({ provider: 'up', token: toToken('mfa') }, call),
    ]) {
      assert.equal((await failureOf(work())).kind, 'malformed', JSON.stringify(body))
    }
  }
})

test('a list of accounts that never ends is malformed', async () => {
  await using ground = await makeGround()
  let count = 0
  ground.up.addFault({
    does: {
      kind: 'edit',
      edit: () => {
        count += 1
        const next = `https://x.test/?page%5Bafter%5D=${count}`
        return { status: 200, body: { data: [], links: { prev: null, next } } }
      },
    },
  })
  const failure = await failureOf(ground.adapter.discover(loginFor(ground, 'mfa'), call))
  assert.deepEqual(failure, {
    kind: 'malformed',
    detail: 'a list of /accounts has more than 50 pages',
  })
  assert.equal(count, 50)
})

test('background work leaves 100 of the hour’s 1,000 calls to people, and each token has its own', async () => {
  await using ground = await makeGround()
  const login = loginFor(ground, 'mfa')
  ground.up.addFault({ does: { kind: 'reply', reply: emptyList } })
  for (let count = 0; count < 900; count += 1) await ground.adapter.discover(login, background)
  const refused = await failureOf(ground.adapter.discover(login, background))
  assert.ok(refused.kind === 'throttled')
  assert.equal(refused.retryAfterSeconds, 45 * 60)
  const rest = 'requests of this hour are used up; the next hour begins in 45 min'
  assert.equal(refused.detail, `background work’s share of this token’s ${rest}`)
  await ground.adapter.discover(loginFor(ground, 'healthy'), background)
  for (let count = 0; count < 100; count += 1) await ground.adapter.discover(login, call)
  const spent = await failureOf(ground.adapter.discover(login, call))
  assert.equal(spent.kind, 'throttled')
  assert.equal(spent.detail, `this token’s ${rest}`)
  assert.equal(ground.exchanges.length, 1_001)
  // At the full hour there are 1,000 again.
  ground.clock.ms += 45 * 60_000
  await ground.adapter.discover(login, background)
})

const emptyList = { status: 200, body: { data: [], links: { prev: null, next: null } } }

test('the hour begins with the clock’s, not with the first call', async () => {
  await using ground = await makeGround()
  const login = loginFor(ground, 'mfa')
  ground.up.addFault({ does: { kind: 'reply', reply: emptyList } })
  ground.clock.ms = startOfTests + 44 * 60_000 + 59_000
  for (let count = 0; count < 1000; count += 1) await ground.adapter.discover(login, call)
  assert.equal((await failureOf(ground.adapter.discover(login, background))).kind, 'throttled')
  ground.clock.ms += 1_000
  await ground.adapter.discover(login, background)
})

test('Up’s own limit, which other tools share, is told with the wait until the next full hour', async () => {
  await using ground = await makeGround({ requestsPerHour: 3 })
  const query = balanceQuery(ground, 'mfa')
  await ground.adapter.balances?.(query, call)
  await ground.adapter.discover(query.login, call)
  const failure = await failureOf(ground.adapter.discover(query.login, call))
  assert.ok(failure.kind === 'throttled')
  assert.equal(failure.retryAfterSeconds, 45 * 60)
  ground.clock.ms += 45 * 60_000
  await ground.adapter.discover(query.login, call)
})

test('the wait is counted by the clock of the answer where ours is wrong', async () => {
  await using ground = await makeGround()
  const date = new Date(startOfTests + 15 * 60_000).toUTCString()
  ground.up.addFault({ does: reply(429, 'Slow down', { date }) })
  const failure = await failureOf(ground.adapter.discover(loginFor(ground, 'mfa'), call))
  assert.ok(failure.kind === 'throttled')
  assert.equal(failure.retryAfterSeconds, 30 * 60)
})
