/** Checks trades field by field (docs/providers/snaptrade.md, Mapping), and the key of the contract. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Trade } from '#contract/resources.ts'
import { newId, upstreamId } from '#kernel/ids.ts'
import { getZone, parseInstant } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type { AccountRef } from '../port.ts'
import { parseTradeTime, readActivity, toTrade, toTradeKey, toTradeType } from './map-trade.ts'
import type { Row } from './numbers.ts'

const sydney = getZone('Australia/Sydney')
const parseTime = (text: string) => parseTradeTime(text, sydney)
const account: AccountRef = {
  id: newId(),
  connectionId: newId(),
  upstreamId: upstreamId('acc-1'),
  name: 'Margin',
  currency: 'CAD',
}

/** Numbers as text, as `numbers.ts` returns them. */
const activity = (fields: object = {}): Row => ({
  id: 't-1',
  symbol: { symbol: 'AAPL', description: 'Apple Inc.' },
  option_symbol: null,
  currency_universal_symbol: null,
  price: '231.45',
  units: '10.50',
  amount: '-2430.23',
  fee: '1.95',
  currency: { code: 'USD' },
  type: 'BUY',
  description: 'BOUGHT Apple Inc.',
  trade_date: '2026-03-22T16:27:55Z',
  settlement_date: '2026-03-24T00:00:00Z',
  ...fields,
})

const map = (fields: object = {}, onOddity = (_what: string) => {}) =>
  Trade.parse(toTrade(activity(fields), { account, parseTime, onOddity }))

const isMalformed = (error: unknown) =>
  error instanceof UpstreamError && error.failure.kind === 'malformed'

test('every field of a trade comes from its place', () => {
  assert.deepEqual(map(), {
    id: '2026-03-22T16:27:55Z-AAPL-BUY--2430.23-10.50-2026-03-24-1.95-BOUGHT Apple Inc.',
    accountId: account.id,
    accountName: 'Margin',
    symbol: 'AAPL',
    name: 'Apple Inc.',
    type: 'buy',
    quantity: '10.50',
    price: '231.45',
    currency: 'USD',
    totalAmount: '-2430.23',
    fees: '1.95',
    tradeDate: '2026-03-22T16:27:55Z',
    settlementDate: '2026-03-24',
    description: 'BOUGHT Apple Inc.',
  })
})

test('every type of the provider has its word, and an unknown one is other and reported', () => {
  const words: Record<string, string> = {
    buy: 'BUY REI buy',
    sell: 'SELL',
    dividend: 'DIVIDEND SUBSTITUTE_DIVIDEND STOCK_DIVIDEND DISTRIBUTION',
    split: 'SPLIT REVERSE_SPLIT',
    transfer:
      'CONTRIBUTION WITHDRAWAL TRANSFER WIRE_TRANSFER_IN ' +
      'EXTERNAL_ASSET_TRANSFER_IN EXTERNAL_ASSET_TRANSFER_OUT ' +
      'INTERNAL_CASH_TRANSFER_IN INTERNAL_CASH_TRANSFER_OUT ' +
      'INTERNAL_ASSET_TRANSFER_IN INTERNAL_ASSET_TRANSFER_OUT',
    fee: 'FEE TAX',
    interest: 'INTEREST',
    other:
      'OPTIONEXPIRATION OPTIONASSIGNMENT OPTIONEXERCISE REBATE ' +
      'RETURN_OF_CAPITAL SPINOFF STOCK_MERGER ADJUSTMENT',
  }
  for (const [word, types] of Object.entries(words)) {
    for (const type of types.split(' ')) assert.equal(toTradeType(type), word, type)
  }
  for (const type of ['JOURNAL', '', 'constructor', 'WIRE_TRANSFER_IN_KIND'])
    assert.equal(toTradeType(type), null)
  const seen: string[] = []
  map({ type: 'SELL' }, (what) => seen.push(what))
  assert.equal(map({ type: 'JOURNAL' }, (what) => seen.push(what)).type, 'other')
  assert.equal(map({ type: undefined }, (what) => seen.push(what)).type, 'other')
  assert.deepEqual(seen, ['activity type', 'activity type'])
})

test('the symbol is the option’s, else the security’s, the quote’s, the currency’s', () => {
  const option_symbol = {
    ticker: 'AAPL  271217C00240000',
    underlying_symbol: { symbol: 'AAPL', description: 'Apple below' },
  }
  const currency_universal_symbol = { symbol: 'USDT', raw_symbol: 'USDT' }
  assert.equal(map({ option_symbol }).symbol, 'AAPL  271217C00240000')
  assert.equal(map({ option_symbol, symbol: null }).name, 'Apple below')
  assert.equal(map({ currency_universal_symbol }).symbol, 'AAPL')
  assert.equal(map({ symbol: null, currency_universal_symbol }).symbol, 'USDT')
  assert.equal(map({ symbol: null }).symbol, 'USD')
  assert.equal(map({ symbol: null }).name, null)
  assert.equal(map({ symbol: null, currency: null }).symbol, 'UNKNOWN')
})

test('R24b: absent numbers of a trade are zero, absent fees null, signs stay', () => {
  const trade = map({ units: undefined, price: null, amount: null, fee: undefined, type: 'SPLIT' })
  assert.deepEqual(
    [trade.quantity, trade.price, trade.totalAmount, trade.fees],
    ['0', '0', '0', null],
  )
  assert.equal(map({ units: '-3', fee: '-0.5' }).quantity, '-3')
  assert.equal(map({ fee: '-0.5' }).fees, '-0.5')
})

