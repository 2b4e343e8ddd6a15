/**
 * Two processes on one PostgreSQL and one Redis are one service: limits, leases, breaker, keys, plans and
 * caches.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Fleet, type LinkedUser, startFleet, until } from './fleet.ts'
import type { Answer, ServerProcess } from './server-process.ts'

let fleet: Fleet
before(async () => {
  fleet = await startFleet({ env: { RATE_LIMIT_CHEAP: '60', RATE_LIMIT_PREAUTH: '100' } })
})
after(() => fleet?.close())

/** Reading R27, and the time that one question takes. */
const aSecondMs = 1100

const codeOf = (answer: Answer): string | undefined => answer.body.error?.code
const cacheOf = (answer: Answer) => answer.headers['x-cache']
const both = () => [fleet.one, fleet.two] as const

/** Alternately of either process, `count` at once. */
function askBoth(count: number, ask: (server: ServerProcess) => Promise<Answer>) {
  return Promise.all(
    Array.from({ length: count }, (_, index) => ask(index % 2 === 0 ? fleet.one : fleet.two)),
  )
}

const count = (answers: readonly Answer[], status: number) =>
  answers.filter((answer) => answer.status === status).length

test('both processes give the same answers, and one is warm with what the other computed', async () => {
  const user = await fleet.createLinked()
  await fleet.one.admin('POST', `/users/${user.id}/connections`, {
    ...fleet.sandbox.person('healthy').find(({ provider }) => provider === 'snaptrade'),
  })
  const { body } = await fleet.one.get('/v1/connections', user.key)
  const broker = body.data.find((row: { category: string }) => row.category === 'brokerage')
  const paths = [
    '/v1/connections',
    '/v1/accounts',
    '/v1/categories',
    `/v1/balances?accountIds=${user.accountId}`,
    user.transactions(),
    `/v1/holdings?connectionId=${broker.id}`,
    `/v1/trades?connectionId=${broker.id}`,
    '/v1/transactions?connectionId=nobody',
    '/v1/balances',
    '/v1/unknown',
  ]
  for (const path of paths) {
    const first = await fleet.one.get(path, user.key)
    const second = await fleet.two.get(path, user.key)
    assert.equal(second.status, first.status, path)
    assert.equal(second.text, first.text, path)
    if (first.status === 200) assert.equal(cacheOf(second), 'HIT', path)
  }
})

test('R7: one minute of a key is sixty requests on both processes together', async () => {
  const user = await fleet.createUser()
  const answers = await askBoth(80, (server) => server.get('/v1/categories', user.key))
  assert.deepEqual([count(answers, 200), count(answers, 429)], [60, 20])
  const remaining = answers.filter(({ status }) => status === 200).map(remainingOf)
  assert.deepEqual(
    remaining.toSorted((left, right) => right - left),
    Array.from({ length: 60 }, (_, index) => 59 - index),
  )
  for (const refused of answers.filter(({ status }) => status === 429)) {
    assert.equal(remainingOf(refused), 0)
    const wait = Number(refused.headers['retry-after'])
    assert.ok(wait >= 1 && wait <= 60, String(wait))
  }
})

const remainingOf = (answer: Answer) => Number(answer.headers['x-ratelimit-remaining'])

test('R6: guesses at keys are counted on both processes together', async () => {
  const guess = 'trib_live_guess_guess_guess'
  const answers = await askBoth(130, (server) => server.get('/v1/categories', guess))
  assert.deepEqual([count(answers, 401), count(answers, 429)], [100, 30])
})

test('four heavy requests of a key may be in flight on both processes together', async () => {
  const user = await fleet.createLinked()
  const { fiskil } = fleet.sandbox
  fiskil.addFault({ when: isRead, does: { kind: 'delay', ms: 1500 } })
  const asked = countReads()
  const four = askBoth(4, (server) => server.get(nextQuery(user), user.key))
  await until('four are at the provider', () => countReads() === asked + 4)
  for (const server of both()) {
    const fifth = await server.get(nextQuery(user), user.key)
    assert.equal(fifth.status, 429)
    assert.equal(fifth.body.error.message, 'Too many concurrent requests')
    assert.equal(fifth.headers['retry-after'], '1')
  }
  assert.equal(count(await four, 200), 4)
  fiskil.clearFaults()
  const again = await askBoth(4, (server) => server.get(nextQuery(user), user.key))
  assert.equal(count(again, 200), 4, 'the places are free again')
})

