/** Checks holdings field by field (docs/providers/snaptrade.md, Mapping). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Holding } from '#contract/resources.ts'
import { newId, upstreamId } from '#kernel/ids.ts'
import { UpstreamError } from '../failure.ts'
import type { AccountRef } from '../port.ts'
import { toHoldings } from './map-holding.ts'

const account: AccountRef = {
  id: newId(),
  connectionId: newId(),
  upstreamId: upstreamId('acc-1'),
  name: 'Margin',
  currency: 'CAD',
}

const stock = { kind: 'stock', id: 'i-1', symbol: 'AAPL', raw_symbol: 'AAPL' }

function position(fields: object = {}, instrument: object = {}) {
  return {
    instrument: {
      ...stock,
      description: 'Apple Inc.',
      currency: 'USD',
      exchange: 'XNAS',
      ...instrument,
    },
    units: '10.5',
    price: '231.45',
    cost_basis: '118.20',
    currency: 'USD',
    ...fields,
  }
}

const mapOne = (row: unknown, onOddity = (_what: string) => {}) => {
  const [holding] = toHoldings([row], account, onOddity)
  assert.ok(holding)
  return Holding.parse(holding)
}

const isMalformed = (error: unknown) =>
  error instanceof UpstreamError && error.failure.kind === 'malformed'

test('every field of a holding comes from its place, products exact', () => {
  assert.deepEqual(mapOne(position()), {
    id: 'acc-1:i-1',
    accountId: account.id,
    accountName: 'Margin',
    symbol: 'AAPL',
    name: 'Apple Inc.',
    exchange: 'XNAS',
    currency: 'USD',
    quantity: '10.5',
    averagePrice: '118.20',
    currentPrice: '231.45',
    marketValue: '2430.225',
    unrealizedPnl: '1189.125',
  })
})

test('R24: digits beyond any float survive, exponents are written out', () => {
  const holding = mapOne(
    position({ units: '0.123456789012345678', price: '91234.567890123456789', cost_basis: '1e-8' }),
  )
  assert.equal(holding.quantity, '0.123456789012345678')
  assert.equal(holding.averagePrice, '0.00000001')
  assert.equal(holding.marketValue, '11263.526798643499386390794098763907942')
})

test('R24b: a short position keeps its sign and the formulas hold', () => {
  const holding = mapOne(position({ units: '-20', price: '588.2', cost_basis: '601.75' }))
  assert.equal(holding.marketValue, '-11764.0')
  assert.equal(holding.unrealizedPnl, '271.00')
})

test('a missing price or cost makes what depends on it null, and nothing else', () => {
  const priceless = mapOne(position({ price: null }))
  assert.deepEqual(
    [priceless.currentPrice, priceless.marketValue, priceless.unrealizedPnl],
    [null, null, null],
  )
  assert.equal(priceless.averagePrice, '118.20')
  const costless = mapOne(position({ cost_basis: undefined }))
  assert.deepEqual([costless.averagePrice, costless.unrealizedPnl], [null, null])
  assert.equal(costless.marketValue, '2430.225')
})

test('R24b: null units are an unreadable row, even without price and cost', () => {
  assert.throws(() => mapOne(position({ units: null })), isMalformed)
  assert.throws(() => mapOne(position({ units: null, price: null, cost_basis: null })), isMalformed)
})

test('R23: a row without instrument, id, symbol or numbers is unreadable', () => {
  const rows: unknown[] = [
    null,
    'text',
    position({ instrument: null }),
    position({}, { id: '' }),
    position({}, { symbol: null }),
    position({}, { symbol: 5 }),
    position({ units: 'many' }),
    position({ price: {} }),
    position({ cost_basis: '1e41' }),
    position({ currency: '$$' }),
  ]
  for (const row of rows) assert.throws(() => mapOne(row), isMalformed, JSON.stringify(row))
})

test('options and futures are multiplied by their contract size', () => {
  const option = mapOne(
    position(
      { units: '2', price: '21.35', cost_basis: '18.6', currency: null },
      {
        kind: 'option',
        symbol: 'AAPL  271217C00240000',
        multiplier: '100',
        currency: undefined,
        exchange: undefined,
        underlying: { ...stock, currency: 'USD', exchange: 'XNAS' },
      },
    ),
  )
  assert.equal(option.marketValue, '4270.00')
  assert.equal(option.unrealizedPnl, '550.00')
  assert.equal(option.symbol, 'AAPL  271217C00240000')
  assert.deepEqual([option.currency, option.exchange], ['USD', 'XNAS'])
  const future = (multiplier: string | null) =>
    mapOne(position({ units: '1', price: '2', cost_basis: '1' }, { kind: 'future', multiplier }))
  assert.equal(future('50').marketValue, '100')
  assert.deepEqual([future(null).marketValue, future(null).unrealizedPnl], [null, null])
})

test('a contract for difference has no market value', () => {
  const cfd = mapOne(position({}, { kind: 'cfd', underlying_instrument: stock }))
  assert.deepEqual([cfd.marketValue, cfd.unrealizedPnl, cfd.currentPrice], [null, null, '231.45'])
})

test('an unknown kind is treated as other and reported', () => {
  const seen: string[] = []
  const holding = mapOne(position({}, { kind: 'nft' }), (what) => seen.push(what))
  assert.equal(holding.marketValue, '2430.225')
  assert.deepEqual(seen, ['instrument kind'])
})

test('R24b: the currency is the row’s, the instrument’s, the underlying’s, the account’s', () => {
  const underlying = { ...stock, currency: 'JPY' }
  const of = (own: string | null, instrument: string | null, below: object | null) =>
    mapOne(position({ currency: own }, { currency: instrument, underlying: below })).currency
  assert.equal(of('AUD', 'USD', underlying), 'AUD')
  assert.equal(of(null, 'USD', underlying), 'USD')
  assert.equal(of(null, null, underlying), 'JPY')
  assert.equal(of(null, null, null), 'CAD')
})

test('two positions in one instrument are numbered in row order', () => {
  const rows = [position(), position({ units: '-1' }), position({}, { id: 'i-2' }), position()]
  assert.deepEqual(
    toHoldings(rows, account, () => {}).map(({ id }) => id),
    ['acc-1:i-1', 'acc-1:i-1:2', 'acc-1:i-2', 'acc-1:i-1:3'],
  )
})
