import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { options, securities } from '#sandbox/snaptrade/securities.ts'
import { activity, linkBroker, type Position, position } from '#tests/support/broker.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())
// Another minute for the budget of SnapTrade calls, another ten for the cache.
beforeEach(() => service.clock.advance(660_000))

async function read(positions: readonly Position[]) {
  const broker = await linkBroker(service, user, [{ positions: [...positions] }])
  const answer = await service.get(`/v1/holdings?connectionId=${broker.connection.id}`, user)
  assert.equal(answer.status, 200, answer.text)
  return { broker, rows: answer.body.data, answer }
}

test('a holding has every field, and the reply has no pagination object', async () => {
  const { broker, answer } = await read([position()])
  assert.deepEqual(answer.body, {
    data: [
      {
        id: `${broker.upstream[0]?.id}:${securities.aapl.id}`,
        accountId: broker.accounts[0]?.id,
        accountName: 'Account 0',
        symbol: 'AAPL',
        name: 'Apple Inc.',
        exchange: 'XNAS',
        currency: 'USD',
        quantity: '1',
        averagePrice: '90',
        currentPrice: '100',
        marketValue: '100',
        unrealizedPnl: '10',
      },
    ],
  })
})

interface Product {
  readonly units: string
  readonly price: string
  readonly cost: string
  readonly shown: readonly [
    quantity: string,
    price: string,
    average: string,
    value: string,
    gain: string,
  ]
}

const products: Readonly<Record<string, Product>> = {
  'fractional units': {
    units: '0.123456789012345678',
    price: '91234.56',
    cost: '43210.987654321',
    shown: [
      '0.123456789012345678',
      '91234.56',
      '43210.987654321',
      '11263.52582455419250023168',
      '5928.836038699610925320457625362',
    ],
  },
  'a short position': {
    units: '-20',
    price: '588.2',
    cost: '601.75',
    shown: ['-20', '588.2', '601.75', '-11764.0', '271.00'],
  },
  'trailing zeros': {
    units: '10.00',
    price: '5.10',
    cost: '5.100',
    shown: ['10.00', '5.10', '5.100', '51.0000', '0.00000'],
  },
  'thirty digits': {
    units: '123456789012345678901234567890',
    price: '0.000000000000000000000000000001',
    cost: '0',
    shown: [
      '123456789012345678901234567890',
      '0.000000000000000000000000000001',
      '0',
      '0.123456789012345678901234567890',
      '0.123456789012345678901234567890',
    ],
  },
  exponents: {
    units: '1e-8',
    price: '9.1E+4',
    cost: '0e0',
    shown: ['0.00000001', '91000', '0', '0.00091000', '0.00091000'],
  },
  'a negative zero': {
    units: '-0.00',
    price: '100',
    cost: '1',
    shown: ['0.00', '100', '1', '0.00', '0.00'],
  },
}

for (const [name, { units, price, cost, shown }] of Object.entries(products)) {
  test(`R24: ${name} come through exactly, products included`, async () => {
    const { rows } = await read([position({ units, price, costBasis: cost })])
    const [row] = rows
    assert.deepEqual(
      [row.quantity, row.currentPrice, row.averagePrice, row.marketValue, row.unrealizedPnl],
      shown,
    )
  })
}

test('R24: positions sent as JSON numbers instead of text keep their digits as well', async () => {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
  const { rows } = await read([
    position({
      overrides: {
        units: rawJSON('12345678901234567890.12345'),
        price: rawJSON('1.10'),
        cost_basis: rawJSON('1e-7'),
      },
    }),
  ])
  assert.equal(rows[0].quantity, '12345678901234567890.12345')
  assert.equal(rows[0].currentPrice, '1.10')
  assert.equal(rows[0].averagePrice, '0.0000001')
})

test('an option counts by its contract size, a future without one and a CFD are worth null', async () => {
  const future = (multiplier: string | null): Position['instrument'] => ({
    kind: 'future',
    id: `future-${multiplier}`,
    symbol: 'ES',
    root: 'ES',
    code: 'M27',
    expiration: null,
    multiplier,
    currency: 'USD',
    exchange: 'XCME',
  })
  const { rows } = await read([
    position({
      instrument: { kind: 'option', contract: options.aaplCall, multiplier: '100' },
      units: '2',
      price: '21.35',
      costBasis: '18.6',
      currency: null,
    }),
    position({ instrument: future('50'), price: '5900.25', costBasis: '5811' }),
    position({ instrument: future(null) }),
    position({ instrument: { kind: 'cfd', id: 'cfd', underlying: securities.cba } }),
  ])
  const reported = rows.map((row: Record<string, unknown>) => [row.marketValue, row.unrealizedPnl])
  assert.deepEqual(reported, [
    ['4270.00', '550.00'],
    ['295012.50', '4462.50'],
    [null, null],
    [null, null],
  ])
  assert.equal(rows[0].symbol, options.aaplCall.ticker)
  assert.equal(rows[0].currency, 'USD')
})

