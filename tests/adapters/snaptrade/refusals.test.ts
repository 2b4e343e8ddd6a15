/**
 * Failures of calls to SnapTrade, over HTTP: the table of docs/providers/snaptrade.md, Errors and limits,
 * and the network.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { EmulatorReply, EmulatorRequest, Misbehaviour } from '#sandbox/emulator.ts'
import { until } from '#tests/support/until.ts'
import { aim, call, failureOf, type Harness, startHarness } from './harness.ts'

const isData = ({ path }: EmulatorRequest) => /positions|activities/.test(path)

/** Both reads of one account under one fault. */
async function failuresUnder(harness: Harness, does: Misbehaviour) {
  const { holdings, query } = aim(harness.emulator.people.healthy)
  harness.emulator.addFault({ when: isData, does })
  const failures = [
    await failureOf(harness.adapter.holdings(holdings, call())),
    await failureOf(harness.adapter.trades.read(query, null, call())),
  ]
  harness.emulator.clearFaults()
  return failures
}

const reply = (status: number, body: unknown, headers = {}): Misbehaviour => ({
  kind: 'reply',
  reply: { status, body, headers },
})

const table: readonly [string, Misbehaviour, object][] = [
  ['400 is theirs to mend', reply(400, { detail: 'bad' }), { kind: 'rejected', status: 400 }],
  ['R20a: 401/1076 is ours', reply(401, { default_code: 1076 }), { kind: 'misconfigured' }],
  ['R20a: 402 for the plan is ours', reply(402, { code: '1' }), { kind: 'misconfigured' }],
  [
    'R20: 402/3003 invalidates',
    reply(402, { code: 3003 }),
    { kind: 'consent_lost', becomes: 'invalidated', detail: 'login disabled, reconnect' },
  ],
  ['403 on a living connection', reply(403, { code: 1066 }), { kind: 'rejected', status: 403 }],
  ['401 on a living connection', reply(401, { code: 1083 }), { kind: 'rejected', status: 401 }],
  [
    'R20: 404 of an account keeps its words',
    reply(404, { code: 1011, detail: 'Account not found' }),
    { kind: 'account_gone', detail: 'Account not found' },
  ],
  ['R20a: 410 is never “no holdings”', reply(410, { detail: 'gone' }), { kind: 'misconfigured' }],
  ['R20a: 425 is being prepared', reply(425, { code: 3012 }), { kind: 'preparing' }],
  [
    'R20: 429 waits for the window',
    reply(429, { detail: 'slow' }, { 'X-RateLimit-Reset': '9' }),
    { kind: 'throttled', retryAfterSeconds: 9 },
  ],
  [
    'R20: a 429 that names no wait means 30 s',
    reply(429, ''),
    { kind: 'throttled', retryAfterSeconds: 30 },
  ],
  ['500', reply(500, '<html>'), { kind: 'unavailable', status: 500 }],
  ['501 of the broker', reply(501, { error: 'no' }), { kind: 'unavailable', status: 501 }],
  ['503/3002', reply(503, { code: 3002 }), { kind: 'unavailable', status: 503 }],
  ['a redirect is not followed', reply(302, '', { location: '/' }), { kind: 'malformed' }],
  ['a body that is no JSON', reply(200, '{"results":['), { kind: 'malformed' }],
  ['a body of another shape', reply(200, []), { kind: 'malformed' }],
  ['a list that is none', reply(200, { results: {}, data: 'x' }), { kind: 'malformed' }],
  ['an endless body', { kind: 'endless' }, { kind: 'malformed' }],
  ['a body cut off', { kind: 'truncate', afterBytes: 100 }, { kind: 'unavailable', status: null }],
  ['a reset', { kind: 'reset' }, { kind: 'unavailable', status: null }],
]