test('R21: failures on either process add up to one breaker, which both obey', async () => {
  const user = await fleet.createLinked()
  fleet.sandbox.fiskil.addFault({ when: isRead, does: { kind: 'reply', reply: { status: 500 } } })
  for (const server of [fleet.one, fleet.two, fleet.one]) {
    const failed = await server.get(nextQuery(user), user.key)
    assert.deepEqual([failed.status, codeOf(failed)], [503, undefined])
  }
  fleet.sandbox.fiskil.clearFaults()
  const asked = countReads()
  for (const server of both()) {
    const open = await server.get(nextQuery(user), user.key)
    assert.deepEqual([open.status, codeOf(open)], [503, 'upstream_breaker_open'])
    const wait = Number(open.headers['retry-after'])
    assert.ok(wait > 50 && wait <= 60, String(wait))
  }
  assert.equal(countReads(), asked)
})

test('R27: a key that is revoked on one process is refused on the other at once', async () => {
  const user = await fleet.createUser()
  for (const server of both()) await isNow(server, user.key, 200)
  await fleet.one.admin('DELETE', `/keys/${user.keyId}`)
  const refused = await fleet.one.get('/v1/connections', user.key)
  assert.equal(refused.status, 401, 'at once where it was revoked')
  await isNow(fleet.two, user.key, 401)
})

test('R27: a change of plan on one process counts on the other within a second', async () => {
  const user = await fleet.createUser()
  const setPlan = (plan: string, status: string) =>
    fleet.one.admin('PUT', `/users/${user.id}/plan`, { plan, status })
  await isNow(fleet.two, user.key, 200)
  await setPlan('professional', 'canceled')
  await isSoon(fleet.two, user.key, 403)
  await setPlan('developer', 'active')
  await isSoon(fleet.two, user.key, 200)
})

async function isNow(server: ServerProcess, key: string, status: number): Promise<void> {
  assert.equal((await server.get('/v1/connections', key)).status, status)
}

async function isSoon(server: ServerProcess, key: string, status: number): Promise<void> {
  await until(
    `${status} on the other process`,
    async () => (await server.get('/v1/connections', key)).status === status,
    aSecondMs,
  )
}

const purges: Readonly<Record<string, (user: LinkedUser) => Promise<unknown>>> = {
  'a consent that a read found gone': async (user) => {
    setConsents(false)
    const lost = await fleet.one.get(nextQuery(user), user.key)
    assert.deepEqual([lost.status, codeOf(lost)], [400, 'upstream_bad_request'])
  },
  'a refresh that brings a new status': async (user) => {
    setConsents(false)
    await fleet.one.admin('POST', `/connections/${user.connectionId}/refresh`)
  },
  'linking anew': async (user) => {
    const { endUserId } = fleet.sandbox.fiskil.people.history
    await fleet.one.admin('POST', `/users/${user.id}/connections`, {
      provider: 'fiskil',
      endUserId,
    })
  },
  'the removal of a connection': (user) =>
    fleet.one.admin('DELETE', `/connections/${user.connectionId}`),
}
for (const [name, change] of Object.entries(purges)) {
  test(`R10: ${name} on one process leaves no stale answer on the other`, async (t) => {
    t.after(() => setConsents(true))
    const user = await fleet.createLinked()
    const paths = [
      '/v1/connections',
      `/v1/balances?accountIds=${user.accountId}`,
      user.transactions(),
    ]
    for (const path of paths) {
      await fleet.one.get(path, user.key)
      assert.equal(cacheOf(await fleet.two.get(path, user.key)), 'HIT', path)
    }
    await change(user)
    for (const path of paths) {
      assert.notEqual(cacheOf(await fleet.two.get(path, user.key)), 'HIT', path)
    }
  })
}

function setConsents(active: boolean): void {
  for (const consent of fleet.sandbox.fiskil.people.healthy.consents) {
    consent.active = active
    consent.terminationReason = active ? '' : 'Expired or Revoked'
  }
}

const isRead = ({ path }: { readonly path: string }) => path === '/v1/banking/transactions'
const countReads = () => fleet.sandbox.fiskil.requests.filter(isRead).length

let queries = 0
/** A query that was not made before. */
function nextQuery(user: LinkedUser): string {
  queries += 1
  return user.transactions(`&from=2026-01-01T00:00:00.${String(queries).padStart(6, '0')}Z`)
}
