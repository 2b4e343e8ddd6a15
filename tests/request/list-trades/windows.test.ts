import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { type Activity, activity, type Broker, linkBroker } from '#tests/support/broker.ts'
import { type Answer, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())
beforeEach(() => {
  service.sandbox.snaptrade.clearFaults()
  service.sandbox.snaptrade.requests.length = 0
  service.clock.advance(660_000)
})

interface Row {
  readonly id: string
  readonly accountId: string
  readonly tradeDate: string
  readonly description: string
}

// Never on a midnight of UTC, which would be a day alone (docs/providers/snaptrade.md, Mapping).
const end = Date.parse('2026-11-18T20:00:01Z')

/** `count` rows, newest first, `stepMs` apart; numbered in their description. */
function stream(name: string, count: number, stepMs: number, dayOnly = false): Activity[] {
  return Array.from({ length: count }, (_, index) => {
    const moment = new Date(end - index * stepMs).toISOString()
    return activity({
      description: `${name} ${index}`,
      tradeDate: dayOnly ? `${moment.slice(0, 10)}T00:00:00Z` : moment,
    })
  })
}

const ask = (broker: Broker, query = ''): Promise<Answer> =>
  service.get(`/v1/trades?connectionId=${broker.connection.id}${query}`, user)

async function walk(
  broker: Broker,
  limit: number,
  query = '',
): Promise<{ rows: Row[]; answers: Answer[] }> {
  const rows: Row[] = []
  const answers: Answer[] = []
  for (let offset = 0; answers.length < 100; ) {
    const answer = await ask(broker, `${query}&limit=${limit}&offset=${offset}`)
    assert.equal(answer.status, 200, answer.text)
    const { pagination, data } = answer.body
    answers.push(answer)
    rows.push(...data)
    assert.equal(pagination.offset, offset)
    assert.equal(pagination.limit, limit)
    if (!pagination.hasMore) return { rows, answers }
    assert.equal(data.length, limit)
    assert.equal(pagination.total, null)
    offset += pagination.limit
  }
  throw new Error('the walk does not end')
}

const activityCalls = () =>
  service.sandbox.snaptrade.requests.filter(({ path }) => path.endsWith('/activities'))

test('R17, R18: a walk over 5,600 rows of one account shows each once; only a page that the ceiling cut says so', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream('x', 5_600, 60_000) }])
  const { rows, answers } = await walk(broker, 500)
  assert.deepEqual(
    rows.map((row) => row.description),
    Array.from({ length: 5_600 }, (_, index) => `x ${index}`),
  )
  const last = answers.at(-1)
  assert.equal(last?.body.pagination.total, 5_600)
  assert.equal(last?.headers['x-service-truncated'], undefined)
  // Offset 0 stops at 5,000 rows; offset 1,000 reaches the end.
  assert.equal(answers[0]?.headers['x-service-truncated'], 'true')
  assert.equal(answers[0]?.body.pagination.hasMore, true)
  assert.equal(answers[2]?.headers['x-service-truncated'], undefined)
  assert.equal(answers[2]?.body.pagination.hasMore, true)
  assert.equal(answers[2]?.body.pagination.total, null)
})

test('R19: the windows of a walk cost each provider page once, and the first one a second look', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream('x', 2_500, 60_000) }])
  await walk(broker, 100)
  assert.deepEqual(
    activityCalls()
      .map(({ query }) => query.get('offset'))
      .toSorted(),
    ['0', '0', '1998', '999'],
  )
})

test('R16, R18: several accounts are merged by trade date, newest first, each keeping its own order', async () => {
  const broker = await linkBroker(service, user, [
    { activities: stream('fast', 3_100, 40_000) },
    { activities: stream('slow', 1_300, 93_000) },
    { activities: stream('days', 700, 3_600_000, true) },
    { activities: [] },
    { activities: stream('one', 1, 1) },
  ])
  const { rows } = await walk(broker, 357)
  assert.equal(rows.length, 5_101)
  assert.equal(new Set(rows.map((row) => row.accountId + row.id)).size, 5_101)
  for (const name of ['fast', 'slow', 'days', 'one']) {
    const own = rows.filter((row) => row.description.startsWith(`${name} `))
    assert.deepEqual(
      own.map((row) => Number(row.description.split(' ')[1])),
      own.map((_, index) => index),
    )
  }
  // A day counts at its first instant in the user's zone (R16a): midnight in Sydney is 13:00 UTC the day
  // before.
  const timeOf = (row: Row) =>
    row.tradeDate.length === 10
      ? Date.parse(`${row.tradeDate}T00:00:00+11:00`)
      : Date.parse(row.tradeDate)
  for (const [index, row] of rows.entries()) {
    const next = rows[index + 1]
    // Across the change to summer time on 4 October an hour is missing: only later rows are compared.
    if (next === undefined || next.tradeDate < '2026-10-06') break
    assert(timeOf(row) >= timeOf(next), `${row.tradeDate} before ${next.tradeDate}`)
  }
})

test('R16: equal trade dates are merged by account id', async () => {
  const broker = await linkBroker(
    service,
    user,
    Array.from({ length: 4 }, (_, index) => ({ activities: stream(`s${index}`, 3, 86_400_000) })),
  )
  const { body } = await ask(broker)
  const ids = broker.accounts.map((account) => account.id).toSorted()
  assert.deepEqual(
    body.data.map((row: Row) => row.accountId),
    [...ids, ...ids, ...ids],
  )
  const swapped = `&accountIds=${ids.toReversed().join(',')}`
  assert.deepEqual((await ask(broker, swapped)).body.data, body.data)
})