for (const [name, does, wanted] of table) {
  test(`${name}: ${JSON.stringify(wanted)}`, async () => {
    await using harness = await startHarness()
    for (const failure of await failuresUnder(harness, does)) {
      assert.deepEqual({ ...failure, ...wanted }, failure)
    }
    const alerted = 'kind' in wanted && ['misconfigured', 'preparing'].includes(`${wanted.kind}`)
    assert.equal(harness.recorded.alerts.length, alerted ? 2 : 0)
  })
}

test('R20a: a 425 is reported to the operator with its route, an unfinished first sync is not', async () => {
  await using harness = await startHarness()
  const { adapter, emulator, recorded } = harness
  const { holdings, account, login, ref, reference } = aim(emulator.people.healthy)
  account.holdingsSynced = false
  const asked = { what: 'holdings', accounts: [reference], among: [reference] } as const
  const unsynced = await failureOf(adapter.confirmEmpty(login, ref, call(), asked))
  assert.equal(unsynced.kind, 'preparing')
  assert.deepEqual(recorded.alerts, [])
  const body = { detail: 'Populating', code: '3012' }
  emulator.addFault({ when: isData, does: reply(425, body) })
  assert.equal((await failureOf(adapter.holdings(holdings, call()))).kind, 'preparing')
  assert.deepEqual(recorded.alerts, ['/accounts/{id}/positions/all: 425: Populating'])
})

test('an answer that hangs or drips ends with the timeout', async () => {
  await using harness = await startHarness({ timeoutMs: 150 })
  for (const does of [{ kind: 'hang' }, { kind: 'drip', everyMs: 20 }] as const) {
    for (const failure of await failuresUnder(harness, does)) {
      assert.equal(failure.kind, 'unavailable')
      assert.match(failure.detail, /no answer within 150 ms/)
    }
  }
})

test('R20c: a connection reset before any byte is tried once more', async () => {
  await using harness = await startHarness()
  const { holdings } = aim(harness.emulator.people.healthy)
  harness.emulator.addFault({ when: isData, times: 1, does: { kind: 'reset' } })
  assert.notEqual((await harness.adapter.holdings(holdings, call())).length, 0)
  assert.equal(harness.emulator.requests.length, 2)
})

test('R20: a refused read on a disabled, removed or locked connection is lost consent', async () => {
  await using harness = await startHarness()
  const { emulator } = harness
  const { connection } = aim(emulator.people.healthy)
  connection.disabled = true
  for (const status of [401, 403, 404]) {
    for (const failure of await failuresUnder(harness, reply(status, { detail: 'no' }))) {
      assert.equal(failure.kind === 'consent_lost' && failure.becomes, 'invalidated')
      assert.equal(failure.detail, 'login disabled, reconnect')
      assert.ok(!('wholeLogin' in failure), 'the other connections of the person live on')
    }
  }
  const target = aim(emulator.people.healthy)
  emulator.people.healthy.connections = []
  const gone = await failureOf(harness.adapter.holdings(target.holdings, call()))
  assert.equal(gone.kind === 'consent_lost' && gone.becomes, 'revoked')
  assert.equal(gone.detail, 'consent withdrawn, reconnect')
  emulator.people.healthy.userSecret = 'rotated'
  const locked = await failureOf(harness.adapter.trades.read(target.query, null, call()))
  assert.ok(locked.kind === 'consent_lost' && locked.becomes === 'invalidated')
  assert.ok(locked.wholeLogin, 'one secret opens every connection')
})

test('R22: a caller who leaves ends the provider’s call', async () => {
  await using harness = await startHarness()
  const { adapter, emulator, recorded } = harness
  const { query } = aim(emulator.people.healthy)
  emulator.addFault({ does: { kind: 'hang' } })
  const leaving = new AbortController()
  const reading = adapter.trades.read(query, null, call(leaving.signal))
  await until('it is asked', () => emulator.requests.length > 0, 2)
  leaving.abort()
  await assert.rejects(reading, { name: 'AbortError' })
  for (let waited = 0; emulator.aborted.length === 0 && waited < 1_000; waited += 5) await sleep(5)
  assert.equal(emulator.aborted.length, 1)
  assert.deepEqual(
    recorded.exchanges.map(({ outcome }) => outcome),
    ['aborted'],
  )
  const early = adapter.holdings(aim(emulator.people.healthy).holdings, call(leaving.signal))
  await assert.rejects(early, { name: 'AbortError' })
  assert.equal(emulator.requests.length, 1)
})

