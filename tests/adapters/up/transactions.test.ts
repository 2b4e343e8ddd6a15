/**
 * The Up adapter over HTTP: reading transactions to the end, windows and days, holds that settle, exact
 * amounts, transfers, categories and cashbacks.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Transaction } from '#contract/resources.ts'
import { getZone, toMicros } from '#kernel/time.ts'
import { until } from '#tests/support/until.ts'
import {
  always,
  call,
  failureOf,
  firstAccount,
  loginFor,
  makeGround,
  melbourne,
  micros,
  plantedQuery,
  rowsOf,
  scopedQuery,
  startOfTests,
  walk,
  withRows,
} from './harness.ts'

const hourMs = 3_600_000

test('R17: 5,400 rows are read to the end in 54 pages of 100, each row once, with equal times at the borders', async () => {
  await using ground = await makeGround()
  const account = firstAccount(ground, 'history')
  const { pages, rows } = await walk(ground.adapter, scopedQuery(ground, 'history'))
  assert.equal(ground.adapter.transactions.pageSize, 100)
  assert.equal(pages.length, 54)
  assert.equal(rows.length, 5_400)
  assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set(account.rows.map(({ id }) => id)))
  const borders = pages.slice(1).filter((page, index) => {
    const last = pages[index]
    return last?.head(last.length - 1)?.time === page.head(0)?.time
  })
  assert.ok(borders.length > 5, 'rows of one moment are on both sides of a border')
  for (const row of rows) Transaction.parse(row)
  assert.deepEqual(new Set(ground.exchanges), new Set(['200 GET /accounts/{id}/transactions']))
  for (const { query } of ground.up.requests) assert.equal(query.get('page[size]'), '100')
})

test('5,000 rows of a single moment are each read once', async () => {
  await using ground = await makeGround()
  withRows(
    ground,
    Array.from({ length: 5_000 }, (_, index) => ({ id: `row-${index}` })),
  )
  const { rows } = await walk(ground.adapter, plantedQuery(ground))
  assert.equal(rows.length, 5_000)
  assert.equal(new Set(rows.map(({ id }) => id)).size, 5_000)
})

test('a link to another host is never followed: only its cursor is used, and the token stays here', async () => {
  await using ground = await makeGround()
  await using elsewhere = await makeGround()
  ground.up.addFault({
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: JSON.stringify(reply.body).replaceAll(
          `"next":"${ground.up.url}`,
          `"next":"${elsewhere.up.url}`,
        ),
      }),
    },
  })
  const window = { from: micros('2026-09-01T00:00:00Z'), to: null }
  const { pages } = await walk(ground.adapter, scopedQuery(ground, 'history', { window }))
  assert.ok(pages.length > 3)
  assert.equal(elsewhere.up.requests.length, 0)
})

test('a cursor that comes again is malformed, and so is a link without one', async () => {
  await using ground = await makeGround()
  const first = await ground.adapter.transactions.read(scopedQuery(ground, 'history'), null, call)
  assert.ok(first.next !== null)
  const { after } = JSON.parse(first.next)
  const self = `https://api.up.com.au/api/v1/x?page%5Bafter%5D=${encodeURIComponent(after)}`
  for (const next of [self, 'https://api.up.com.au/', 'nowhere', 7, '', undefined]) {
    ground.up.clearFaults()
    ground.up.addFault({
      does: { kind: 'reply', reply: { status: 200, body: { data: [], links: { next } } } },
    })
    const read = ground.adapter.transactions.read(scopedQuery(ground, 'history'), first.next, call)
    assert.equal((await failureOf(read)).kind, 'malformed', String(next))
  }
})

test('a list of accounts whose cursors go in a circle is malformed', async () => {
  await using ground = await makeGround()
  let count = 0
  ground.up.addFault({
    does: {
      kind: 'edit',
      edit: () => {
        count += 1
        const next = `https://x.test/?page%5Bafter%5D=${count % 3}`
        return { status: 200, body: { data: [], links: { prev: null, next } } }
      },
    },
  })
  const failure = await failureOf(ground.adapter.discover(loginFor(ground, 'mfa'), call))
  assert.deepEqual(failure, { kind: 'malformed', detail: 'the cursors form a cycle' })
  assert.ok(count < 6)
})

test('both bounds are inclusive whatever Up does, and are sent in UTC a second wider', async () => {
  await using ground = await makeGround()
  const times = ['04:59:59', '05:00:00', '07:30:00', '09:00:00', '09:00:01']
  withRows(
    ground,
    times.map((time) => ({ id: time, createdAt: Date.parse(`2026-11-10T${time}Z`) })),
  )
  const window = { from: micros('2026-11-10T05:00:00Z'), to: micros('2026-11-10T09:00:00Z') }
  const { rows } = await walk(ground.adapter, plantedQuery(ground, { window }))
  assert.deepEqual(rows.map(({ id }) => id).toSorted(), ['05:00:00', '07:30:00', '09:00:00'])
  const [request] = ground.up.requests
  assert.equal(request?.query.get('filter[since]'), '2026-11-10T04:59:59.000Z')
  assert.equal(request?.query.get('filter[until]'), '2026-11-10T09:00:01.000Z')
  assert.doesNotMatch(request?.rawQuery ?? '', /\+/)
})

test('a walk that another request resumes keeps the filters it began with', async () => {
  await using ground = await makeGround()
  const window = { from: micros('2025-01-01T00:00:00Z'), to: toMicros(startOfTests) }
  const query = scopedQuery(ground, 'history', { window })
  const first = await ground.adapter.transactions.read(query, null, call)
  const later = { ...query, window: { from: null, to: toMicros(startOfTests + hourMs) } }
  const second = await ground.adapter.transactions.read(later, first.next, call)
  assert.equal(second.length, 100)
  const [one, two] = ground.up.requests
  for (const name of ['filter[since]', 'filter[until]', 'filter[status]', 'page[size]']) {
    assert.equal(two?.query.get(name), one?.query.get(name), name)
  }
})

test('a page that is opened again from its body is the page that was read', async () => {
  await using ground = await makeGround()
  const query = scopedQuery(ground, 'healthy')
  const { read, open } = ground.adapter.transactions
  const first = await read(query, null, call)
  const second = await read(query, first.next, call)
  for (const [page, cursor] of [
    [first, null],
    [second, first.next],
  ] as const) {
    const again = open(query, cursor, page.body)
    assert.equal(again.next, page.next)
    assert.equal(again.length, page.length)
    assert.deepEqual(rowsOf(again, query), rowsOf(page, query))
  }
})

test('R16: both changes of Melbourne’s clocks: a row keeps its day, its offset and its place in a window', async () => {
  await using ground = await makeGround()
  // Clocks go back on 5 April 2026 at 03:00 (+11:00 to +10:00), and forward on 4 October 2026 at 02:00.
  const moments = [
    ['autumn before', '2026-04-04T12:59:59Z', '2026-04-04T23:59:59+11:00', '2026-04-04'],
    ['autumn first', '2026-04-04T13:00:00Z', '2026-04-05T00:00:00+11:00', '2026-04-05'],
    ['autumn hour', '2026-04-04T15:30:00Z', '2026-04-05T02:30:00+11:00', '2026-04-05'],
    ['autumn again', '2026-04-04T16:30:00Z', '2026-04-05T02:30:00+10:00', '2026-04-05'],
    ['autumn last', '2026-04-05T13:59:59Z', '2026-04-05T23:59:59+10:00', '2026-04-05'],
    ['autumn after', '2026-04-05T14:00:00Z', '2026-04-06T00:00:00+10:00', '2026-04-06'],
    ['spring before', '2026-10-03T13:59:59Z', '2026-10-03T23:59:59+10:00', '2026-10-03'],
    ['spring first', '2026-10-03T14:00:00Z', '2026-10-04T00:00:00+10:00', '2026-10-04'],
    ['spring change', '2026-10-03T16:00:00Z', '2026-10-04T03:00:00+11:00', '2026-10-04'],
    ['spring last', '2026-10-04T12:59:59Z', '2026-10-04T23:59:59+11:00', '2026-10-04'],
    ['spring after', '2026-10-04T13:00:00Z', '2026-10-05T00:00:00+11:00', '2026-10-05'],
  ] as const
  withRows(
    ground,
    moments.map(([id, at]) => ({ id, createdAt: Date.parse(at) })),
  )
  const { rows } = await walk(ground.adapter, plantedQuery(ground))
  const shown = new Map(rows.map((row) => [row.id, [row.datetime, row.date]]))
  for (const [id, , datetime, date] of moments) assert.deepEqual(shown.get(id), [datetime, date])
  for (const day of ['2026-04-05', '2026-10-04']) {
    const window = { from: melbourne.startOfDay(day), to: melbourne.endOfDay(day) }
    const inDay = await walk(ground.adapter, plantedQuery(ground, { window }))
    const expected = moments.flatMap(([id, , , date]) => (date === day ? [id] : []))
    assert.deepEqual(inDay.rows.map(({ id }) => id).toSorted(), expected.toSorted())
  }
})

test('R16: the day is that of the user’s own zone', async () => {
  await using ground = await makeGround()
  withRows(ground, [{ id: 'one', createdAt: Date.parse('2026-10-07T14:30:00Z') }])
  const days = {
    'Australia/Melbourne': '2026-10-08',
    'Australia/Perth': '2026-10-07',
    'America/Los_Angeles': '2026-10-07',
    'Pacific/Kiritimati': '2026-10-08',
  }
  for (const [name, day] of Object.entries(days)) {
    const zone = getZone(name)
    const window = { from: zone.startOfDay(day), to: zone.endOfDay(day) }
    const { rows } = await walk(ground.adapter, plantedQuery(ground, { window, zone }))
    assert.deepEqual(
      rows.map(({ date }) => date),
      [day],
      name,
    )
  }
})

test('R23: a hold is not shown; it appears once it settles, with the same id and day and the other amount', async () => {
  await using ground = await makeGround()
  withRows(ground, [
    {
      id: 'pump',
      createdAt: startOfTests - hourMs,
      settlesAt: startOfTests + 3 * 24 * hourMs,
      amount: '-61.20',
      heldAmount: '-150.00',
    },
  ])
  const read = async () => (await walk(ground.adapter, plantedQuery(ground))).rows
  assert.deepEqual(await read(), [])
  ground.clock.ms += 4 * 24 * hourMs
  const [row] = await read()
  assert.deepEqual([row?.id, row?.amount, row?.date], ['pump', '-61.20', '2026-11-21'])
})

test('a hold that is deleted leaves nothing, and its payment comes with an id of its own', async () => {
  await using ground = await makeGround()
  const settlesAt = startOfTests + 24 * hourMs
  const both = { createdAt: startOfTests - hourMs, amount: '-61.20' }
  withRows(ground, [
    { ...both, id: 'hold', settlesAt: null, goneAt: settlesAt },
    { ...both, id: 'payment', settlesAt, seenFrom: settlesAt },
  ])
  const ids = async () =>
    (await walk(ground.adapter, plantedQuery(ground))).rows.map(({ id }) => id)
  assert.deepEqual(await ids(), [])
  ground.clock.ms += 25 * hourMs
  assert.deepEqual(await ids(), ['payment'])
})

test('a row that is not settled is dropped even when Up sends it', async () => {
  await using ground = await makeGround()
  withRows(ground, [{ id: 'one' }, { id: 'two', overrides: { status: 'HELD', settledAt: null } }])
  const { rows, pages } = await walk(ground.adapter, plantedQuery(ground))
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['one'],
  )
  assert.equal(pages[0]?.ownRows, 1)
})

test('R23: a row of a status that Up’s file does not have is dropped and reported', async () => {
  await using ground = await makeGround()
  withRows(ground, [{ id: 'one' }, { id: 'two', overrides: { status: 'PENDING' } }])
  const { rows } = await walk(ground.adapter, plantedQuery(ground))
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['one'],
  )
  // The walk opens every page again.
  assert.deepEqual(ground.oddities, Array(2).fill('unknown transaction status'))
})

test('an id of any shape stays inside the path', async () => {
  await using ground = await makeGround()
  firstAccount(ground, 'mfa').id = '../util/ping?x#ü'
  const [refused] = [await failureOf(walk(ground.adapter, plantedQuery(ground)))]
  assert.equal(refused?.kind, 'account_gone')
  assert.match(ground.up.requests[0]?.path ?? '', /^\/api\/v1\/accounts\/[^/?#]+\/transactions$/)
})

test('a caller who leaves before or during a call is followed at once', async () => {
  await using ground = await makeGround()
  const reason = new Error('the caller left')
  const query = scopedQuery(ground, 'history', { window: always })
  const gone = { ...call, signal: AbortSignal.abort(reason) }
  await assert.rejects(ground.adapter.transactions.read(query, null, gone), reason)
  assert.equal(ground.up.requests.length, 0)
  ground.up.addFault({ does: { kind: 'hang' } })
  const leaving = new AbortController()
  const read = ground.adapter.transactions.read(query, null, { ...call, signal: leaving.signal })
  await until('the bank is asked', () => ground.up.requests.length > 0, 5)
  leaving.abort(reason)
  await assert.rejects(read, reason)
  assert.deepEqual(ground.exchanges.at(-1), 'aborted GET /accounts/{id}/transactions')
})
