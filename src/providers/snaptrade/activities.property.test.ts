/** Checks that a page whose bytes are scanned gives what the same page gives when it is parsed as a whole. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeTradeQuery } from '#tests/support/trade-query.ts'
import { UpstreamError } from '../failure.ts'
import type { RowGlance, TradePage } from '../port.ts'
import { makeTradeReader } from './reader.ts'

const query = makeTradeQuery('Australia/Sydney')
const reader = makeTradeReader({
  fetchPage: () => Promise.reject(new Error('not used')),
  onOddity: () => {},
})

/** JSON texts of values. */
const date = fc.constantFrom(
  '"2026-03-22T16:27:55Z"',
  '"2026-03-22T16:27:55.123456+10:00"',
  '"2026-03-22T00:00:00Z"',
  '"2026-03-21T14:00:00+00:00"',
  '"2026-03-22 16:27:55"',
  '"2026-03-22"',
  '"2026-03-2\\u0032"',
  '"2026-02-30T00:00:00Z"',
  '"soon"',
  '""',
  'null',
  'true',
)
const number = fc.constantFrom(
  '1.50',
  '-12345678901234567890.10',
  '0',
  '1e2',
  '"7.0"',
  '"many"',
  'null',
  '[]',
)
const id = fc.constantFrom('"t-1"', '"t-2"', '"t\\u002d3"', '"é"', '""', 'null', 'true')
const symbol = fc
  .constantFrom('AAA', 'BBB', 'C')
  .map((code) => `{"id":"${code}","symbol":"${code}","description":"${code.repeat(100)}"}`)
const members: Readonly<Record<string, fc.Arbitrary<string>>> = {
  '"id"': id,
  '"trade_date"': date,
  '"settlement_date"': date,
  '"amount"': number,
  '"un\\u0069ts"': number,
  '"units"': number,
  '"price"': number,
  '"fee"': number,
  '"type"': fc.constantFrom('"BUY"', '"?"', 'null'),
  '"symbol"': fc.oneof(symbol, fc.constantFrom('null', 'true')),
  '"description"': fc.constantFrom('"Café"', '"\\"amount\\":7"', 'null'),
}
const member = fc
  .constantFrom(...Object.keys(members))
  .chain((key) => (members[key] ?? id).map((value) => `${key}:${value}`))
const usualRow = fc
  .tuple(id, date, number, number, symbol)
  .map(([name, at, amount, units, security]) =>
    [`{"id":${name}`, `"symbol":${security}`, `"type":"BUY","amount":${amount}`]
      .concat(`"units":${units},"trade_date":${at}}`)
      .join(),
  )
const oddRow = fc
  .array(member, { maxLength: 12 })
  .map((list) => `{"id":"t","trade_date":"2026-03-22",${[...list, '"x":1'].join()}}`)
const row = fc.oneof({ weight: 3, arbitrary: usualRow }, oddRow)

/** Everything that a page says about a row; errors by their kind. */
function describe(page: TradePage, index: number): unknown {
  return [page.head, page.map, page.tradeKey].map((read) => {
    try {
      return read(index)
    } catch (error) {
      assert(error instanceof UpstreamError)
      return error.failure.kind
    }
  })
}

test('a scanned page of activities gives what it gives when it is parsed as a whole', () => {
  let glanced = 0
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), (rows) => {
      const text = `{"data":[${rows.join()}],"pagination":{"offset":0,"total":${rows.length}}}`
      const body = Buffer.from(text)
      const page = reader.open(query, null, body)
      // A page that begins with a byte order mark is not scanned.
      const whole = reader.open(query, null, Buffer.from(`\ufeff${text}`))
      assert.deepEqual([page.length, page.next, page.total], [whole.length, null, rows.length])
      const into: RowGlance = { time: 0, idFrom: 0, idTo: 0 }
      for (const index of rows.keys()) {
        assert.equal(whole.glance?.(index, into), undefined)
        if (page.glance?.(index, into) === true) {
          glanced += 1
          const head = whole.head(index)
          const seen = body.toString('utf8', into.idFrom, into.idTo)
          assert.deepEqual([seen, into.time], [head?.id, head?.time])
        }
        assert.deepEqual(describe(page, index), describe(whole, index))
      }
    }),
    { numRuns: 1500 },
  )
  assert(glanced > 500, `only ${glanced} rows were glanced at`)
})
