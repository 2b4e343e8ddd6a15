/** Holdings and trades, over HTTP against the emulator. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Holding, Trade } from '#contract/resources.ts'
import { addDays, addMicros, getZone, type Micros, toMicros } from '#kernel/time.ts'
import type { AccountRef, RowsQuery, TradePage } from '#providers/port.ts'
import { numberToken } from '#sandbox/snaptrade/wire.ts'
import { accountRef, aim, call, failureOf, readPages, startHarness } from './harness.ts'

/** The rows of a window as a resource would take them: by their head's time. */
function inWindow(pages: readonly TradePage[], query: RowsQuery): Trade[] {
  return pages.flatMap((page) =>
    Array.from({ length: page.length }, (_, index) => index)
      .filter((index) => {
        const time = page.head(index)?.time ?? Number.NaN
        const { from, to } = query.window
        return (from === null || time >= from) && (to === null || time <= to)
      })
      .map((index) => Trade.parse(page.map(index))),
  )
}

test('holdings of every kind arrive whole, in the provider’s order', async () => {
  await using harness = await startHarness()
  const { holdings, account, reference } = aim(harness.emulator.people.healthy)
  const found = await harness.adapter.holdings(holdings, call())
  for (const holding of found) Holding.parse(holding)
  assert.equal(found.length, account.positions.length)
  const bySymbol = new Map(found.map((holding) => [holding.symbol, holding]))
  assert.equal(found[4]?.id, `${found[0]?.id}:2`)
  assert.equal(found[0]?.id.startsWith(`${reference.upstreamId}:`), true)
  assert.equal(bySymbol.get('AAPL  271217C00240000')?.marketValue, '4270.00')
  assert.equal(bySymbol.get('ESM27')?.marketValue, '295012.50')
  assert.equal(bySymbol.get('MYSTERY27')?.marketValue, null)
  assert.equal(bySymbol.get('AFI.AX')?.currentPrice, null)
  assert.equal(bySymbol.get('AFI.AX')?.currency, 'AUD')
  assert.equal(bySymbol.get('BTC')?.quantity, '0.00012345')
  assert.deepEqual(harness.recorded.oddities, [])
})

test('R24: positions sent as JSON numbers keep every digit', async () => {
  await using harness = await startHarness()
  const { holdings, account } = aim(harness.emulator.people.healthy)
  account.positions = account.positions.slice(0, 1)
  const [position] = account.positions
  assert.ok(position)
  position.overrides = {
    units: numberToken('12345678901234567890.123456789'),
    price: numberToken('1.50'),
  }
  const [holding] = await harness.adapter.holdings(holdings, call())
  assert.equal(holding?.quantity, '12345678901234567890.123456789')
  assert.equal(holding?.currentPrice, '1.50')
})

test('R20b: for empty holdings the account is checked: first sync, unshared or removed', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { holdings, account, connection, login, ref, reference } = aim(emulator.people.healthy)
  const asked = { what: 'holdings', accounts: [reference], among: [reference] } as const
  const confirm = () => adapter.confirmEmpty(login, ref, call(), asked)
  account.positions = []
  assert.deepEqual(await adapter.holdings(holdings, call()), [])
  await confirm()
  account.holdingsUnavailable = true
  const unshared = await failureOf(confirm())
  assert.equal(unshared.kind, 'rejected')
  assert.ok(unshared.detail.includes(`"${reference.name}" (${reference.id})`), unshared.detail)
  account.holdingsSynced = false
  const unsynced = await failureOf(confirm())
  assert.equal(
    unsynced.kind === 'preparing' && unsynced.of,
    `the account "${reference.name}" (${reference.id})`,
  )
  connection.accounts = []
  assert.equal((await failureOf(confirm())).kind, 'account_gone')
})

