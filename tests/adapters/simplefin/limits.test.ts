/** One reading for everything, budgets, and a server’s errors by their codes (readings R20b, R36). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toIso, toMicros } from '#kernel/time.ts'
import type { BalanceQuery } from '#providers/port.ts'
import {
  accountOf,
  background,
  bankOf,
  call,
  claimedAgain,
  dayMs,
  failureOf,
  type Ground,
  loginFor,
  makeGround,
  queryFor,
  refsOf,
  startOfTests,
  walk,
} from './harness.ts'

const hourMs = 3_600_000

function balanceQuery(ground: Ground, name: string, login = loginFor(ground, name)): BalanceQuery {
  const { connection, refs } = refsOf(bankOf(ground, name))
  return { login, accounts: refs.map((account) => ({ account, connection })) }
}

test('R36: balances, rows, discovery and the check of an empty answer share one reading for an hour', async () => {
  await using ground = await makeGround()
  const { adapter, server, clock } = ground
  const login = loginFor(ground, 'healthy')
  const query = { ...queryFor(ground, 'healthy'), login }
  await Promise.all([
    adapter.discover(login, call),
    adapter.balances?.(balanceQuery(ground, 'healthy', login), call),
    walk(adapter, query),
  ])
  await adapter.confirmEmpty(login, query.connection, call)
  await adapter.listAlive?.(login, call)
  assert.equal(server.requests.length, 1)
  clock.ms += hourMs
  await walk(adapter, query)
  assert.equal(server.requests.length, 1)
  clock.ms += 1
  await walk(adapter, query)
  assert.equal(server.requests.length, 2)
})

test('R36: the age of a page is that of the bank, and it may be shown for an hour from its reading', async () => {
  await using ground = await makeGround()
  const { adapter, clock } = ground
  const page = await adapter.transactions.read(queryFor(ground, 'healthy'), null, call)
  const noon = Date.parse('2026-11-20T12:00:00Z')
  assert.deepEqual(page.age, { asOf: noon, goodUntil: clock.now() + hourMs })
  const reading = await adapter.balances?.(balanceQuery(ground, 'healthy'), call)
  assert.deepEqual(reading?.age, page.age)
  assert.deepEqual(
    reading?.consents.map(({ status, lastRefreshedAt }) => [status, lastRefreshedAt]),
    [['active', toIso(noon)]],
  )
})

test('R36: a press of the person reads anew', async () => {
  await using ground = await makeGround()
  const { adapter, server, clock } = ground
  const login = loginFor(ground, 'healthy')
  await adapter.discover(login, call)
  clock.ms += 60_000
  await adapter.discover(login, { ...call, person: { address: '203.0.113.7', headers: {} } })
  assert.equal(server.requests.length, 2)
  assert.equal(server.requests[1]?.headers['user-agent'], 'tributary')
})

test('balances have the bank’s signs; an absent available one is null, an unreadable one costs its account alone', async () => {
  await using ground = await makeGround()
  const read = async () => {
    const reading = await ground.adapter.balances?.(balanceQuery(ground, 'healthy'), call)
    return reading?.balances.map((one) => [one.currentBalance, one.availableBalance, one.currency])
  }
  accountOf(ground, 'healthy').rows = []
  accountOf(ground, 'healthy', 1).balanceText = 'n/a'
  accountOf(ground, 'healthy', 2).balanceText = '-310.40'
  assert.deepEqual(await read(), [
    ['2500.00', null, 'USD'],
    [null, null, null],
    ['-310.40', '4689.60', 'USD'],
  ])
})

test('a day’s requests end before the server’s, background work leaves half to people, and the wait is told', async () => {
  await using ground = await makeGround()
  const { adapter, server, clock } = ground
  const login = loginFor(ground, 'healthy')
  clock.ms = Date.parse('2026-11-21T00:00:00Z')
  const readAs = async (as: typeof call) => {
    clock.ms += 60_001
    await adapter.discover(claimedAgain(login), as)
  }
  for (let count = 0; count < 12; count += 1) await readAs(background)
  const spent = await failureOf(readAs(background))
  assert.equal(spent.kind, 'throttled')
  assert.match(spent.detail, /background work’s share of the requests of this day are used up/)
  for (let count = 0; count < 12; count += 1) await readAs(call)
  const over = await failureOf(readAs(call))
  assert.ok(over.kind === 'throttled' && over.retryAfterSeconds > 23 * 3600)
  assert.equal(server.requests.length, 24)
  assert.deepEqual((await adapter.callsLeft?.(login))?.left, 0)
  clock.ms = Date.parse('2026-11-22T00:00:01Z')
  await readAs(background)
})

test('R36: a dashboard every five minutes, an agent’s forty calls and the syncs of a day stay below the limit', async () => {
  await using ground = await makeGround()
  const { adapter, server, clock } = ground
  clock.ms = Date.parse('2026-11-21T00:00:00Z')
  const login = loginFor(ground, 'healthy')
  const balances = balanceQuery(ground, 'healthy', login)
  const query = queryFor(ground, 'healthy', { login })
  for (let minute = 0; minute < 24 * 60; minute += 5) {
    clock.ms = Date.parse('2026-11-21T00:00:00Z') + minute * 60_000
    await adapter.balances?.(balances, call)
    await walk(adapter, { ...query, window: { from: toMicros(clock.ms - 30 * dayMs), to: null } })
    if (minute === 600) for (let turn = 0; turn < 40; turn += 1) await walk(adapter, query)
    if (minute % 360 === 0) {
      const from = toMicros(clock.ms - 40 * dayMs)
      await walk(
        adapter,
        { ...query, window: { from, to: toMicros(clock.ms), isOpen: true } },
        background,
      )
    }
  }
  assert.ok(server.requests.length <= 24, `${server.requests.length} requests in a day`)
  assert.deepEqual(ground.alerts, [])
})

test('the first warning of too many requests ends the day, and the operator is told', async () => {
  await using ground = await makeGround({ requestsPerDay: 2 })
  const { adapter, server, clock, alerts } = ground
  const login = loginFor(ground, 'healthy')
  for (let count = 0; count < 3; count += 1) {
    clock.ms += 1
    await adapter.discover(claimedAgain(login), call)
  }
  assert.deepEqual(alerts, ['a server warns of too many requests'])
  const failure = await failureOf(adapter.discover(claimedAgain(login), call))
  assert.equal(failure.kind, 'throttled')
  assert.equal(server.requests.length, 3)
})

const codes: readonly (readonly [string, string | null, RegExp | null])[] = [
  ['con.auth', null, null],
  ['act.failed', 'unavailable', /could not read this account/],
  ['act.new', 'unavailable', /could not read this account/],
  ['act.missingdata', null, null],
]

for (const [code, kind] of codes) {
  test(`rows of an account with the error ${code} are ${kind ?? 'shown'}`, async () => {
    await using ground = await makeGround()
    if (code.startsWith('con.')) bankOf(ground, 'twins').trouble = code
    else accountOf(ground, 'twins').trouble = code
    const reading = walk(ground.adapter, queryFor(ground, 'twins'))
    if (kind === null) assert.ok((await reading).rows.length > 0)
    else assert.equal((await failureOf(reading)).kind, kind)
  })
}

test('R20b: an empty answer is doubted by what the server says of the account and its bank', async () => {
  await using ground = await makeGround()
  const { adapter } = ground
  const { connection, refs } = refsOf(bankOf(ground, 'twins'))
  const check = () => {
    const asked = { what: 'transactions', accounts: refs, among: refs } as const
    return adapter.confirmEmpty(loginFor(ground, 'twins'), connection, call, asked)
  }
  await check()
  accountOf(ground, 'twins').trouble = 'act.missingdata'
  assert.equal((await failureOf(check())).kind, 'preparing')
  delete accountOf(ground, 'twins').trouble
  bankOf(ground, 'twins').trouble = 'con.auth'
  const lost = await failureOf(check())
  assert.equal(lost.kind, 'consent_lost')
  assert.match(lost.detail, /asks its person to sign in again/)
  bankOf(ground, 'twins').trouble = 'con.maintenance'
  assert.equal((await failureOf(check())).kind, 'unavailable')
  bankOf(ground, 'twins').isGone = true
  assert.equal((await failureOf(check())).kind, 'consent_lost')
})

test('R20b: an account whose rows the server has not read yet is not ready, beside others that are', async () => {
  await using ground = await makeGround()
  const savings = accountOf(ground, 'healthy', 1)
  savings.rows = []
  const query = queryFor(ground, 'healthy')
  assert.ok((await walk(ground.adapter, query)).rows.length > 0)
  savings.trouble = 'act.missingdata'
  ground.clock.ms += 3_600_001
  const failure = await failureOf(walk(ground.adapter, query))
  assert.ok(failure.kind === 'preparing')
  assert.equal(failure.of, savings.name)
})

const old = {
  from: toMicros(startOfTests - 80 * dayMs),
  to: toMicros(startOfTests - 50 * dayMs),
}
const unread: readonly (readonly [string, string])[] = [
  ['act.missingdata', 'preparing'],
  ['con.failed', 'unavailable'],
]

for (const [code, kind] of unread) {
  test(`R20b: an account without rows and with ${code} fails beside others as it fails alone, in every window`, async () => {
    await using ground = await makeGround()
    const bank = bankOf(ground, 'healthy')
    const quiet = accountOf(ground, 'healthy', 1)
    quiet.rows = []
    for (const [name, window] of [['newest', {}] as const, ['old', { window: old }] as const]) {
      const query = queryFor(ground, 'healthy', window)
      const alone = { ...query, accounts: query.accounts.slice(1, 2), scoped: true }
      const ready = { ...query, accounts: query.accounts.slice(0, 1), scoped: true }
      assert.ok((await walk(ground.adapter, query)).rows.length > 0)
      if (code.startsWith('con.')) bank.trouble = code
      else quiet.trouble = code
      ground.clock.ms += 3_600_001
      assert.ok((await walk(ground.adapter, ready)).rows.length > 0)
      assert.equal((await failureOf(walk(ground.adapter, query))).kind, kind, name)
      const { login, connection, accounts } = alone
      const asked = { what: 'transactions', accounts, among: accounts } as const
      const ofAlone = walk(ground.adapter, alone).then(() =>
        ground.adapter.confirmEmpty(login, connection, call, asked),
      )
      assert.equal((await failureOf(ofAlone)).kind, kind, name)
      delete bank.trouble
      delete quiet.trouble
      ground.clock.ms += 3_600_001
    }
  })
}

test('R20b: rows of a bank that waits for a sign-in are shown also where one of its accounts has none', async () => {
  await using ground = await makeGround()
  accountOf(ground, 'healthy', 1).rows = []
  bankOf(ground, 'healthy').trouble = 'con.auth'
  for (const window of [{}, { window: old }]) {
    const { rows } = await walk(ground.adapter, queryFor(ground, 'healthy', window))
    assert.ok(rows.length > 0)
  }
})

test('an account that the server does not list any more may have moved; only banks that work are alive', async () => {
  await using ground = await makeGround()
  const query = queryFor(ground, 'healthy')
  bankOf(ground, 'healthy').accounts.shift()
  assert.equal((await failureOf(walk(ground.adapter, query))).kind, 'account_gone')
  bankOf(ground, 'healthy').trouble = 'con.auth'
  const alive = await ground.adapter.listAlive?.(loginFor(ground, 'healthy'), call)
  assert.deepEqual(alive, [bankOf(ground, 'healthy', 1).connId])
})

test('general errors: misuse is for operators, a failed sign-in is a lost access, others without accounts are an outage', async () => {
  await using ground = await makeGround()
  const person = ground.server.people.twins
  assert.ok(person !== undefined)
  person.trouble = 'gen.api'
  await walk(ground.adapter, queryFor(ground, 'twins'))
  assert.deepEqual(ground.oddities, ['gen.api'])
  person.trouble = 'gen.auth'
  assert.equal(
    (await failureOf(walk(ground.adapter, queryFor(ground, 'twins')))).kind,
    'consent_lost',
  )
  person.trouble = 'gen.'
  person.connections = []
  assert.equal(
    (await failureOf(ground.adapter.discover(loginFor(ground, 'twins'), call))).kind,
    'unavailable',
  )
})

const answers: readonly (readonly [string, object, string])[] = [
  ['402', { status: 402, body: { errors: ['Payment required.'], accounts: [] } }, 'consent_lost'],
  ['403 in HTML', { status: 403, body: '<html>Forbidden' }, 'consent_lost'],
  ['401', { status: 401, body: '' }, 'consent_lost'],
  ['429', { status: 429, body: '{"errors":["Too many requests"]}' }, 'throttled'],
  ['500', { status: 500, body: 'oops' }, 'unavailable'],
  ['400', { status: 400, body: 'bad' }, 'rejected'],
  [
    '302',
    { status: 302, headers: { location: 'https://elsewhere.example/' }, body: '' },
    'rejected',
  ],
  ['HTML with 200', { status: 200, body: '<html>' }, 'malformed'],
  ['no accounts', { status: 200, body: { errlist: [] } }, 'malformed'],
  ['204', { status: 204 }, 'malformed'],
]

for (const [name, reply, kind] of answers) {
  test(`an answer ${name} is ${kind}, and no secret is in the words`, async () => {
    await using ground = await makeGround()
    ground.server.addFault({ does: { kind: 'reply', reply: reply as { status: number } } })
    const login = loginFor(ground, 'twins')
    const failure = await failureOf(ground.adapter.discover(login, call))
    assert.equal(failure.kind, kind)
    const { accessUrl } = JSON.parse(login.secret ?? '')
    for (const part of accessUrl.split(/[/:@]+/).filter((one: string) => one.length > 16)) {
      assert.ok(!failure.detail.includes(part))
    }
    if (failure.kind === 'throttled') assert.equal(failure.retryAfterSeconds, 45 * 60)
  })
}

test('an answer of 3 MB is read, one of more than 16 MiB is not, and one that breaks off is an outage', async () => {
  await using ground = await makeGround()
  const { rows } = accountOf(ground, 'twins')
  const [first] = rows
  assert.ok(first !== undefined)
  accountOf(ground, 'twins').rows = Array.from({ length: 20_000 }, (_, index) => ({
    ...first,
    id: `TRN-${index}`,
    description: `Payment ${index} ${'x'.repeat(40)}`,
    postedAt: Date.parse('2026-11-18T12:00:00Z'),
  }))
  assert.equal((await walk(ground.adapter, queryFor(ground, 'twins'))).rows.length, 20_000)
  ground.server.addFault({ times: 1, does: { kind: 'endless' } })
  assert.equal(
    (await failureOf(ground.adapter.discover(loginFor(ground, 'twins'), call))).kind,
    'malformed',
  )
  ground.server.addFault({ times: 1, does: { kind: 'truncate', afterBytes: 100 } })
  assert.equal(
    (await failureOf(ground.adapter.discover(loginFor(ground, 'twins'), call))).kind,
    'unavailable',
  )
})

test('a caller that leaves does not end the reading: the next one has it', async () => {
  await using ground = await makeGround()
  const { adapter, server } = ground
  const login = loginFor(ground, 'twins')
  server.latencyMs = 100
  const leaving = AbortSignal.timeout(20)
  await assert.rejects(adapter.discover(login, { ...call, signal: leaving }), {
    name: 'TimeoutError',
  })
  assert.equal((await adapter.discover(login, call)).length, 1)
  assert.equal(server.requests.length, 1)
  assert.ok(ground.clock.now() === startOfTests)
})

test('R36: a read whose connection is reset is not repeated: the server may have counted it', async () => {
  await using ground = await makeGround()
  ground.server.addFault({ times: 1, does: { kind: 'reset' } })
  const login = loginFor(ground, 'healthy')
  assert.equal((await failureOf(ground.adapter.discover(login, call))).kind, 'unavailable')
  assert.equal((await ground.adapter.discover(login, call)).length > 0, true)
})