test('what the broker does not know is null: price, cost, name, exchange', async () => {
  const { rows } = await read([
    position({ price: null }),
    position({ costBasis: null }),
    position({
      instrument: { kind: 'security', security: securities.warrant },
      price: null,
      costBasis: null,
    }),
    position({ instrument: { kind: 'security', security: securities.btc } }),
  ])
  const [noPrice, noCost, neither, coin] = rows
  assert.deepEqual(
    [noPrice.currentPrice, noPrice.marketValue, noPrice.unrealizedPnl],
    [null, null, null],
  )
  assert.deepEqual(
    [noCost.averagePrice, noCost.marketValue, noCost.unrealizedPnl],
    [null, '100', null],
  )
  assert.equal(neither.name, null)
  assert.equal(neither.averagePrice, null)
  assert.equal(coin.exchange, null)
})

test('R24b: a missing currency is the instrument’s, else the account’s, else USD', async () => {
  const nowhere = { ...securities.aapl, currency: '' }
  const bare = { instrument: { kind: 'security', security: nowhere }, currency: null } as const
  const broker = await linkBroker(service, user, [
    { total: { amount: '1', currency: 'CAD' }, positions: [position(bare)] },
    { total: null, balances: [], positions: [position(bare)] },
    { positions: [position({ ...bare, instrument: position().instrument })] },
  ])
  const { body } = await service.get(`/v1/holdings?connectionId=${broker.connection.id}`, user)
  const byAccount = new Map(
    body.data.map((row: { accountId: string; currency: string }) => [row.accountId, row.currency]),
  )
  assert.deepEqual(
    broker.accounts.map((account) => byAccount.get(account.id)),
    ['CAD', 'USD', 'USD'],
  )
})

test('the same instrument held twice has two ids', async () => {
  const { rows } = await read([position(), position({ units: '-3' }), position({ units: '4' })])
  assert.equal(new Set(rows.map((row: { id: string }) => row.id)).size, 3)
})

test('an account without positions is an empty list when the consent is active', async () => {
  const { rows, answer } = await read([])
  assert.deepEqual(rows, [])
  assert.equal(answer.headers['x-cache'], 'MISS')
})

test('accountId and accountIds choose accounts; accountIds takes precedence and is deduplicated', async () => {
  const broker = await linkBroker(service, user, [
    { positions: [position()] },
    { positions: [position()] },
    { positions: [position()] },
  ])
  const ids = broker.accounts.map((account) => account.id)
  const [a = '', b = '', c = ''] = ids
  const reported = async (query: string) => {
    const path = `/v1/holdings?connectionId=${broker.connection.id}${query}`
    const answer = await service.get(path, user)
    assert.equal(answer.status, 200, query)
    return answer.body.data.map((row: { accountId: string }) => row.accountId).toSorted()
  }
  assert.deepEqual(await reported(''), ids.toSorted())
  assert.deepEqual(await reported(`&accountId=${b}`), [b])
  assert.deepEqual(await reported(`&accountId=${b.toUpperCase()}`), [b])
  assert.deepEqual(await reported(`&accountIds=${a},,${c},${a.toUpperCase()},`), [a, c].toSorted())
  assert.deepEqual(await reported(`&accountIds=${a}&accountId=${b}`), [a])
  assert.deepEqual(await reported(`&accountIds=${a}&accountId=no-such-account`), [a])
})

test('accountIds of exactly 4,000 characters are read', async () => {
  const broker = await linkBroker(service, user, [{ positions: [position()] }])
  const id = broker.accounts[0]?.id ?? ''
  const query = `connectionId=${broker.connection.id}&accountIds=${id}${','.repeat(4000 - 36)}`
  assert.equal((await service.get(`/v1/holdings?${query}`, user)).status, 200)
  assert.equal((await service.get(`/v1/holdings?${query},`, user)).status, 400)
})

test('R8: cached for ten minutes and not a millisecond more; ids in another order are another entry', async () => {
  const broker = await linkBroker(service, user, [
    { positions: [position()] },
    { positions: [position()] },
  ])
  const [a, b] = broker.accounts.map((account) => account.id)
  const path = `/v1/holdings?connectionId=${broker.connection.id}`
  const cacheOf = async (query: string) =>
    (await service.get(path + query, user)).headers['x-cache']
  assert.equal(await cacheOf(`&accountIds=${a},${b}`), 'MISS')
  assert.equal(await cacheOf(`&accountIds=${b},${a}`), 'MISS')
  assert.equal(await cacheOf(`&accountIds=${a},${b},${b}`), 'MISS')
  service.clock.advance(599_999)
  const calls = service.sandbox.snaptrade.requests.length
  assert.equal(await cacheOf(`&accountIds=${a},${b}`), 'HIT')
  assert.equal(service.sandbox.snaptrade.requests.length, calls)
  const swapped = `/v1/holdings?accountIds=${a},${b}&connectionId=${broker.connection.id}`
  assert.equal((await service.get(swapped, user)).headers['x-cache'], 'HIT')
  service.clock.advance(1)
  assert.equal(await cacheOf(`&accountIds=${a},${b}`), 'MISS')
})

