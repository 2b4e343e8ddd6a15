/** What banks allow: four calls a day, one hour of full history, and a consent that ends (reading R36). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { toMicros } from '#kernel/time.ts'
import type { CallContext, Login } from '#providers/port.ts'
import {
  accountOf,
  adopt,
  adoptEarlier,
  background,
  browser,
  call,
  dayMs,
  failureOf,
  type Ground,
  hourMs,
  link,
  makeGround,
  personOf,
  press,
  queryFor,
  refsOf,
  walk,
} from './harness.ts'

const everything = { window: { from: null, to: null } } as const

async function balancesOf(ground: Ground, login: Login, as: CallContext = call) {
  const { connection, refs } = await refsOf(ground, login)
  const accounts = refs.slice(0, 1).map((account) => ({ account, connection }))
  return ground.adapter.balances?.({ login, accounts }, as)
}

test('R36: one reading serves every window for six hours, and says how old it is', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'healthy')
  const query = await queryFor(ground, login)
  const begun = ground.clock.ms
  await walk(ground.adapter, query)
  const calls = ground.bankCalls().length
  ground.clock.ms += 6 * hourMs
  for (const days of [1, 7, 60]) {
    const from = toMicros(ground.clock.ms - days * dayMs)
    await walk(ground.adapter, { ...query, window: { from, to: null } }, background)
  }
  assert.equal(ground.bankCalls().length, calls)
  const page = await ground.adapter.transactions.read(query, null, call)
  assert.deepEqual(page.age, { asOf: begun, goodUntil: begun + 6 * hourMs })
  ground.clock.ms += 1
  await walk(ground.adapter, query)
  assert.ok(ground.bankCalls().length > calls)
})

test('R36: without the person an account is read four times a day, two of them are kept for people', async () => {
  await using ground = await makeGround()
  const login = await adoptEarlier(ground, 'twins')
  await balancesOf(ground, login, background)
  const query = await queryFor(ground, login)
  await walk(ground.adapter, query, background)
  ground.clock.ms += 6 * hourMs + 1
  const refused = await failureOf(walk(ground.adapter, query, background))
  assert.ok(refused.kind === 'throttled' && refused.isOwnBudget === true)
  assert.match(refused.detail, /background work’s share of the calls that the bank allows in a day/)
  await walk(ground.adapter, query, call)
  await balancesOf(ground, login)
  ground.clock.ms += 6 * hourMs + 1
  const over = await failureOf(balancesOf(ground, login))
  assert.ok(over.kind === 'throttled')
  assert.equal(over.retryAfterSeconds, 12 * 3600)
  // The bank itself never refused.
  assert.ok(ground.exchanges.every((one) => !one.startsWith('429')))
})

test('R36: a person’s press is read at once with their own browser’s headers, and counts nothing', async () => {
  await using ground = await makeGround()
  const login = await adoptEarlier(ground, 'twins')
  for (let count = 0; count < 6; count += 1) await balancesOf(ground, login, press)
  assert.equal(ground.bankCalls().length, 6)
  const { headers } = ground.server.requests.at(-1) ?? { headers: {} }
  assert.deepEqual(
    Object.entries(headers)
      .filter(([name]) => name.startsWith('psu-'))
      .toSorted(),
    [
      ['psu-accept', 'text/html'],
      ['psu-accept-language', 'fi'],
      ['psu-ip-address', '203.0.113.7'],
      ['psu-user-agent', 'Mozilla/5.0'],
    ],
  )
  // What they read serves programs.
  await balancesOf(ground, login)
  assert.equal(ground.bankCalls().length, 6)
})

test('a bank that needs headers which the browser did not send gets none, and the call counts', async () => {
  await using ground = await makeGround()
  personOf(ground, 'twins').habits.requiredHeaders = ['Psu-Ip-Address', 'Psu-Geo-Location']
  const login = await link(ground, 'twins')
  await balancesOf(ground, login, press)
  const { headers } = ground.server.requests.at(-1) ?? { headers: {} }
  assert.ok(!Object.keys(headers).some((name) => name.startsWith('psu-')))
  await using other = await makeGround()
  personOf(other, 'twins').habits.requiredHeaders = ['Psu-Ip-Address', 'Psu-User-Agent']
  await balancesOf(other, await link(other, 'twins'), press)
  assert.equal(
    other.server.requests.at(-1)?.headers['psu-user-agent'],
    browser.headers['user-agent'],
  )
})

test('at linking the bank gives all it has, and the person’s own visit reads it; later ninety days', async () => {
  await using ground = await makeGround()
  const login = await link(ground, 'healthy')
  await ground.adapter.discover(login, press)
  for (let turns = 0; turns < 2000 && ground.bankCalls().length < 60; turns += 1) await turn()
  const query = await queryFor(ground, login, everything)
  const whole = (await walk(ground.adapter, query)).rows
  const oldest = whole.at(-1)?.date ?? ''
  assert.ok(oldest < '2025-11-01', oldest)
  const first = ground.server.requests.find(({ path }) => path.endsWith('/transactions'))
  assert.deepEqual(
    [first?.query.get('strategy'), first?.query.get('date_from')],
    ['longest', '2000-01-01'],
  )
  assert.equal(first?.headers['psu-ip-address'], '203.0.113.7')
  ground.clock.ms += 6 * hourMs + 1
  const later = (await walk(ground.adapter, query)).rows
  assert.ok((later.at(-1)?.date ?? '') >= '2026-08-24')
  assert.ok(later.length < whole.length)
  const last = ground.server.requests.at(-1)
  assert.deepEqual(
    [last?.query.get('strategy'), last?.query.get('date_from')],
    [null, '2026-08-24'],
  )
})

test('R36: what a link reads with its person serves the requests that come meanwhile and later', async () => {
  await using ground = await makeGround()
  const login = await link(ground, 'history')
  await ground.adapter.discover(login, press)
  // A login that is stored has another version, and the same secret.
  const stored = { ...login, version: login.version + 1 }
  const query = await queryFor(ground, stored, everything)
  const { rows } = await walk(ground.adapter, query)
  assert.equal(rows.length, 5_400)
  const lists = ground.server.requests.filter(({ path }) => path.endsWith('/transactions'))
  assert.equal(lists.filter((one) => !one.query.has('continuation_key')).length, 1)
  assert.ok(lists.every(({ headers }) => headers['psu-ip-address'] === browser.address))
})

for (const period of ['bare', 'detail'] as const) {
  test(`a period that the bank refuses is narrowed once, and remembered (${period})`, async () => {
    await using ground = await makeGround()
    personOf(ground, 'period').habits.period = period
    const login = await link(ground, 'period')
    const query = await queryFor(ground, login, everything)
    assert.ok((await walk(ground.adapter, query, press)).rows.length > 0)
    const asked = () =>
      ground.server.requests
        .filter(
          ({ path, query: one }) => path.endsWith('/transactions') && !one.has('continuation_key'),
        )
        .map(({ query: one }) => [one.get('strategy'), one.get('date_from')])
    assert.equal(asked().length, 2)
    ground.clock.ms += 6 * hourMs + 1
    await walk(ground.adapter, query)
    assert.equal(asked().length, 3)
    assert.deepEqual(asked()[2]?.[0], null)
  })
}

const lost = [
  ['EXPIRED_SESSION', 'invalidated'],
  ['REVOKED_SESSION', 'revoked'],
] as const
for (const [error, becomes] of lost) {
  test(`a consent that ends at the bank under a session that says authorised is lost: ${error}`, async () => {
    await using ground = await makeGround()
    const login = await adopt(ground, 'twins')
    const query = await queryFor(ground, login)
    personOf(ground, 'twins').ended = { error, isSilent: true }
    const failure = await failureOf(walk(ground.adapter, query))
    assert.ok(failure.kind === 'consent_lost')
    assert.deepEqual([failure.becomes, failure.wholeLogin], [becomes, true])
    assert.match(failure.detail, /renew the connection/)
  })
}

test('a consent that ends between two pages fails the whole reading, and nothing of it is kept', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'history')
  const query = await queryFor(ground, login, everything)
  let pages = 0
  ground.server.addFault({
    when({ path }) {
      if (path.endsWith('/transactions')) pages += 1
      return pages === 3
    },
    does: {
      kind: 'reply',
      reply: { status: 401, body: { code: 401, message: 'x', error: 'EXPIRED_SESSION' } },
    },
  })
  assert.equal((await failureOf(walk(ground.adapter, query))).kind, 'consent_lost')
  ground.server.clearFaults()
  assert.equal((await walk(ground.adapter, query)).rows.length, 5_400)
})

test('a bank that asks its person for something invalidates the login, with words of what to do', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'twins')
  personOf(ground, 'twins').needsAction = true
  const failure = await failureOf(balancesOf(ground, login))
  assert.equal(failure.kind, 'consent_lost')
  assert.match(failure.detail, /do it there, then renew the connection/)
})

test('an empty answer is trusted while the session is open, and doubted once it has ended', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'twins')
  const { connection } = await refsOf(ground, login)
  await ground.adapter.confirmEmpty(login, connection, call)
  personOf(ground, 'twins').ended = { error: 'EXPIRED_SESSION' }
  const failure = await failureOf(ground.adapter.confirmEmpty(login, connection, call))
  assert.equal(failure.kind, 'consent_lost')
})

test('the bank’s own limit waits six hours; a server that fails is unavailable', async () => {
  await using ground = await makeGround()
  const limited = await failureOf(
    walk(ground.adapter, await queryFor(ground, await adopt(ground, 'throttled'))),
  )
  assert.ok(limited.kind === 'throttled')
  assert.deepEqual([limited.retryAfterSeconds, limited.isOwnBudget], [21_600, undefined])
  const login = await adopt(ground, 'twins')
  const query = await queryFor(ground, login)
  const bodies = [
    [400, { error: 'ASPSP_ERROR' }, 'unavailable'],
    [408, { error: 'ASPSP_TIMEOUT' }, 'unavailable'],
    [422, { error: 'WRONG_CONTINUATION_KEY' }, 'unavailable'],
    [403, { error: 'ACCESS_DENIED' }, 'rejected'],
  ] as const
  for (const [status, body, kind] of bodies) {
    ground.clock.ms += dayMs + 1
    ground.server.clearFaults()
    ground.server.addFault({
      when: ({ path }) => path.endsWith('/transactions'),
      does: { kind: 'reply', reply: { status, body } },
    })
    assert.equal((await failureOf(walk(ground.adapter, query))).kind, kind, body.error)
  }
})

test('a refused token is for the operator and never ends a consent', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'twins')
  const query = await queryFor(ground, login)
  const [application] = ground.server.site.applications
  assert.ok(application !== undefined)
  application.isActive = false
  const failure = await failureOf(walk(ground.adapter, query))
  assert.equal(failure.kind, 'misconfigured')
  assert.ok(ground.alerts.length > 0)
})

test('no secret stands in a route, a failure or a report', async () => {
  await using ground = await makeGround()
  const login = await link(ground, 'healthy')
  await walk(ground.adapter, await queryFor(ground, login))
  ground.server.addFault({
    when: ({ path }) => path.endsWith('/balances'),
    does: {
      kind: 'reply',
      reply: {
        status: 400,
        body: {
          error: 'ASPSP_ERROR',
          message: `Bearer eyJhbGciOi.J9.x of FI4250001510000023 \u0000 -----BEGIN ${'PRIVATE'} KEY-----`,
        },
      },
    },
  })
  const failure = await failureOf(balancesOf(ground, login, press))
  assert.ok(!/eyJ|FI4250001510000023|BEGIN|\u0000/.test(failure.detail), failure.detail)
  const { sessionId } = { sessionId: JSON.parse(login.secret ?? '{}').session.id }
  const told = JSON.stringify([ground.exchanges, ground.alerts, ground.oddities])
  assert.ok(!told.includes(sessionId))
  assert.ok(!told.includes(accountOf(ground, 'healthy').hash))
})

test('the calls that are left are those of the account with the fewest', async () => {
  await using ground = await makeGround()
  const login = await adoptEarlier(ground, 'healthy')
  assert.equal((await ground.adapter.callsLeft?.(login))?.left, 4)
  await balancesOf(ground, login)
  await walk(ground.adapter, await queryFor(ground, login))
  const left = await ground.adapter.callsLeft?.(login)
  assert.deepEqual([left?.calls, left?.left, left?.isShared], [4, 2, false])
})

test('an end of the consent that is no time is not told', async () => {
  await using ground = await makeGround()
  ground.server.addFault({
    when: ({ path, method }) => path === '/sessions' && method === 'POST',
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: { ...(reply.body as object), access: { valid_until: 'next spring' } },
      }),
    },
  })
  const login = await link(ground, 'twins')
  assert.equal((await refsOf(ground, login)).found.consentExpiresAt, null)
})

test('R36: a bank that refuses further calls is not asked again before the time it named, but by its person', async () => {
  await using ground = await makeGround()
  const login = await adoptEarlier(ground, 'healthy')
  const query = await queryFor(ground, login)
  const body = { code: 429, error: 'ASPSP_RATE_LIMIT_EXCEEDED', message: 'Too many' }
  ground.server.addFault({
    when: ({ path }) => path.includes('/accounts/'),
    times: 1,
    does: { kind: 'reply', reply: { status: 429, body } },
  })
  for (const passed of [0, hourMs]) {
    ground.clock.ms += passed
    const failure = await failureOf(walk(ground.adapter, query))
    assert.ok(failure.kind === 'throttled')
    assert.equal(failure.retryAfterSeconds, (6 * hourMs - passed) / 1000)
  }
  assert.equal(ground.bankCalls().length, 1)
  await walk(ground.adapter, query, press)
  assert.equal(ground.bankCalls().length > 1, true)
  ground.clock.ms += 6 * hourMs + 1
  await walk(ground.adapter, query)
})

test('R36: a bank that refuses further calls under an account’s new id is not asked again either', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'healthy')
  const secret = JSON.parse(login.secret ?? '{}')
  for (const account of secret.session.accounts) account.uid = randomUUID()
  const query = await queryFor(ground, { ...login, secret: JSON.stringify(secret) })
  const body = { code: 429, error: 'ASPSP_RATE_LIMIT_EXCEEDED', message: 'Too many' }
  let asked = 0
  ground.server.addFault({
    when: ({ path }) => {
      if (!path.includes('/accounts/')) return false
      asked += 1
      return asked > 1
    },
    does: { kind: 'reply', reply: { status: 429, body } },
  })
  for (let time = 0; time < 2; time += 1)
    assert.equal((await failureOf(walk(ground.adapter, query))).kind, 'throttled')
  assert.equal(asked, 2)
})

test('R36: a call to a bank whose connection is reset is not repeated: it may have been counted', async () => {
  await using ground = await makeGround()
  const login = await adoptEarlier(ground, 'healthy')
  const query = await queryFor(ground, login)
  ground.server.addFault({
    when: ({ path }) => path.includes('/accounts/'),
    times: 1,
    does: { kind: 'reset' },
  })
  assert.equal((await failureOf(walk(ground.adapter, query))).kind, 'unavailable')
  assert.equal(ground.bankCalls().length, 1)
})