test('R20b: an account that is new is looked up, and one that is gone is said to be gone', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { account, connection, login, ref, reference } = aim(emulator.people.healthy)
  const added = { ...account, id: randomUUID(), name: 'New' }
  const newReference = accountRef(added, ref)
  const among = [reference, newReference]
  const confirm = (accounts: AccountRef[]) =>
    adapter.confirmEmpty(login, ref, call(), { what: 'transactions', accounts, among })
  await confirm([reference])
  connection.accounts.push(added)
  await confirm([newReference])
  await confirm(among)
  connection.accounts.pop()
  harness.clock.ms += 60_000
  assert.equal((await failureOf(confirm([newReference]))).kind, 'account_gone')
})

test('R20b: a disabled connection is still read from the provider’s cache', async () => {
  await using harness = await startHarness()
  const { holdings, query, connection } = aim(harness.emulator.people.healthy)
  connection.disabled = true
  assert.notEqual((await harness.adapter.holdings(holdings, call())).length, 0)
  assert.notEqual((await harness.adapter.trades.read(query, null, call())).length, 0)
})

test('trades are read to the end, newest first: every row once, but for the one that each page repeats', async () => {
  await using harness = await startHarness()
  const { query, account } = aim(harness.emulator.people.history)
  const pages = await readPages(harness.adapter, query)
  assert.deepEqual(
    pages.map(({ length }) => length),
    [1000, 1000, 1000, 1000, 1000, 405],
  )
  assert.deepEqual(pages[0]?.ahead, ['1998', '2997', '3996', '4995'])
  const { overlap } = harness.adapter.trades
  const ids = pages.flatMap((page, number) =>
    Array.from({ length: page.length }, (_, index) => page.head(index)?.id).slice(
      number === 0 ? 0 : overlap,
    ),
  )
  assert.deepEqual(
    ids,
    account.activities.map(({ id }) => id),
  )
  assert.equal(harness.adapter.trades.pageSize, 1000)
  const sent = harness.emulator.requests.map(({ query: parameters }) => parameters)
  assert.deepEqual(
    sent.map((parameters) => [parameters.get('offset'), parameters.get('limit')]),
    ['0', '999', '1998', '2997', '3996', '4995'].map((offset) => [offset, '1000']),
  )
  assert.ok(sent.every((parameters) => !parameters.has('startDate') && !parameters.has('endDate')))
})

test('every row of every account maps to the contract, and its key is its id', async () => {
  await using harness = await startHarness()
  const person = harness.emulator.people.healthy
  const types = new Set<string>()
  for (const [connectionIndex, accountIndex] of [
    [0, 0],
    [0, 1],
    [0, 2],
    [1, 0],
  ] as const) {
    const { query, account } = aim(person, connectionIndex, accountIndex)
    const pages = await readPages(harness.adapter, query)
    const trades = inWindow(pages, query)
    assert.equal(trades.length, account.activities.length)
    for (const trade of trades) types.add(trade.type)
    const [page] = pages
    for (let index = 0; index < (page?.length ?? 0); index += 1) {
      assert.equal(page?.tradeKey(index), page?.map(index).id)
    }
  }
  assert.deepEqual([...types].sort(), [
    'buy',
    'dividend',
    'fee',
    'interest',
    'other',
    'sell',
    'split',
    'transfer',
  ])
  assert.deepEqual([...new Set(harness.recorded.oddities)], ['activity type'])
})

test('R24: coins keep every digit and are in the coin they are quoted in', async () => {
  await using harness = await startHarness()
  const { query } = aim(harness.emulator.people.healthy, 1, 0)
  const trades = inWindow(await readPages(harness.adapter, query), query)
  const tiny = trades.find(({ description }) => description === 'BTC/USDT')
  assert.deepEqual(
    [tiny?.quantity, tiny?.fees, tiny?.totalAmount, tiny?.currency, tiny?.symbol],
    ['0.00000001', '0.00000025', '-0.000912345678', 'USDT', 'BTC'],
  )
  const long = trades.find(({ description }) => description === 'ETH/BTC')
  assert.equal(long?.quantity, '-0.123456789012345678')
})

