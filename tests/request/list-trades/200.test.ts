import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { options, securities } from '#sandbox/snaptrade/securities.ts'
import { type Activity, activity, linkBroker } from '#tests/support/broker.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())
// Another minute for the budget of SnapTrade calls, another ten for the cache.
beforeEach(() => service.clock.advance(660_000))

async function read(activities: readonly Activity[], query = '') {
  const broker = await linkBroker(service, user, [{ activities: [...activities] }])
  const answer = await service.get(`/v1/trades?connectionId=${broker.connection.id}${query}`, user)
  assert.equal(answer.status, 200, answer.text)
  return { broker, rows: answer.body.data, answer }
}

test('a trade has every field, its id is built of them, pagination stands beside', async () => {
  const { broker, answer } = await read([activity({ fee: '1.95' })])
  assert.deepEqual(answer.body, {
    data: [
      {
        id: '2026-11-10T15:30:00Z-AAPL-BUY--100-1-2026-11-12-1.95-BOUGHT Apple Inc.',
        accountId: broker.accounts[0]?.id,
        accountName: 'Account 0',
        symbol: 'AAPL',
        name: 'Apple Inc.',
        type: 'buy',
        quantity: '1',
        price: '100',
        currency: 'USD',
        totalAmount: '-100',
        fees: '1.95',
        tradeDate: '2026-11-10T15:30:00Z',
        settlementDate: '2026-11-12',
        description: 'BOUGHT Apple Inc.',
      },
    ],
    pagination: { total: 1, limit: 200, offset: 0, hasMore: false },
  })
  assert.equal(answer.headers['x-service-truncated'], undefined)
})

test('R24a: absent parts of the id are empty between their hyphens', async () => {
  const { rows } = await read([
    activity({ fee: null, settlementDate: null, description: '', units: null, amount: null }),
  ])
  assert.equal(rows[0].id, '2026-11-10T15:30:00Z-AAPL-BUY-0-0---')
  assert.deepEqual([rows[0].fees, rows[0].settlementDate, rows[0].description], [null, null, null])
})

test('R24b: null units, price and amount of cash movements are 0, signs are the provider’s', async () => {
  const { rows } = await read([
    activity({ type: 'DIVIDEND', units: null, price: null, amount: '12.34' }),
    activity({ type: 'SELL', units: '-5', amount: '500' }),
    activity({ type: 'FEE', security: null, units: null, price: null, amount: '-3', fee: '-3' }),
    activity({ type: 'SPLIT', units: '40', price: null, amount: null }),
  ])
  const reported = rows.map((row: Record<string, unknown>) => [
    row.type,
    row.quantity,
    row.price,
    row.totalAmount,
    row.fees,
  ])
  assert.deepEqual(reported, [
    ['dividend', '0', '0', '12.34', '0'],
    ['sell', '-5', '100', '500', '0'],
    ['fee', '0', '0', '-3', '-3'],
    ['split', '40', '0', '0', '0'],
  ])
  assert.equal(rows[2].symbol, 'USD')
})

const types: Readonly<Record<string, string>> = {
  REI: 'buy',
  SUBSTITUTE_DIVIDEND: 'dividend',
  STOCK_DIVIDEND: 'dividend',
  DISTRIBUTION: 'dividend',
  REVERSE_SPLIT: 'split',
  CONTRIBUTION: 'transfer',
  WITHDRAWAL: 'transfer',
  EXTERNAL_ASSET_TRANSFER_IN: 'transfer',
  INTERNAL_CASH_TRANSFER_OUT: 'transfer',
  A_NEW_TRANSFER_IN: 'transfer',
  TAX: 'fee',
  INTEREST: 'interest',
  OPTIONEXPIRATION: 'other',
  constructor: 'other',
  '': 'other',
}

test('every type of the provider is one of the eight, the id has it in capitals', async () => {
  const { rows } = await read(
    Object.keys(types).map((type) => activity({ type, description: type })),
  )
  for (const row of rows) {
    assert.equal(row.type, types[row.description ?? ''], row.description)
    assert(row.id.includes(`-${row.type.toUpperCase()}-`))
  }
})

test('R24: numbers come through exactly: thirty digits, exponents, trailing zeros, negative zero', async () => {
  const cases: [string, string][] = [
    ['123456789012345678901234567890.12', '123456789012345678901234567890.12'],
    ['0.30000000000000004', '0.30000000000000004'],
    ['1e-8', '0.00000001'],
    ['2.5E-7', '0.00000025'],
    ['1E3', '1000'],
    ['12.500', '12.500'],
    ['-0.00', '0.00'],
    ['-0', '0'],
    ['1e40', `1${'0'.repeat(40)}`],
  ]
  const { rows } = await read(
    cases.map(([sent]) => activity({ units: sent, price: sent, amount: sent, fee: sent })),
  )
  for (const [index, [sent, shown]] of cases.entries()) {
    const row = rows[index]
    assert.deepEqual(
      [row.quantity, row.price, row.totalAmount, row.fees],
      [shown, shown, shown, shown],
      sent,
    )
    assert(row.id.includes(`-BUY-${shown}-${shown}-`))
  }
})

