/**
 * Tests of reading transactions from Fiskil, over HTTP: every row once, the right rows, the right question
 * asked.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Transaction } from '#contract/resources.ts'
import { addMicros, parseInstant, toMicros } from '#kernel/time.ts'
import { addRow } from '#sandbox/fiskil/index.ts'
import { failureOf, link, makeCall, makeQuery, openSetting, readAll, scopeTo } from './harness.ts'

const path = '/v1/banking/transactions'

test('all pages of a long history are read to the end, each row once, in the order of the provider', async () => {
  await using setting = await openSetting()
  const query = scopeTo(makeQuery(link(setting, 'history')), 0)
  const { rows, pages } = await readAll(setting.adapter, query)
  assert.equal(rows.length, 5400)
  assert.equal(new Set(rows.map((row) => row.id)).size, 5400)
  assert.deepEqual(
    pages.map((page) => page.length),
    [1000, 1000, 1000, 1000, 1000, 400],
  )
  const times = rows.map((row) => row.datetime ?? '')
  assert.deepEqual(times, [...times].sort().reverse())
  assert.equal(setting.adapter.transactions.pageSize, 1000)
  assert.equal(setting.emulator.requests.filter((request) => request.path === path).length, 6)
})

test('every made-up row is mapped into the contract', async () => {
  await using setting = await openSetting()
  for (const index of [0, 1]) {
    const { rows } = await readAll(setting.adapter, makeQuery(link(setting, 'healthy', index)))
    assert.ok(rows.length > 100)
    for (const row of rows) Transaction.parse(row)
    assert.ok(rows.some((row) => row.amount === '0.00' && row.direction === 'credit'))
  }
  assert.ok(setting.oddities.includes('unknown category'))
})

test('R23: a sync reads every made-up row in full, with the details of its event', async () => {
  await using setting = await openSetting()
  const { pages } = await readAll(setting.adapter, makeQuery(link(setting, 'healthy', 0)))
  const details = pages.flatMap((page) =>
    Array.from({ length: page.length }, (_, index) => index)
      .filter((index) => page.head(index) !== null)
      .map((index) => page.details(index)),
  )
  assert.ok(details.length > 100)
  assert.ok(details.every((one) => parseInstant(one.transactionDate) !== null))
  assert.ok(details.some((one) => one.class === 'transfer_outgoing'))
  assert.ok(details.some((one) => one.extendedDescription === 'Rent unit 4, 17 Acacia Avenue'))
  assert.ok(details.some((one) => one.reference === '4400817263'))
})

test('the request: posted rows, the largest page, the account only when one was requested', async () => {
  await using setting = await openSetting()
  const query = makeQuery(link(setting, 'healthy'))
  const asked = () => Object.fromEntries(setting.emulator.requests.at(-1)?.query ?? [])
  await setting.adapter.transactions.read(query, null, makeCall())
  const common = { end_user_id: 'eu_sandbox_healthy', status: 'POSTED', 'page[size]': '1000' }
  assert.deepEqual(asked(), common)
  const scoped = scopeTo(query, 1)
  await setting.adapter.transactions.read(scoped, null, makeCall())
  assert.deepEqual(asked(), { ...common, account_id: scoped.accounts[0]?.upstreamId })
  assert.equal(setting.emulator.requests.at(-1)?.headers['x-fiskil-version'], 'v3')
})

test('an unscoped list mixes banks: only rows of this consent are wanted, and only they are its own', async () => {
  await using setting = await openSetting()
  const [wattle, southern] = [link(setting, 'healthy', 0), link(setting, 'healthy', 1)]
  const first = await readAll(setting.adapter, makeQuery(wattle))
  const second = await readAll(setting.adapter, makeQuery(southern))
  const count = (list: typeof first) => list.pages.reduce((sum, page) => sum + page.ownRows, 0)
  const total = first.pages.reduce((sum, page) => sum + page.length, 0)
  assert.equal(count(first) + count(second), total)
  assert.equal(first.rows.length, count(first))
  assert.equal(second.rows.length, count(second))
  const mine = new Set<string>(wattle.accounts.map((account) => account.id))
  assert.ok(first.rows.every((row) => mine.has(row.accountId)))
})

test('an account id that occurs under two consents belongs to the one that was asked for', async () => {
  await using setting = await openSetting()
  const consents = setting.emulator.people.healthy.consents
  const [wattle, southern] = consents
  assert.ok(wattle?.accounts[0] !== undefined && southern?.accounts[0] !== undefined)
  const shared = wattle.accounts[0].body.account_id
  southern.accounts[0].body.account_id = shared
  for (const row of southern.accounts[0].rows) row.body.account_id = shared
  const query = scopeTo(makeQuery(link(setting, 'healthy', 1)), 0)
  const { rows, pages } = await readAll(setting.adapter, query)
  assert.ok(rows.length > 0)
  assert.ok(pages.reduce((sum, page) => sum + page.length, 0) > rows.length)
})

test('R16a: bounds are sent as UTC date-times, wider than any zone’s offset, and rows at the bounds are included', async () => {
  await using setting = await openSetting()
  const linked = link(setting, 'history')
  const account = setting.emulator.people.history.consents[0]?.accounts[0]
  const edge = account?.rows[100]
  assert.ok(account !== undefined && edge !== undefined)
  const micros = toMicros(edge.postsAtMs)
  const margin = 26 * 3_600_000
  const query = makeQuery(linked, {
    window: { from: addMicros(micros, 1), to: addMicros(micros, 1) },
  })
  const page = await setting.adapter.transactions.read(query, null, makeCall())
  const asked = setting.emulator.requests.at(-1)?.query
  assert.equal(asked?.get('from'), new Date(edge.postsAtMs - margin).toISOString())
  assert.equal(asked?.get('to'), new Date(edge.postsAtMs + 1 + margin).toISOString())
  const ids = Array.from({ length: page.length }, (_, index) => page.head(index)?.id)
  assert.ok(ids.includes(String(edge.body.fiskil_id)))
})

test('a bound at the end of time is still a date that the provider reads', async () => {
  await using setting = await openSetting()
  const to = parseInstant('9999-12-31T23:59:59.999999Z')
  const query = makeQuery(link(setting, 'history'), { window: { from: null, to } })
  await setting.adapter.transactions.read(query, null, makeCall())
  assert.equal(setting.emulator.requests.at(-1)?.query.get('to'), '9999-12-31T23:59:59.999Z')
})

test('pending rows are never wanted, even if the provider sends them', async () => {
  await using setting = await openSetting()
  setting.emulator.addFault({
    when: (request) => request.path === path,
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: JSON.stringify(reply.body).replaceAll('"POSTED"', '"PENDING"'),
      }),
    },
  })
  const query = makeQuery(link(setting, 'history'))
  const page = await setting.adapter.transactions.read(query, null, makeCall())
  assert.equal(page.ownRows, 1000)
  for (let index = 0; index < page.length; index += 1) assert.equal(page.head(index), null)
})

test('a pending row appears once it is posted', async () => {
  await using setting = await openSetting()
  const account = setting.emulator.people.history.consents[0]?.accounts[0]
  const pattern = account?.rows[0]
  assert.ok(account !== undefined && pattern !== undefined)
  const body = { ...pattern.body, fiskil_id: 'bank_tx_later' }
  addRow(account, { seenFromMs: setting.clock.ms - 1, postsAtMs: setting.clock.ms + 1000, body })
  const query = makeQuery(link(setting, 'history'))
  const newest = async () =>
    (await setting.adapter.transactions.read(query, null, makeCall())).head(0)?.id
  assert.notEqual(await newest(), 'bank_tx_later')
  setting.clock.ms += 1000
  assert.equal(await newest(), 'bank_tx_later')
})

test('R19: a body that was read can be opened again for the same rows', async () => {
  await using setting = await openSetting()
  const query = makeQuery(link(setting, 'history'))
  const first = await setting.adapter.transactions.read(query, null, makeCall())
  const again = setting.adapter.transactions.open(query, null, first.body)
  assert.deepEqual(again.map(7), first.map(7))
  assert.deepEqual([again.next, again.length, again.ownRows], [first.next, 1000, 1000])
})

test('R24: amounts that come as numbers keep every digit over HTTP', async () => {
  await using setting = await openSetting()
  const account = setting.emulator.people.history.consents[0]?.accounts[0]
  const body = account?.rows[0]?.body
  assert.ok(body !== undefined)
  body.amount = 'AMOUNT'
  setting.emulator.addFault({
    when: (request) => request.path === path,
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: JSON.stringify(reply.body).replace('"AMOUNT"', '-12345678901234567890.10'),
      }),
    },
  })
  const query = makeQuery(link(setting, 'history'))
  const page = await setting.adapter.transactions.read(query, null, makeCall())
  assert.equal(page.map(0).amount, '-12345678901234567890.10')
})

test('R23: a malformed row fails where it is in the window, and nowhere else', async () => {
  await using setting = await openSetting()
  const rows = setting.emulator.people.history.consents[0]?.accounts[0]?.rows
  const [first, second] = rows ?? []
  assert.ok(first !== undefined && second !== undefined)
  first.body.amount = 'twelve'
  const query = makeQuery(link(setting, 'history'))
  const page = await setting.adapter.transactions.read(query, null, makeCall())
  assert.notEqual(page.head(0), null)
  assert.equal(page.map(1).id, second.body.fiskil_id)
  const failure = await failureOf(Promise.resolve().then(() => page.map(0)))
  assert.equal(failure.kind, 'malformed')
})
