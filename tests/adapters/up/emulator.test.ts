/** The emulator answers as Up's own file says and refuses what the real one refuses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MagicName, magicUsers } from '#sandbox/magic-users.ts'
import { startUpEmulator, toToken } from '#sandbox/up/index.ts'
import { firstAccount, makeGround, personOf, startOfTests, withRows } from './harness.ts'
import { makeJudge } from './schema.ts'

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
  readonly body: any
}

async function ask(base: string, path: string, name: MagicName = 'healthy'): Promise<Answer> {
  const headers = { authorization: `Bearer ${toToken(name)}` }
  const response = await fetch(`${base}${path}`, { headers })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

/** The link of the app, which Up sends and its file does not have. */
function withoutNews<Body>(body: Body): Body {
  return JSON.parse(
    JSON.stringify(body, (key, value) => (key === 'deepLinkURL' ? undefined : value)),
  )
}

test('every answer to every person is what Up’s own file promises', async () => {
  await using ground = await makeGround({ requestsPerHour: 100_000 })
  const judge = makeJudge()
  const base = ground.up.baseUrl
  const check = async (path: string, template: string, name: MagicName) => {
    const { status, body } = await ask(base, path, name)
    assert.equal(status, 200, path)
    assert.deepEqual(judge.problems('get', template, withoutNews(body)), [], `${name} ${path}`)
    return body
  }
  const unlike: readonly MagicName[] = ['expired', 'slow', 'throttled', 'outage', 'malformed']
  const names = magicUsers.flatMap(({ name, at }) => (at.up === null ? [] : [name]))
  for (const name of names.filter((one) => !unlike.includes(one))) {
    await check('/util/ping', '/util/ping', name)
    await check('/categories', '/categories', name)
    await check('/categories/fuel', '/categories/{id}', name)
    const rows = await check('/transactions?page[size]=100', '/transactions', name)
    const accounts = await check('/accounts', '/accounts', name)
    for (const { id } of accounts.data.slice(0, 3)) {
      await check(`/accounts/${id}`, '/accounts/{id}', name)
      const own = `/accounts/${id}/transactions`
      await check(`${own}?page[size]=100`, '/accounts/{accountId}/transactions', name)
      const held = `${own}?filter[status]=HELD`
      await check(held, '/accounts/{accountId}/transactions', name)
    }
    for (const { id } of rows.data.slice(0, 2)) {
      await check(`/transactions/${id}`, '/transactions/{id}', name)
    }
  }
})

test('the people have rows of every kind that Up has', async () => {
  await using ground = await makeGround()
  const { rows } = firstAccount(ground, 'healthy')
  const has = (is: (row: (typeof rows)[number]) => boolean) => assert.ok(rows.some(is), String(is))
  has((row) => row.rawText === null)
  has((row) => row.foreign?.currency === 'IDR')
  has((row) => row.cashback !== undefined)
  has((row) => row.roundUp !== undefined)
  has((row) => row.description.startsWith('Cover from'))
  has((row) => row.goneAt !== undefined)
  has((row) => row.heldAmount !== undefined && row.settlesAt !== null)
  assert.equal(firstAccount(ground, 'history').rows.length, 5_400)
})

test('a move between own accounts has a row on both sides, at the same time and of the opposite amount', async () => {
  await using ground = await makeGround()
  const [spender, saver] = personOf(ground, 'healthy').accounts
  assert.ok(spender !== undefined && saver !== undefined)
  const moves = (from: typeof spender, to: typeof spender, sign: bigint) =>
    from.rows
      .filter(({ transferAccount }) => transferAccount === to.id)
      .map(({ createdAt, amount }) => [createdAt, sign * BigInt(amount.replace('.', ''))].join(' '))
      .toSorted()
  const sent = moves(spender, saver, 1n)
  assert.ok(sent.length > 200)
  assert.deepEqual(sent, moves(saver, spender, -1n))
  const told = spender.rows.flatMap(({ roundUp }) =>
    roundUp === undefined ? [] : [roundUp.amount],
  )
  const moved = spender.rows.filter(({ description }) => description === 'Round Up')
  assert.deepEqual(
    moved.map(({ amount }) => amount),
    told,
  )
})

test('the judge itself notices a missing, a mistyped and an unknown field', () => {
  const judge = makeJudge()
  const good = { meta: { id: 'a', statusEmoji: '⚡️' } }
  assert.deepEqual(judge.problems('get', '/util/ping', good), [])
  for (const meta of [{ id: 'a' }, { id: 7, statusEmoji: 'x' }, { ...good.meta, mood: 1 }]) {
    assert.notDeepEqual(judge.problems('get', '/util/ping', { meta }), [])
  }
})

test('a token without its prefix, another scheme, none and an ended one are 401, as the file says', async () => {
  await using ground = await makeGround()
  const judge = makeJudge()
  const token = toToken('healthy')
  const values = [
    undefined,
    token,
    `Bearer ${token.slice('up:'.length)}`,
    `Basic ${token}`,
    `Bearer ${toToken('expired')}`,
  ]
  for (const authorization of values) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    const response = await fetch(`${ground.up.baseUrl}/util/ping`, { headers })
    assert.equal(response.status, 401, authorization ?? 'none')
    const body: unknown = await response.json()
    assert.deepEqual(judge.problems('get', '/util/ping', body, 401), [])
  }
})