test('R24: a key spelled with escapes does not make an amount a float', async () => {
  const broker = await linkBroker(service, user, [
    { activities: [activity({ units: '0.1234567890123456789' })] },
  ])
  service.sandbox.snaptrade.addFault({
    times: 1,
    when: ({ path }) => path.endsWith('/activities'),
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: JSON.stringify(reply.body).replace('"units":', '"\\u0075nits":'),
      }),
    },
  })
  const { body } = await service.get(`/v1/trades?connectionId=${broker.connection.id}`, user)
  assert.equal(body.data[0].quantity, '0.1234567890123456789')
})

test('symbols: the option’s, the security’s, the coin’s, of cash the currency', async () => {
  const { rows } = await read([
    activity({ option: options.aaplCall }),
    activity({}),
    activity({ security: null, quote: securities.usdt, currency: null }),
    activity({ security: null }),
    activity({ security: null, currency: null }),
  ])
  assert.deepEqual(
    rows.map((row: { symbol: string; currency: string }) => [row.symbol, row.currency]),
    [
      [options.aaplCall.ticker, 'USD'],
      ['AAPL', 'USD'],
      ['USDT', 'USDT'],
      ['USD', 'USD'],
      ['UNKNOWN', 'USD'],
    ],
  )
})

test('dates are a day or a date-time, as the broker sends them', async () => {
  const { rows } = await read([
    activity({ tradeDate: '2026-11-10T00:00:00Z', settlementDate: '2026-11-12' }),
    activity({ tradeDate: '2026-11-10T15:30:00.123456-05:00', settlementDate: null }),
    activity({ tradeDate: '2026-11-10', settlementDate: '2026-11-12T01:02:03+00:00' }),
    activity({ tradeDate: null, settlementDate: '2026-11-11T00:00:00+00:00' }),
    activity({ tradeDate: '2026-11-09 08:00:00', settlementDate: null }),
  ])
  assert.deepEqual(
    rows.map((row: { tradeDate: string; settlementDate: string | null }) => [
      row.tradeDate,
      row.settlementDate,
    ]),
    [
      ['2026-11-10', '2026-11-12'],
      ['2026-11-10T15:30:00.123456-05:00', null],
      ['2026-11-10', '2026-11-12T01:02:03+00:00'],
      ['2026-11-11', '2026-11-11'],
      ['2026-11-09T08:00:00Z', null],
    ],
  )
})

test('R24a: identical fills get -2, -3 in the provider’s order, the same in every window', async () => {
  const twin = { description: 'TWIN' }
  const fills = [
    activity({ ...twin, tradeDate: '2026-11-12T10:00:00Z' }),
    activity(twin),
    activity({ ...twin, units: '2' }),
    activity(twin),
    activity(twin),
  ]
  const broker = await linkBroker(service, user, [{ activities: fills }, { activities: fills }])
  const url = `/v1/trades?connectionId=${broker.connection.id}`
  const [a, b] = broker.accounts
  assert(a !== undefined && b !== undefined)
  const bare = '2026-11-10T15:30:00Z-AAPL-BUY--100-1-2026-11-12-0-TWIN'
  const alone = (await service.get(`${url}&accountId=${a.id}`, user)).body.data
  const ids = alone.map((row: { id: string }) => row.id)
  assert.deepEqual([ids[1], ids[3], ids[4]], [bare, `${bare}-2`, `${bare}-3`])
  assert.equal(new Set(ids).size, 5)

  const together = (await service.get(url, user)).body.data
  const ofA = together.filter((row: { accountId: string }) => row.accountId === a.id)
  assert.deepEqual(
    ofA.map((row: { id: string }) => row.id),
    ids,
  )
  for (const [offset, id] of ids.entries()) {
    // Another spelling of the query each time: nothing of the walk before is shared.
    const page = await service.get(
      `${url}&accountId=${a.id}&offset=${offset}&limit=1&to=2026-11-2${offset}`,
      user,
    )
    assert.equal(page.body.data[0].id, id)
  }
})

test('R8: cached for ten minutes and not a millisecond more', async () => {
  const broker = await linkBroker(service, user, [{ activities: [activity()] }])
  const url = `/v1/trades?connectionId=${broker.connection.id}&limit=5`
  const cacheOf = async (path: string) => (await service.get(path, user)).headers['x-cache']
  assert.equal(await cacheOf(url), 'MISS')
  service.clock.advance(599_999)
  assert.equal(await cacheOf(url), 'HIT')
  assert.equal(await cacheOf(`/v1/trades?limit=5&connectionId=${broker.connection.id}`), 'HIT')
  broker.upstream[0]?.activities.unshift(activity())
  service.clock.advance(1)
  const fresh = await service.get(url, user)
  assert.equal(fresh.headers['x-cache'], 'MISS')
  assert.equal(fresh.body.data.length, 2)
})

test('a connection without trades is an empty list with total 0 when the consent is active', async () => {
  const { answer } = await read([])
  assert.deepEqual(answer.body, {
    data: [],
    pagination: { total: 0, limit: 200, offset: 0, hasMore: false },
  })
})
