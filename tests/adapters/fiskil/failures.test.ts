/**
 * Tests of everything that can go wrong between us and Fiskil: each failure has its own kind, nothing
 * secret is in it, and no wait is without end.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Misbehaviour } from '#sandbox/emulator.ts'
import { fiskilDemoCredentials } from '#sandbox/fiskil/index.ts'
import { until } from '#tests/support/until.ts'
import { failureOf, link, makeCall, makeQuery, openSetting, type Setting } from './harness.ts'

const path = '/v1/banking/transactions'

function read(setting: Setting, signal?: AbortSignal): Promise<unknown> {
  const query = makeQuery(link(setting, 'history'))
  const call = signal === undefined ? makeCall() : { ...makeCall(), signal }
  return setting.adapter.transactions.read(query, null, call)
}

function disturb(
  setting: Setting,
  does: Misbehaviour,
  options: { at?: string; times?: number } = {},
) {
  const at = options.at ?? path
  setting.emulator.addFault({
    when: (request) => request.path === at,
    ...(options.times === undefined ? {} : { times: options.times }),
    does,
  })
}

const reply = (status: number, body: unknown = {}, headers: Record<string, string> = {}) =>
  ({ kind: 'reply', reply: { status, body, headers } }) as const

const countOf = (setting: Setting, wanted: string) =>
  setting.emulator.requests.filter((request) => request.path === wanted).length

test('R20: 400, 403, 404 and other 4xx are refusals with the sentence of the provider', async () => {
  await using setting = await openSetting()
  for (const status of [400, 403, 404, 409, 422]) {
    disturb(setting, reply(status, { name: 'no', message: `no for ${status}` }))
    assert.deepEqual(await failureOf(read(setting)), {
      kind: 'rejected',
      status,
      detail: `no for ${status}`,
    })
    setting.emulator.clearFaults()
  }
})

test('R20: a 403 or 404 caused by a lost consent is reported as a lost consent', async () => {
  await using setting = await openSetting()
  const consent = setting.emulator.people.history.consents[0]
  assert.ok(consent !== undefined)
  for (const status of [403, 404]) {
    disturb(setting, reply(status, { name: 'forbidden', message: 'no' }))
    consent.active = false
    const failure = await failureOf(read(setting))
    assert.deepEqual(
      [failure.kind, failure.kind === 'consent_lost' && failure.becomes],
      ['consent_lost', 'revoked'],
    )
    consent.active = true
    setting.emulator.clearFaults()
  }
})

test('R20: when the consent cannot be asked after a refusal, the refusal stands', async () => {
  await using setting = await openSetting()
  disturb(setting, reply(403, { message: 'no' }))
  disturb(setting, reply(500), { at: '/v1/consent' })
  assert.equal((await failureOf(read(setting))).kind, 'rejected')
  assert.deepEqual(setting.oddities, ['consent unknown after a refusal'])
})

test('R20a: a 401 is answered with one fresh token and one repetition, then with an alert', async () => {
  await using setting = await openSetting()
  await read(setting)
  setting.emulator.forgetTokens()
  await read(setting)
  assert.deepEqual([countOf(setting, '/v1/token'), countOf(setting, path)], [2, 3])
  assert.deepEqual(setting.alerts, [])
  disturb(setting, reply(401, { name: 'unauthorized', message: 'token revoked' }))
  assert.deepEqual(await failureOf(read(setting)), {
    kind: 'misconfigured',
    status: 401,
    detail: 'token revoked',
  })
  assert.deepEqual([countOf(setting, '/v1/token'), countOf(setting, path)], [3, 5])
  assert.deepEqual(setting.alerts, [`GET ${path}: token revoked`])
})

test('R20a: our own credentials refused are an alert for the operator, and the secret is not in it', async () => {
  await using setting = await openSetting({ clientSecret: 'wrong-secret' })
  const message = 'no client with wrong-secret'
  for (const status of [401, 400, 403]) {
    if (status !== 401) disturb(setting, reply(status, { message }), { at: '/v1/token' })
    const failure = await failureOf(read(setting))
    assert.equal(failure.kind, 'misconfigured')
    assert.doesNotMatch(failure.detail, /wrong-secret/)
    setting.emulator.clearFaults()
  }
  assert.equal(setting.alerts.length, 3)
  assert.equal(countOf(setting, path), 0)
})

test('R20a: a retired endpoint is reported to the operator', async () => {
  await using setting = await openSetting()
  disturb(setting, reply(410, { message: 'gone' }))
  assert.equal((await failureOf(read(setting))).kind, 'misconfigured')
  assert.equal(setting.alerts.length, 1)
})

test('R20: 429 carries the wait of the provider, else 30 seconds, also on the way to a token', async () => {
  await using setting = await openSetting()
  const cases: [Record<string, string>, number][] = [
    [{ 'retry-after': '17' }, 17],
    [{}, 30],
  ]
  for (const at of ['/v1/token', path]) {
    for (const [headers, seconds] of cases) {
      disturb(setting, reply(429, { message: 'slow down' }, headers), { at })
      assert.deepEqual(await failureOf(read(setting)), {
        kind: 'throttled',
        retryAfterSeconds: seconds,
        detail: 'slow down',
      })
      setting.emulator.clearFaults()
    }
  }
})

test('R20: 5xx is unavailable, asked once', async () => {
  await using setting = await openSetting()
  for (const status of [500, 502, 503]) {
    disturb(setting, reply(status, '<html>bad gateway</html>'))
    const failure = await failureOf(read(setting))
    assert.deepEqual(failure, {
      kind: 'unavailable',
      status,
      detail: `the provider answered ${status}`,
    })
    setting.emulator.clearFaults()
  }
  assert.equal(countOf(setting, path), 3)
})

test('R20c: a reset before any byte is tried again once, then unavailable', async () => {
  await using setting = await openSetting()
  disturb(setting, { kind: 'reset' }, { times: 1 })
  await read(setting)
  assert.equal(countOf(setting, path), 2)
  disturb(setting, { kind: 'reset' })
  const failure = await failureOf(read(setting))
  assert.equal(failure.kind, 'unavailable')
  assert.equal(countOf(setting, path), 4)
})

test('R20: silence ends at the time limit', async () => {
  await using setting = await openSetting({ timeoutMs: 150 })
  disturb(setting, { kind: 'hang' })
  const started = performance.now()
  assert.deepEqual(await failureOf(read(setting)), {
    kind: 'unavailable',
    status: null,
    detail: 'no answer within 150 ms',
  })
  assert.ok(performance.now() - started < 3_000)
})

test('R20: a dripping answer ends at the time limit', async () => {
  await using setting = await openSetting({ timeoutMs: 200 })
  await read(setting)
  disturb(setting, { kind: 'drip', everyMs: 20 })
  assert.equal((await failureOf(read(setting))).kind, 'unavailable')
})

test('R23: a body cut off, oversized, no JSON or of another form is no list of nothing', async () => {
  await using setting = await openSetting()
  const cases: [Misbehaviour, string][] = [
    [{ kind: 'truncate', afterBytes: 2000 }, 'unavailable'],
    [{ kind: 'endless' }, 'malformed'],
    [reply(200, 'not json'), 'malformed'],
    [reply(200, ''), 'malformed'],
    [reply(200, {}), 'malformed'],
    [reply(200, { transactions: null }), 'malformed'],
    [reply(200, { transactions: [1] }), 'malformed'],
    [reply(200, { error: 'maintenance' }), 'malformed'],
    [reply(204), 'malformed'],
    [reply(302, '', { location: 'https://evil.example/' }), 'unavailable'],
  ]
  for (const [does, kind] of cases) {
    disturb(setting, does)
    assert.equal((await failureOf(read(setting))).kind, kind, JSON.stringify(does))
    setting.emulator.clearFaults()
  }
})

test('a link to a foreign host gives its cursor to our own base address, and the token never goes there', async () => {
  await using setting = await openSetting()
  await using other = await openSetting()
  const next = `${other.emulator.url}${path}?page[after]=x`
  disturb(setting, {
    kind: 'edit',
    edit: (sent) => ({ ...sent, body: { ...Object(sent.body), links: { next } } }),
  })
  assert.equal(Object(await read(setting)).next, 'x')
  assert.equal(other.emulator.requests.length, 0)
})

test('lists whose pages go in a circle end', async () => {
  await using setting = await openSetting()
  const next = '/v1/banking/balances?page[after]=again'
  const at = '/v1/banking/balances'
  disturb(setting, reply(200, { balances: [{}], links: { next } }), { at })
  const linked = link(setting, 'healthy')
  const accounts = linked.accounts.map((account) => ({ account, connection: linked.connection }))
  const query = { login: linked.login, accounts }
  const failure = await failureOf(Promise.resolve(setting.adapter.balances?.(query, makeCall())))
  assert.equal(failure.kind, 'malformed')
  assert.equal(countOf(setting, at), 2)
})

test('R22: giving up ends the call at the provider and throws the reason', async () => {
  await using setting = await openSetting()
  await read(setting)
  disturb(setting, { kind: 'hang' })
  const controller = new AbortController()
  const reading = read(setting, controller.signal)
  await until('it is asked twice', () => countOf(setting, path) >= 2, 2)
  const reason = new Error('nobody waits')
  controller.abort(reason)
  await assert.rejects(reading, reason)
  for (let wait = 0; setting.emulator.aborted.length === 0 && wait < 200; wait += 1) await sleep(5)
  assert.equal(setting.emulator.aborted.at(-1)?.path, path)
  assert.equal(setting.exchanges.at(-1)?.outcome, 'aborted')
})

test('many concurrent calls share one token request, and an aborted call does not abort it for the others', async () => {
  await using setting = await openSetting()
  disturb(setting, { kind: 'delay', ms: 80 }, { at: '/v1/token' })
  const controller = new AbortController()
  const aborted = read(setting, controller.signal)
  const others = Array.from({ length: 5 }, () => read(setting))
  setTimeout(() => controller.abort(new Error('enough')), 20)
  await assert.rejects(aborted, /enough/)
  await Promise.all(others)
  assert.equal(countOf(setting, '/v1/token'), 1)
  await assert.rejects(read(setting, AbortSignal.abort(new Error('late'))), /late/)
})

test('a failed token is not remembered', async () => {
  await using setting = await openSetting()
  disturb(setting, reply(500), { at: '/v1/token', times: 1 })
  assert.equal((await failureOf(read(setting))).kind, 'unavailable')
  await read(setting)
})

test('a token is renewed a minute before it ends', async () => {
  await using setting = await openSetting()
  await read(setting)
  setting.clock.ms += 839_000
  await read(setting)
  assert.equal(countOf(setting, '/v1/token'), 1)
  setting.clock.ms += 1_000
  await read(setting)
  assert.equal(countOf(setting, '/v1/token'), 2)
})

test('a token reply that cannot be read is malformed', async () => {
  await using setting = await openSetting()
  for (const body of ['no', {}, { token: '' }, { token: 5 }, { token: 't', expires_in: -1 }]) {
    disturb(setting, reply(200, body), { at: '/v1/token' })
    assert.equal((await failureOf(read(setting))).kind, 'malformed')
    setting.emulator.clearFaults()
  }
})

test('what is reported and thrown names no secret, no token and no id', async () => {
  await using setting = await openSetting()
  await read(setting)
  const token = setting.emulator.requests.at(-1)?.headers.authorization?.split(' ')[1] ?? ''
  assert.ok(token.length > 20)
  const echo = `${token} ${fiskilDemoCredentials.clientSecret} https://x.example/?t=${token}`
  disturb(setting, reply(400, { message: echo }))
  const failure = await failureOf(read(setting))
  const told = JSON.stringify([failure, setting.exchanges, setting.alerts])
  for (const secret of [token, fiskilDemoCredentials.clientSecret, 'eu_sandbox']) {
    assert.ok(!told.includes(secret), secret)
  }
  assert.deepEqual(
    [...new Set(setting.exchanges.map((event) => event.route))],
    ['POST /v1/token', `GET ${path}`],
  )
})