test('R24a: identical fills have one bare key and two heads', async () => {
  await using harness = await startHarness()
  const { query, account } = aim(harness.emulator.people.healthy)
  const row = account.activities[0]
  assert.ok(row)
  account.activities = [row, { ...row, id: 'twin' }]
  const [page] = await readPages(harness.adapter, query)
  assert.equal(page?.tradeKey(0), page?.tradeKey(1))
  assert.notEqual(page?.head(0)?.id, page?.head(1)?.id)
})

test('R16a: the filter of a day agrees with the date shown in every zone', async () => {
  await using harness = await startHarness()
  const { query: base, account } = aim(harness.emulator.people.healthy, 0, 1)
  const dayOnly = account.activities[10]
  assert.ok(dayOnly?.tradeDate)
  const day = dayOnly.tradeDate.slice(0, 10)
  for (const name of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Australia/Sydney', 'UTC']) {
    const zone = getZone(name)
    const window = { from: zone.startOfDay(day), to: zone.endOfDay(day) }
    const query: RowsQuery = { ...base, zone, window }
    const trades = inWindow(await readPages(harness.adapter, query), query)
    const wanted = account.activities.filter(({ tradeDate }) => tradeDate?.startsWith(day))
    assert.deepEqual(
      trades.map(({ tradeDate }) => tradeDate),
      wanted.map(() => day),
      name,
    )
    const after = { ...query, window: { from: zone.startOfDay(addDays(day, 1)), to: window.to } }
    assert.deepEqual(inWindow(await readPages(harness.adapter, after), after), [], name)
  }
})

test('R16a: bounds are inclusive to the microsecond', async () => {
  await using harness = await startHarness()
  const { query: base, account } = aim(harness.emulator.people.healthy)
  const id = account.activities[20]?.id
  const [page] = await readPages(harness.adapter, base)
  const at = page?.head(20)?.time ?? toMicros(0)
  const ids = async (from: Micros, to: Micros) => {
    const query = { ...base, window: { from, to } }
    const pages = await readPages(harness.adapter, query)
    return pages.flatMap((each) =>
      Array.from({ length: each.length }, (_, index) => each.head(index)).filter(
        (head) => head !== null && head.time >= from && head.time <= to,
      ),
    )
  }
  assert.ok((await ids(at, at)).some((head) => head?.id === id))
  assert.ok((await ids(addMicros(at, 1), addMicros(at, 1))).every((head) => head?.id !== id))
})

test('a page can be opened again from its body alone', async () => {
  await using harness = await startHarness()
  const { query } = aim(harness.emulator.people.history)
  const page = await harness.adapter.trades.read(query, '5000', call())
  const again = harness.adapter.trades.open(query, '5000', page.body)
  assert.deepEqual(again.map(7), page.map(7))
  assert.deepEqual([again.length, again.next], [400, null])
  assert.equal(harness.emulator.requests.length, 1)
})

test('R20b: an account without rows is an empty page, without a further request', async () => {
  await using harness = await startHarness()
  const { query, account } = aim(harness.emulator.people.healthy)
  account.activities = []
  account.transactionsSynced = false
  const page = await harness.adapter.trades.read(query, null, call())
  assert.deepEqual([page.length, page.next, page.ownRows], [0, null, 0])
  assert.equal(harness.emulator.requests.length, 1)
})

test('R23: an unreadable row fails when it is mapped, and is still counted before', async () => {
  await using harness = await startHarness()
  const { query, account } = aim(harness.emulator.people.healthy)
  const row = account.activities[3]
  assert.ok(row)
  row.overrides = { amount: 'lots' }
  const page = await harness.adapter.trades.read(query, null, call())
  assert.equal(page.head(3)?.id, row.id)
  assert.match(page.tradeKey(3), /-lots-/)
  assert.throws(() => page.map(3), /malformed/)
  assert.doesNotThrow(() => page.map(2))
})