test('wrong parameters are 400 and name the parameter; unknown resources and writes are 404', async () => {
  await using ground = await makeGround()
  const { baseUrl } = ground.up
  const wrong: [query: string, parameter: string][] = [
    ['page[size]=101', 'page[size]'],
    ['page[size]=0', 'page[size]'],
    ['page[size]=ten', 'page[size]'],
    ['page[after]=nonsense', 'page[after]'],
    ['filter[since]=2026-11-01T00:00:00+10:00', 'filter[since]'],
    ['filter[since]=2026-11-01T00:00:00', 'filter[since]'],
    ['filter[until]=2026-11-01', 'filter[until]'],
    ['filter[status]=POSTED', 'filter[status]'],
    ['limit=5', 'limit'],
  ]
  for (const [query, parameter] of wrong) {
    const { status, body } = await ask(baseUrl, `/transactions?${query}`)
    assert.equal(status, 400, query)
    assert.equal(body.errors[0].title, 'Invalid Parameter')
    assert.equal(body.errors[0].status, '400')
    assert.equal(body.errors[0].source.parameter, parameter)
  }
  const right = ['filter[since]=2026-11-01T00:00:00%2B10:00', 'filter[until]=2026-11-01T00:00:00Z']
  for (const query of right) {
    assert.equal((await ask(baseUrl, `/transactions?${query}`)).status, 200)
  }
  const joint = personOf(ground, 'joint').accounts[0]?.id
  for (const path of ['/accounts/none', `/accounts/${joint}`, '/transactions/none', '/x', '/']) {
    assert.equal((await ask(baseUrl, path)).status, 404, path)
  }
  const unknown = await ask(baseUrl, '/transactions?filter[category]=none')
  assert.equal(unknown.status, 404)
  const headers = { authorization: `Bearer ${toToken('healthy')}` }
  const posted = await fetch(`${baseUrl}/webhooks`, { method: 'POST', headers })
  assert.equal(posted.status, 404)
})

test('pages hold 20 unless told otherwise, newest first; links lead forth and back on the own host', async () => {
  await using ground = await makeGround()
  const { baseUrl } = ground.up
  const first = await ask(baseUrl, '/transactions', 'history')
  assert.equal(first.body.data.length, 20)
  assert.equal(first.body.links.prev, null)
  const next: string = first.body.links.next
  assert.ok(next.startsWith(`${baseUrl}/transactions?`))
  const second = await ask('', next, 'history')
  const times = [...first.body.data, ...second.body.data].map(
    (row: { attributes: { createdAt: string } }) => Date.parse(row.attributes.createdAt),
  )
  assert.deepEqual(
    times,
    times.toSorted((left, right) => right - left),
  )
  const back = await ask('', second.body.links.prev, 'history')
  assert.deepEqual(back.body.data, first.body.data)
  assert.equal(back.body.links.prev, null)
})

test('since includes its moment, until does not', async () => {
  await using ground = await makeGround()
  withRows(ground, [{ id: 'one', createdAt: Date.parse('2026-11-10T05:00:00Z') }])
  const count = async (filter: string) =>
    (await ask(ground.up.baseUrl, `/transactions?${filter}`, 'mfa')).body.data.length
  assert.equal(await count('filter[since]=2026-11-10T05:00:00Z'), 1)
  assert.equal(await count('filter[until]=2026-11-10T05:00:00Z'), 0)
})

test('a hold has no time of settlement and tells what was held once it has one', async () => {
  await using ground = await makeGround()
  withRows(ground, [
    { id: 'pump', settlesAt: startOfTests + 1_000, amount: '-61.20', heldAmount: '-150.00' },
  ])
  const read = async () =>
    (await ask(ground.up.baseUrl, '/transactions/pump', 'mfa')).body.data.attributes
  const held = await read()
  assert.deepEqual([held.status, held.settledAt, held.amount.value], ['HELD', null, '-150.00'])
  ground.clock.ms += 1_000
  const settled = await read()
  assert.equal(settled.status, 'SETTLED')
  assert.equal(settled.amount.value, '-61.20')
  assert.equal(settled.holdInfo.amount.valueInBaseUnits, -15_000)
  assert.match(settled.settledAt, /\+11:00$/)
})

test('the 1,001st request of an hour is refused without a wait; the next hour begins anew, each token alone', async () => {
  await using ground = await makeGround({ requestsPerHour: 2 })
  const { baseUrl } = ground.up
  const ping = (name: MagicName = 'healthy') => ask(baseUrl, '/util/ping', name)
  assert.equal((await ping()).headers.get('x-ratelimit-remaining'), '1')
  assert.equal((await ping()).headers.get('x-ratelimit-remaining'), '0')
  const refused = await ping()
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), null)
  assert.equal(refused.body.errors[0].title, 'Too Many Requests')
  assert.equal((await ping('mfa')).status, 200)
  ground.clock.ms += 45 * 60_000
  assert.equal((await ping()).status, 200)
})

test('the same seed and clock give the same rows, another seed others', async () => {
  const clock = { now: () => startOfTests }
  const [one, same, other] = await Promise.all(
    ['a', 'a', 'b'].map((seed) => startUpEmulator({ clock, seed })),
  )
  const show = (emulator: typeof one) => JSON.stringify(emulator?.people.healthy?.accounts)
  try {
    assert.equal(show(one), show(same))
    assert.notEqual(show(one), show(other))
  } finally {
    await Promise.all([one, same, other].map((emulator) => emulator?.close()))
  }
})

test('a day later yesterday’s rows are still the same', async () => {
  const one = await startUpEmulator({ clock: { now: () => startOfTests } })
  const later = await startUpEmulator({ clock: { now: () => startOfTests + 86_400_000 } })
  try {
    const rows = one.people.healthy?.accounts[0]?.rows.slice(-50) ?? []
    const all = later.people.healthy?.accounts[0]?.rows ?? []
    const known = new Map(all.map((row) => [row.id, row]))
    assert.equal(rows.length, 50)
    for (const row of rows) assert.deepEqual(known.get(row.id), row)
  } finally {
    await Promise.all([one.close(), later.close()])
  }
})