test('no more than four accounts are asked at once, and each of them once', async () => {
  const broker = await linkBroker(
    service,
    user,
    Array.from({ length: 9 }, () => ({ positions: [position()] })),
  )
  const { snaptrade } = service.sandbox
  snaptrade.requests.length = 0
  snaptrade.latencyMs = 60
  const started = performance.now()
  const answer = await service.get(`/v1/holdings?connectionId=${broker.connection.id}`, user)
  snaptrade.latencyMs = 0
  assert.equal(answer.body.data.length, 9)
  assert.equal(snaptrade.requests.length, 9)
  // Three rounds of at most four.
  assert(performance.now() - started >= 170)
})

test('SnapTrade: a disabled connection is still answered from the provider’s cache', async () => {
  const broker = await linkBroker(service, user, [
    { positions: [position()], activities: [activity()] },
  ])
  const [connection] = broker.person.connections
  assert(connection !== undefined)
  connection.disabled = true
  for (const path of ['/v1/holdings', '/v1/trades']) {
    const answer = await service.get(`${path}?connectionId=${broker.connection.id}`, user)
    assert.equal(answer.status, 200)
    assert.equal(answer.body.data.length, 1)
  }
})

for (const path of ['/v1/holdings', '/v1/trades']) {
  test(`an account that left the broker does not affect the others of ${path}; requested alone it is not found`, async () => {
    const fields = { positions: [position()], activities: [activity()] }
    const broker = await linkBroker(service, user, [fields, fields])
    const [connection] = broker.person.connections
    const [stays, leaves] = broker.accounts
    assert(connection !== undefined && stays !== undefined && leaves !== undefined)
    connection.accounts = connection.accounts.filter(({ id }) => id === stays.upstreamId)
    const url = `${path}?connectionId=${broker.connection.id}`
    const answer = await service.get(url, user)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(
      answer.body.data.map((row: { accountId: string }) => row.accountId),
      [stays.id],
    )
    assert.equal(
      codeOf(await service.get(`${url}&accountId=${leaves.id}`, user)),
      'account_not_found',
    )
    assert.equal((await service.get('/v1/accounts', user)).text.includes(leaves.id), false)
  })

  test(`${path}: an account that leaves while it alone is asked for is not found either`, async () => {
    const broker = await linkBroker(service, user, [{}, {}])
    const [connection] = broker.person.connections
    const [stays, leaves] = broker.accounts
    assert(connection !== undefined && stays !== undefined && leaves !== undefined)
    connection.accounts = connection.accounts.filter(({ id }) => id === stays.upstreamId)
    const url = `${path}?connectionId=${broker.connection.id}&accountId=${leaves.id}`
    assert.equal(codeOf(await service.get(url, user)), 'account_not_found')
  })
}

const ready = { holdingsSynced: true, transactionsSynced: true }
const waiting = { holdingsSynced: false, transactionsSynced: false }

test('R20b: an empty account is shown while another account still waits for its first sync', async () => {
  const own = await linkBroker(service, user, [ready, { ...waiting, positions: [position()] }])
  const url = (path: string) => `${path}?connectionId=${own.connection.id}`
  for (const path of ['/v1/holdings', '/v1/trades']) {
    const answer = await service.get(`${url(path)}&accountId=${own.accounts[0]?.id}`, user)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body.data, [])
  }
  const all = await service.get(url('/v1/holdings'), user)
  assert.equal(all.status, 200, all.text)
  assert.equal(all.body.data.length, 1)
})

test('R20b: empty holdings are shown while the trades of the account are prepared, and the reverse', async () => {
  const own = await linkBroker(service, user, [{ ...ready, transactionsSynced: false }])
  const read = (path: string) => service.get(`${path}?connectionId=${own.connection.id}`, user)
  assert.equal((await read('/v1/holdings')).status, 200)
  assert.equal((await read('/v1/trades')).status, 503)
  for (const account of own.upstream) {
    account.holdingsSynced = false
    account.transactionsSynced = true
  }
  service.clock.advance(660_000)
  assert.equal((await read('/v1/holdings')).status, 503)
  assert.equal((await read('/v1/trades')).status, 200)
})