test('page sizes: 200 by default, clamped to 500, shown in pagination.limit', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream('x', 620, 60_000) }])
  const page = async (query: string) => (await ask(broker, query)).body
  const first = await page('')
  assert.equal(first.data.length, 200)
  assert.deepEqual(first.pagination, { total: null, limit: 200, offset: 0, hasMore: true })
  const clamped = await page('&limit=99999')
  assert.equal(clamped.data.length, 500)
  assert.deepEqual(clamped.pagination, { total: null, limit: 500, offset: 0, hasMore: true })
  const last = await page('&limit=20&offset=600')
  assert.equal(last.data.length, 20)
  assert.deepEqual(last.pagination, { total: 620, limit: 20, offset: 600, hasMore: false })
  const beyond = await page('&offset=2147483647')
  assert.deepEqual(beyond, {
    data: [],
    pagination: { total: 620, limit: 200, offset: 2147483647, hasMore: false },
  })
})

test('the ceiling falls exactly: 5,000 rows are whole, 5,001 too since the end was read, one page more is truncated', async () => {
  for (const [count, truncated] of [
    [5_000, undefined],
    [6_000, 'true'],
  ] as const) {
    const broker = await linkBroker(service, user, [{ activities: stream('x', count, 60_000) }])
    const answer = await ask(broker, '&limit=500')
    assert.equal(answer.headers['x-service-truncated'], truncated, String(count))
    assert.equal(answer.body.pagination.hasMore, true)
    assert.equal(answer.body.pagination.total, null)
  }
})

test('R19: rows that arrive in the middle of a walk neither shift nor repeat its windows', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream('x', 1_500, 60_000) }])
  const first = (await ask(broker, '&limit=500')).body.data
  broker.upstream[0]?.activities.unshift(activity({ description: 'new' }))
  const second = (await ask(broker, '&limit=500&offset=500')).body.data
  const third = (await ask(broker, '&limit=500&offset=1000')).body.data
  const seen = [...first, ...second, ...third].map((row: Row) => row.description)
  assert.equal(new Set(seen).size, 1_500)
  assert(!seen.includes('new'))
})

test('a row that the provider sends twice, because rows shifted between its pages, is shown once', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream('x', 1_500, 60_000) }])
  const [upstream] = broker.upstream
  assert(upstream !== undefined)
  service.sandbox.snaptrade.addFault({
    times: 1,
    when: ({ path, query }) => path.endsWith('/activities') && query.get('offset') === '0',
    does: {
      kind: 'edit',
      edit(reply) {
        upstream.activities.unshift(activity({ description: 'new' }))
        return reply
      },
    },
  })
  const { rows } = await walk(broker, 500)
  assert.equal(rows.length, new Set(rows.map((row) => row.description)).size)
  assert.equal(rows.length, 1_501)
})

test('R23: an unreadable row fails the window that shows it, and no other', async () => {
  const rows = stream('x', 30, 60_000)
  const [, , third] = rows
  assert(third !== undefined)
  third.overrides = { units: 'many' }
  const broker = await linkBroker(service, user, [{ activities: rows }])
  assert.equal((await ask(broker, '&limit=2')).status, 200)
  assert.equal((await ask(broker, '&limit=3')).status, 503)
  assert.equal((await ask(broker, '&limit=1&offset=2')).status, 503)
  assert.equal((await ask(broker, '&limit=20&offset=3')).status, 200)
})

for (const [name, overrides] of [
  ['no id', { id: null }],
  ['an id that is a number', { id: 5 }],
  ['no date', { trade_date: null, settlement_date: null }],
  ['a date that is none', { trade_date: '2026-02-30T00:00:00Z' }],
] as const) {
  test(`R23: a row with ${name} fails the request wherever it stands`, async () => {
    const rows = stream('x', 30, 60_000)
    const [, , third] = rows
    assert(third !== undefined)
    third.overrides = overrides
    const broker = await linkBroker(service, user, [{ activities: rows }])
    assert.equal((await ask(broker, '&limit=2')).status, 503)
  })
}

for (const [name, pagination] of [
  ['without total', { offset: 0, limit: 1000 }],
  ['of another offset', { offset: 7, limit: 1000, total: 30 }],
  ['whose total promises rows that do not come', { offset: 0, limit: 1000, total: 99_999 }],
] as const) {
  test(`R20: a page ${name} is unreadable, not the end`, async () => {
    const broker = await linkBroker(service, user, [{ activities: stream('x', 30, 60_000) }])
    service.sandbox.snaptrade.addFault({
      when: ({ path }) => path.endsWith('/activities'),
      does: {
        kind: 'edit',
        edit: (reply) => ({ ...reply, body: { ...(reply.body as object), pagination } }),
      },
    })
    assert.equal((await ask(broker)).status, 503)
  })
}

test('R17: when one page of many fails, the request fails, and the next request continues', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream('x', 4_500, 60_000) }])
  service.sandbox.snaptrade.addFault({
    times: 1,
    when: ({ query }) => query.get('offset') === '1998',
    does: { kind: 'reply', reply: { status: 503, body: {} } },
  })
  assert.equal((await ask(broker, '&limit=500')).status, 503)
  const { rows } = await walk(broker, 500)
  assert.equal(new Set(rows.map((row) => row.description)).size, 4_500)
  assert.equal(rows.length, 4_500)
})