test('our own budget is checked before every call, and a refused call is not sent', async () => {
  const asked: string[] = []
  await using harness = await startHarness({
    throttle: ({ priority }) => {
      asked.push(priority)
      return Promise.resolve(
        asked.length > 3 ? { allowed: false, retryAfterSeconds: 11 } : { allowed: true },
      )
    },
  })
  const { holdings, login } = aim(harness.emulator.people.healthy)
  await harness.adapter.discover(login, { ...call(), priority: 'background' })
  assert.deepEqual(asked, ['background', 'background', 'background'])
  const failure = await failureOf(harness.adapter.holdings(holdings, call()))
  assert.equal(failure.kind === 'throttled' && failure.retryAfterSeconds, 11)
  assert.equal(harness.emulator.requests.length, 3)
})

test('the query is sent exactly as it was signed, under a base URL with a prefix too', async () => {
  await using plain = await startHarness()
  const { healthy } = plain.emulator.people
  healthy.userId = "o'brien (à) *!&=#?+ %2F"
  const { holdings } = aim(healthy)
  assert.notEqual((await plain.adapter.holdings(holdings, call())).length, 0)
  const [sent] = plain.emulator.requests
  assert.equal(sent?.query.get('userId'), healthy.userId)
  assert.equal(new URL(`http://h/?${sent?.rawQuery}`).search, `?${sent?.rawQuery}`)
  await using prefixed = await startHarness({ baseUrl: `${plain.emulator.url}/api/v1/` })
  assert.notEqual((await prefixed.adapter.holdings(holdings, call())).length, 0)
  assert.match(plain.emulator.requests.at(-1)?.path ?? '', /^\/api\/v1\/accounts\//)
})

test('no secret and no address leaves the adapter in an error, an alert or a route', async () => {
  await using harness = await startHarness()
  const { adapter, emulator, recorded } = harness
  const person = emulator.people.healthy
  const { holdings, query, login, ref } = aim(person)
  const echo = (status: number): Misbehaviour => ({
    kind: 'edit',
    edit: (_: EmulatorReply): EmulatorReply => ({
      status,
      body: { detail: `bad ${emulator.requests.at(-1)?.rawQuery} ${person.userSecret}` },
    }),
  })
  const seen: unknown[] = []
  for (const status of [400, 401, 402, 403, 410, 429, 500]) {
    emulator.addFault({ does: echo(status) })
    const runs = [
      () => adapter.holdings(holdings, call()),
      () => adapter.trades.read(query, null, call()),
      () => adapter.discover(login, call()),
      () => adapter.confirmEmpty(login, ref, call()),
      () => adapter.revoke(login, ref, { last: true, isAsked: false }, call()),
    ]
    for (const run of runs) {
      const error: unknown = await run().catch((caught: unknown) => caught)
      assert.ok(error instanceof Error)
      seen.push(error.message, error.stack, error.cause, 'failure' in error ? error.failure : null)
    }
    emulator.clearFaults()
  }
  const whole = { depth: 20, maxArrayLength: null, maxStringLength: null, showHidden: true }
  const everything = inspect([seen, recorded], whole)
  const { clientId, consumerKey } = emulator.credentials
  for (const secret of [
    person.userSecret,
    person.userId,
    consumerKey,
    clientId,
    holdings.account.upstreamId,
  ]) {
    assert.ok(!everything.includes(secret), secret)
  }
  const routes = new Set(recorded.exchanges.map(({ route }) => route))
  assert.ok([...routes].every((route) => /^(GET|DELETE) \/[\w/{}]+$/.test(route)))
})