test('R24: exponents are written out, zeros are kept, negative zero is zero', () => {
  const trade = map({ units: '1e-8', price: '1.50', amount: '-0.00', fee: '2.5E-7' })
  assert.deepEqual(
    [trade.quantity, trade.price, trade.totalAmount, trade.fees],
    ['0.00000001', '1.50', '0.00', '0.00000025'],
  )
})

test('R24b: the currency is the row’s, the quote’s, the account’s, else USD', () => {
  const quote = { symbol: 'BTC-USD', raw_symbol: 'BTC' }
  assert.equal(map({ currency: null, currency_universal_symbol: quote }).currency, 'BTC')
  const euro = { symbol: 'EUR', raw_symbol: null }
  assert.equal(map({ currency: null, currency_universal_symbol: euro }).currency, 'EUR')
  assert.equal(map({ currency: null }).currency, 'CAD')
  const nameless = { account: { ...account, currency: '' }, parseTime, onOddity: () => {} }
  assert.equal(toTrade(activity({ currency: null }), nameless).currency, 'USD')
})

test('R23: what cannot be read refuses the row', () => {
  const rows: object[] = [
    { amount: 'lots' },
    { units: true },
    { fee: {} },
    { price: '1e41' },
    { trade_date: 'yesterday' },
    { trade_date: '2026-02-30T00:00:00Z' },
    { trade_date: null, settlement_date: null },
    { settlement_date: 'soon' },
    { type: 5 },
    { symbol: 'AAPL' },
    { currency: { code: '$' } },
    { description: {} },
  ]
  for (const fields of rows) assert.throws(() => map(fields), isMalformed, JSON.stringify(fields))
  for (const row of [null, 7, 'row', ['row'], undefined]) {
    assert.throws(() => readActivity(row), isMalformed, JSON.stringify(row))
  }
})

test('R16a: midnight UTC is the day alone, counting at its first instant in the zone', () => {
  const rows: [string, string, string][] = [
    ['2026-03-22T00:00:00Z', '2026-03-22', '2026-03-21T13:00:00Z'],
    ['2026-03-22T00:00:00.000000+00:00', '2026-03-22', '2026-03-21T13:00:00Z'],
    ['2026-03-21T19:00:00-05:00', '2026-03-22', '2026-03-21T13:00:00Z'],
    ['2026-03-22', '2026-03-22', '2026-03-21T13:00:00Z'],
    ['2026-03-22 00:00:00', '2026-03-22', '2026-03-21T13:00:00Z'],
    ['2026-03-22T00:00:00-05:00', '2026-03-22T00:00:00-05:00', '2026-03-22T05:00:00Z'],
    ['2026-03-22 16:27:55.5+00:00', '2026-03-22T16:27:55.5+00:00', '2026-03-22T16:27:55.5Z'],
    ['2026-03-22T16:27:55', '2026-03-22T16:27:55Z', '2026-03-22T16:27:55Z'],
    ['2026-03-22T16:27:55.125', '2026-03-22T16:27:55.125Z', '2026-03-22T16:27:55.125Z'],
    ['2026-03-22T12:00:00Z', '2026-03-22T12:00:00Z', '2026-03-22T12:00:00Z'],
  ]
  for (const [text, shown, time] of rows) {
    assert.deepEqual(parseTradeTime(text, sydney), { shown, time: parseInstant(time) }, text)
  }
  assert.equal(parseTradeTime('22/03/2026', sydney), null)
})

test('a row without a trade date takes its settlement date', () => {
  assert.equal(map({ trade_date: null }).tradeDate, '2026-03-24')
  assert.equal(
    map({ trade_date: null, settlement_date: '2026-03-24T01:00:00Z' }).tradeDate,
    '2026-03-24T01:00:00Z',
  )
})

test('an empty description is null', () => {
  assert.equal(map({ description: '' }).description, null)
  assert.equal(map({ description: '  ' }).description, null)
})

test('R24a: absent parts of the key are empty strings between their hyphens', () => {
  const cash = {
    symbol: null,
    units: undefined,
    amount: '25',
    fee: undefined,
    settlement_date: undefined,
    description: '',
    type: 'DIVIDEND',
    trade_date: '2026-03-22T00:00:00Z',
  }
  assert.equal(map(cash).id, '2026-03-22-USD-DIVIDEND-25-0---')
})

test('the key of any readable row is the id of its trade', () => {
  const fields = [{}, { type: 'JOURNAL' }, { trade_date: null }, { amount: '1e2', fee: null }]
  for (const each of fields) assert.equal(toTradeKey(activity(each), parseTime), map(each).id)
})

test('R23: unreadable parts are in the key as they were sent', () => {
  assert.equal(
    toTradeKey(activity({ amount: 'lots', settlement_date: 'soon', type: 5 }), parseTime),
    '2026-03-22T16:27:55Z-AAPL-5-lots-10.50-soon-1.95-BOUGHT Apple Inc.',
  )
})

test('R23: an unreadable date is part of the key as received, before any other date', () => {
  const words = toTradeKey(activity({ trade_date: 'soonish' }), parseTime)
  assert.equal(words, 'soonish-AAPL-BUY--2430.23-10.50-2026-03-24-1.95-BOUGHT Apple Inc.')
  const none = { trade_date: undefined, settlement_date: undefined }
  assert.equal(
    toTradeKey(activity(none), parseTime),
    '-AAPL-BUY--2430.23-10.50--1.95-BOUGHT Apple Inc.',
  )
})

test('R24a: an unknown type is OTHER in the key', () => {
  assert.equal(
    toTradeKey(activity({ type: 'JOURNAL' }), parseTime),
    '2026-03-22T16:27:55Z-AAPL-OTHER--2430.23-10.50-2026-03-24-1.95-BOUGHT Apple Inc.',
  )
})
