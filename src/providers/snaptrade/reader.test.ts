/** Checks paging by offsets, and the parameters sent to SnapTrade for a window. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseInstant } from '#kernel/time.ts'
import { makeTradeQuery } from '#tests/support/trade-query.ts'
import { UpstreamError } from '../failure.ts'
import { makeTradeReader, toParameters } from './reader.ts'

const query = makeTradeQuery('UTC')
const reader = makeTradeReader({
  fetchPage: () => Promise.reject(new Error('not used')),
  onOddity: () => {},
  onRows: () => {},
})

function open(cursor: string | null, length: number, pagination: unknown) {
  const data = Array.from({ length }, (_, index) => ({ id: `t-${index}` }))
  return reader.open(query, cursor, Buffer.from(JSON.stringify({ data, pagination })))
}

const isMalformed = (error: unknown) =>
  error instanceof UpstreamError && error.failure.kind === 'malformed'

test('the next page starts with the last row that came, further full pages are known ahead', () => {
  const first = open(null, 1000, { offset: 0, limit: 1000, total: 4200 })
  assert.equal(first.next, '999')
  assert.deepEqual(first.ahead, ['1998', '2997', '3996'])
  // A page that would only repeat a row is not asked for.
  assert.deepEqual(open(null, 1000, { offset: 0, limit: 1000, total: 1999 }).ahead, [])
  assert.deepEqual(open(null, 1000, { offset: 0, limit: 1000, total: 2000 }).ahead, ['1998'])
  const last = open('4000', 200, { offset: 4000, limit: 1000, total: 4200 })
  assert.deepEqual([last.next, last.ahead, last.length], [null, [], 200])
})

test('R18: a full page is never the last one, whatever its total says', () => {
  for (const total of [4000, 1000, 0]) {
    const full = open('3000', 1000, { offset: 3000, total })
    assert.deepEqual([full.next, full.ahead], ['3999', []])
  }
  const end = open('3999', 1, { offset: 3999, total: 4000 })
  assert.deepEqual([end.next, end.ahead], [null, []])
})

test('a short page in the middle is followed without a gap', () => {
  const page = open('1000', 700, { offset: 1000, limit: 700, total: 2500 })
  assert.deepEqual([page.next, page.ahead], ['1699', []])
})

test('without paging information a full page has a next page and any other page is the last', () => {
  for (const pagination of [undefined, null]) {
    assert.deepEqual(open(null, 1000, pagination).next, '999')
    assert.deepEqual(open('1000', 3, pagination).next, null)
    assert.deepEqual(open('1000', 0, pagination).next, null)
  }
})

test('a false total cannot cost memory', () => {
  const page = open(null, 1000, { offset: 0, total: 2_000_000_000 })
  assert.equal(page.ahead.length, 16)
})

test('R20: paging information without progress is malformed', () => {
  const rows: [string | null, number, unknown][] = [
    [null, 3, { offset: 0 }],
    [null, 3, { offset: 0, total: 'many' }],
    [null, 3, { offset: 0, total: -1 }],
    ['1000', 1000, { offset: 0, total: 3000 }],
    ['0x10', 3, { offset: 16, total: 3 }],
    ['99999999999', 3, { offset: 0, total: 3 }],
  ]
  for (const [cursor, length, pagination] of rows) {
    assert.throws(() => open(cursor, length, pagination), isMalformed, JSON.stringify(pagination))
  }
})

test('R18: a page that is empty below its total gives the total and no next page', () => {
  for (const cursor of [null, '1000']) {
    const page = open(cursor, 0, { offset: Number(cursor ?? 0), total: 2000 })
    assert.deepEqual([page.total, page.next, page.ahead], [2000, null, []])
  }
})

test('R20: a body that is not a page is malformed', () => {
  for (const body of ['', '[]', '{"data":{}}', '{"data":[', 'null', '\ufeff\u0000']) {
    assert.throws(() => reader.open(query, null, Buffer.from(body)), isMalformed, body)
  }
  assert.throws(() => reader.open(query, null, Buffer.from([0x22, 0xff, 0x22])), isMalformed)
})

test('R24: numbers keep their digits even when their key is spelled with escapes', () => {
  const row = [
    '{"id":"t","type":"BUY","trade_date":"2026-03-22T16:27:55Z"',
    '"amount":12345678901234567890.10,"un\\u0069ts":0.30,"price":"7.0"}',
  ].join(',')
  const body = `{"data":[${row}],"pagination":{"offset":0,"limit":1000,"total":1}}`
  const page = reader.open(query, null, Buffer.from(body))
  const trade = page.map(0)
  assert.deepEqual(
    [trade.totalAmount, trade.quantity, trade.price, page.next],
    ['12345678901234567890.10', '0.30', '7.0', null],
  )
})

test('R23: a row needs an id and a time for its head, and all of it to be mapped', () => {
  const data = [
    { trade_date: '2026-03-22T16:27:55Z' },
    { id: 't-1' },
    7,
    { id: 't-3', trade_date: '2026-03-22T16:27:55Z', amount: 'lots' },
  ]
  const body = Buffer.from(JSON.stringify({ data, pagination: { offset: 0, total: 4 } }))
  const page = reader.open(query, null, body)
  for (const index of [0, 1, 2]) assert.throws(() => page.head(index), isMalformed)
  assert.equal(page.head(3)?.id, 't-3')
  assert.throws(() => page.map(3), isMalformed)
  assert.equal(page.ownRows, 4)
})

test('R16a: a window is sent as days, one wider on each side, and not at all when open', () => {
  assert.deepEqual(toParameters({ from: null, to: null }, 0), [
    ['offset', '0'],
    ['limit', '1000'],
  ])
  const from = parseInstant('2026-03-01T00:00:00+11:00')
  const to = parseInstant('2026-12-31T23:59:59.999999Z')
  assert.deepEqual(toParameters({ from, to }, 2000), [
    ['startDate', '2026-02-27'],
    ['endDate', '2027-01-01'],
    ['offset', '2000'],
    ['limit', '1000'],
  ])
})

test('days at the edges of the calendar stay four-digit years', () => {
  const from = parseInstant('0000-01-01T00:00:00Z')
  const to = parseInstant('9999-12-31T23:59:59Z')
  assert.deepEqual(toParameters({ from, to }, 0).slice(0, 2), [
    ['startDate', '0001-01-01'],
    ['endDate', '9999-12-31'],
  ])
})

test('activities are read for exactly one account', () => {
  const many = { ...query, accounts: [...query.accounts, ...query.accounts] }
  const body = Buffer.from('{"data":[],"pagination":{"offset":0,"total":0}}')
  assert.throws(() => reader.open(many, null, body), TypeError)
})
