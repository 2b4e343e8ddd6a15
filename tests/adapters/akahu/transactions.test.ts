/**
 * The Akahu adapter over HTTP: reading transactions to the end, the window and its date rule, exact amounts,
 * and accounts that were moved.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Transaction } from '#contract/resources.ts'
import { addMicros, getZone, toMicros } from '#kernel/time.ts'
import { makeDateReader } from '#providers/akahu/dates.ts'
import { institutions } from '#sandbox/akahu/factories.ts'
import { migrateAccount } from '#sandbox/akahu/people.ts'
import {
  call,
  connectionOf,
  failureOf,
  firstAccount,
  makeGround,
  makeRow,
  micros,
  now,
  rowsOf,
  scopedQuery,
  walk,
  withRows,
} from './harness.ts'

const always = { from: null, to: null }

test('R17: an account of 5,400 rows is read to the end in 54 pages of 100, each row once', async () => {
  await using ground = await makeGround()
  const account = firstAccount(ground, 'history')
  const query = scopedQuery('history', account, { window: always })
  const { pages, rows } = await walk(ground.adapter, query)
  assert.equal(ground.adapter.transactions.pageSize, 100)
  assert.equal(pages.length, 54)
  assert.equal(rows.length, 5_400)
  assert.deepEqual(new Set(rows.map((row) => row.id)), new Set(account.rows.map((row) => row._id)))
  for (const row of rows) Transaction.parse(row)
  const routes = new Set(ground.exchanges)
  assert.deepEqual(routes, new Set(['200 GET /accounts/{id}/transactions']))
})

test('R23: a sync reads every made-up row in full, with the details of its event', async () => {
  await using ground = await makeGround()
  const query = scopedQuery('healthy', firstAccount(ground, 'healthy'), { window: always })
  const { pages } = await walk(ground.adapter, query)
  const details = pages.flatMap((page) =>
    Array.from({ length: page.length }, (_, index) => page.details(index)),
  )
  assert.ok(details.length > 100)
  assert.ok(details.every((one) => one.currency === 'NZD' && /^[a-z_]+$/.test(one.class)))
  assert.ok(details.some((one) => one.class === 'standing_order'))
  assert.ok(details.some((one) => one.extendedDescription === 'SALARY KAURI'))
  assert.ok(details.some((one) => one.reference === '14TUI'))
})

test('an empty page with a cursor is not the end', async () => {
  await using ground = await makeGround()
  ground.akahu.people.history.emptyPageEvery = 1
  const query = scopedQuery('history', firstAccount(ground, 'history'), { window: always })
  const { pages, rows } = await walk(ground.adapter, query)
  assert.equal(rows.length, 5_400)
  assert.equal(pages.filter((page) => page.length === 0).length, 53)
})

test('without an account the whole token is read and only the rows of the connection are its own', async () => {
  await using ground = await makeGround()
  const { accounts } = ground.akahu.people.healthy
  const card = accounts.filter((one) => one.connection.name === 'American Express')
  const { connection, refs } = connectionOf(card)
  const query = scopedQuery('healthy', firstAccount(ground, 'healthy'), {
    connection,
    accounts: refs,
    scoped: false,
    window: always,
  })
  const { pages, rows } = await walk(ground.adapter, query)
  // What happens later today has not been posted yet.
  const posted = (list: typeof accounts) =>
    list.flatMap((one) => one.rows).filter((row) => Date.parse(row.date) <= now).length
  assert.equal(
    pages.reduce((sum, page) => sum + page.length, 0),
    posted(accounts),
  )
  assert.equal(
    pages.reduce((sum, page) => sum + page.ownRows, 0),
    posted(card),
  )
  assert.equal(rows.length, posted(card))
  assert.ok(rows.every((row) => row.accountId === refs[0]?.id))
  assert.ok(ground.exchanges.every((line) => line === '200 GET /transactions'))
})

test('R23: pending rows are never asked for', async () => {
  await using ground = await makeGround()
  await walk(ground.adapter, scopedQuery('healthy', firstAccount(ground, 'healthy')))
  assert.ok(ground.akahu.requests.every(({ path }) => !path.includes('pending')))
})

test('R16a: both bounds are inclusive for instants, to the millisecond', async () => {
  await using ground = await makeGround()
  const dates = ['04:59:59.999', '05:00:00.000', '07:30:00.000', '09:00:00.000', '09:00:00.001']
  const account = withRows(
    ground,
    dates.map((time, index) => makeRow({ _id: `trans_${index}`, date: `2026-11-10T${time}Z` })),
  )
  const window = { from: micros('2026-11-10T05:00:00Z'), to: micros('2026-11-10T09:00:00Z') }
  const { rows } = await walk(ground.adapter, scopedQuery('history', account, { window }))
  assert.deepEqual(rows.map((row) => row.id).toSorted(), ['trans_1', 'trans_2', 'trans_3'])
})

test('R16a: a New Zealand midnight counts as its day everywhere, on both sides of summer time', async () => {
  await using ground = await makeGround()
  const midnights = [
    ['2026-07-08T12:00:00.000Z', '2026-07-09'],
    ['2026-10-08T11:00:00.000Z', '2026-10-09'],
  ] as const
  const account = withRows(
    ground,
    midnights.map(([date, day]) => makeRow({ _id: day, date })),
  )
  for (const name of ['Australia/Sydney', 'America/Los_Angeles', 'Pacific/Kiritimati', 'UTC']) {
    const zone = getZone(name)
    for (const [date, day] of midnights) {
      const window = { from: zone.startOfDay(day), to: zone.endOfDay(day) }
      const query = scopedQuery('history', account, { window, zone })
      const { rows } = await walk(ground.adapter, query)
      assert.deepEqual(
        rows.map((row) => [row.id, row.date, row.datetime]),
        [[day, day, date]],
        name,
      )
      const start = zone.startOfDay(day)
      const before = { from: addMicros(start, -86_400_000_000), to: addMicros(start, -1) }
      const none = await walk(ground.adapter, { ...query, window: before })
      assert.deepEqual(none.rows, [], name)
    }
  }
})

test('R16a: whatever the window and the zone, the walk gives the rows that the rule puts into it', async () => {
  await using ground = await makeGround()
  const hour = 3_600_000
  const half = (index: number) => new Date(now - index * (hour / 2)).toISOString().slice(0, 13)
  const account = withRows(
    ground,
    Array.from({ length: 350 }, (_, index) =>
      makeRow({
        _id: `trans_${index}`,
        date: `${half(index)}:${index % 2 === 0 ? '00' : '30'}:00.000Z`,
      }),
    ),
  )
  const zones = ['Etc/GMT+12', 'Pacific/Kiritimati', 'Australia/Sydney', 'Pacific/Auckland']
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 340 }),
      fc.integer({ min: 0, max: 120 }),
      fc.constantFrom(...zones),
      async (end, length, zoneName) => {
        const to = toMicros(now - end * (hour / 2))
        const window = { from: addMicros(to, -length * (hour / 2) * 1000), to }
        const zone = getZone(zoneName)
        const query = scopedQuery('history', account, { window, zone })
        const { rows } = await walk(ground.adapter, query)
        const expected = account.rows.filter(({ date }) => {
          const read = makeDateReader({ zone, window: { from: null, to: null } })(date)
          return read !== null && read.time >= window.from && read.time <= window.to
        })
        const ids = (list: readonly string[]) => list.toSorted()
        assert.deepEqual(ids(rows.map((row) => row.id)), ids(expected.map((row) => row._id)))
        for (const row of rows) {
          const first = zone.startOfDay(row.date)
          assert.ok(first <= window.to && zone.endOfDay(row.date) >= window.from)
        }
      },
    ),
    { numRuns: 60 },
  )
})

test('R16a: a midnight in UTC is an instant, seen in the zone of the user', async () => {
  await using ground = await makeGround()
  const account = withRows(ground, [makeRow({ _id: 'trans_1', date: '2026-10-08T00:00:00.000Z' })])
  const days = { 'Australia/Sydney': '2026-10-08', 'America/Los_Angeles': '2026-10-07' }
  for (const [name, day] of Object.entries(days)) {
    const zone = getZone(name)
    const window = { from: zone.startOfDay(day), to: zone.endOfDay(day) }
    const { rows } = await walk(ground.adapter, scopedQuery('history', account, { window, zone }))
    assert.deepEqual(
      rows.map((row) => row.date),
      [day],
    )
  }
})

test('the window is sent 26 hours wider on both sides, and with every cursor the same', async () => {
  await using ground = await makeGround()
  const window = { from: micros('2025-11-10T05:00:00Z'), to: micros('2026-01-12T09:00:00.000001Z') }
  await walk(ground.adapter, scopedQuery('history', firstAccount(ground, 'history'), { window }))
  assert.ok(ground.akahu.requests.length > 2)
  for (const { query } of ground.akahu.requests) {
    assert.equal(query.get('start'), '2025-11-09T03:00:00.000Z')
    assert.equal(query.get('end'), '2026-01-13T11:00:00.000Z')
  }
})

test('a walk that another request resumes keeps the bounds it began with', async () => {
  await using ground = await makeGround()
  const query = scopedQuery('history', firstAccount(ground, 'history'), { window: always })
  const first = await ground.adapter.transactions.read(query, null, call)
  const later = { ...query, window: { from: null, to: toMicros(now + 60_000) } }
  const second = await ground.adapter.transactions.read(later, first.next, call)
  assert.equal(second.length, 100)
  const [one, two] = ground.akahu.requests
  assert.equal(two?.query.get('end'), one?.query.get('end'))
})

test('a page that is opened again from its body is the page that was read', async () => {
  await using ground = await makeGround()
  const query = scopedQuery('history', firstAccount(ground, 'history'), { window: always })
  const { read, open } = ground.adapter.transactions
  const first = await read(query, null, call)
  const second = await read(query, first.next, call)
  for (const [page, cursor] of [
    [first, null],
    [second, first.next],
  ] as const) {
    const again = open(query, cursor, page.body)
    assert.equal(again.next, page.next)
    assert.equal(again.ownRows, page.ownRows)
    assert.deepEqual(rowsOf(again, query), rowsOf(page, query))
  }
})

test('R24: no digit of an amount is lost, not even when its key is spelled with escapes', async () => {
  await using ground = await makeGround()
  const amounts = ['12345678901234567890.120', '-0.10', '-0', '1e-7', '-9007199254740993']
  const account = withRows(
    ground,
    amounts.map((amount, index) => makeRow({ _id: `trans_${index}`, amount })),
  )
  const shown = ['12345678901234567890.120', '-0.10', '0', '0.0000001', '-9007199254740993']
  const query = scopedQuery('history', account)
  const plain = await walk(ground.adapter, query)
  assert.deepEqual(
    plain.rows.map((row) => row.amount),
    shown,
  )
  ground.akahu.addFault({
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: JSON.stringify(reply.body).replaceAll('"amount":', '"\\u0061mount" : '),
      }),
    },
  })
  const escaped = await walk(ground.adapter, query)
  assert.deepEqual(escaped.rows, plain.rows)
})

test('text that looks like an amount inside a description is left alone', async () => {
  await using ground = await makeGround()
  const description = 'PAY "amount":12.50, {"amount":1}'
  const account = withRows(ground, [makeRow({ _id: 'trans_1', description })])
  const { rows } = await walk(ground.adapter, scopedQuery('history', account))
  assert.equal(rows[0]?.description, description)
})

test('without the enrichment permission there is no merchant, and the category comes from the type', async () => {
  await using ground = await makeGround()
  ground.akahu.people.healthy.enriched = false
  const query = scopedQuery('healthy', firstAccount(ground, 'healthy'), { window: always })
  const { rows } = await walk(ground.adapter, query)
  assert.ok(rows.every((row) => row.merchantName === null && row.merchantCategoryCode === null))
  const categories = new Set(rows.map((row) => row.category))
  assert.deepEqual(categories, new Set([null, 'TRANSFER_OUT', 'BANK_FEES']))
})

test('a moved account is not found under its former id: 404 with an account, its moved rows without', async () => {
  await using ground = await makeGround()
  const account = firstAccount(ground, 'history')
  const query = scopedQuery('history', account)
  migrateAccount(account, institutions.kiwibank)
  const read = (scoped: boolean) =>
    ground.adapter.transactions.read({ ...query, scoped }, null, call)
  assert.equal((await failureOf(read(true))).kind, 'account_gone')
  assert.equal((await failureOf(read(false))).kind, 'account_gone')
  const renewed = scopedQuery('history', account, { scoped: false })
  assert.ok((await walk(ground.adapter, renewed)).rows.length > 0)
})
