/** Checks that pairing gives what the exact parser gives for the same text, or fails and changes nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NumberText, parseExactJson } from './json.ts'
import { pairNumbers } from './number-pairs.ts'

type Row = Record<string, unknown>
const keys = ['amount', 'fee']

const digits = fc.stringMatching(/^(?:0|[1-9]\d{0,25})$/)
const numberToken = fc
  .tuple(
    fc.boolean(),
    digits,
    fc.option(fc.stringMatching(/^\d{1,12}$/)),
    fc.option(fc.stringMatching(/^[eE][+-]?\d{1,3}$/)),
  )
  .map(([minus, whole, fraction, exponent]) => {
    return `${minus ? '-' : ''}${whole}${fraction === null ? '' : `.${fraction}`}${exponent ?? ''}`
  })
const tempting = fc.constantFrom('"amount":1', 'amount', '\\"amount\\":', '"fee"', 'x\\', ', {')
const otherValue = fc.oneof(
  fc.constant('null'),
  fc.constant('true'),
  tempting.map((text) => JSON.stringify(text)),
)
const value = fc.oneof({ weight: 3, arbitrary: numberToken }, otherValue)
const blank = fc.constantFrom('', ' ', '\n\t')
const key = fc.constantFrom('"amount"', '"fee"', '"id"', '"am\\u006funt"', '"x\\"amount"')
const member = fc
  .tuple(key, blank, blank, value)
  .map(([name, before, after, held]) => `${name}${before}:${after}${held}`)
const rowText = fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(',')}}`)

/** The result of the exact parser: numbers under the keys as text, all others as JSON.parse gives them. */
function expected(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, held]) => {
      if (!(held instanceof NumberText)) return [name, held]
      return [name, keys.includes(name) ? held.source : Number(held.source)]
    }),
  )
}

test('R24: paired rows are those of the exact parser, digit by digit; else nothing is changed', () => {
  let paired = 0
  fc.assert(
    fc.property(fc.array(rowText, { maxLength: 6 }), (texts) => {
      const text = `{"data":[${texts.join(',')}]}`
      const { data } = JSON.parse(text) as { data: Row[] }
      if (pairNumbers(text, data, keys)) {
        paired += 1
        const exact = (parseExactJson(text) as { data: Row[] }).data
        assert.deepEqual(data, exact.map(expected))
      } else {
        assert.deepEqual(data, JSON.parse(text).data)
      }
    }),
    { numRuns: 3000 },
  )
  assert(paired > 100, `only ${paired} pages were paired`)
})

test('R24: a page as providers send it is paired', () => {
  const rows = [
    '{"id":"a","amount":1.50,"fee":null}',
    '{"id":"b","amount" : -12345678901234567890.10 ,"fee":0.00}',
    '{"id":"the \\"amount\\":7","fee":1e-7}',
    '{"id":"c","amount":"9.90","fee":1E+2}',
  ]
  const text = `{"data":[${rows.join(',\n')}]}`
  const { data } = JSON.parse(text) as { data: Row[] }
  assert.equal(pairNumbers(text, data, keys), true)
  assert.deepEqual(
    data.map(({ amount, fee }) => [amount, fee]),
    [
      ['1.50', null],
      ['-12345678901234567890.10', '0.00'],
      [undefined, '1e-7'],
      ['9.90', '1E+2'],
    ],
  )
})

test('R24: a key that is spelled with escapes, twice in a row or elsewhere makes pairing fail', () => {
  for (const text of [
    '{"data":[{"am\\u006funt":1.50}]}',
    '{"data":[{"amount":1.5,"amount":1.50}]}',
    '{"data":[{"amount":1.50}],"amount":2}',
    '{"data":[{"part":{"amount":1.50},"amount":1.5}]}',
  ]) {
    const { data } = JSON.parse(text) as { data: Row[] }
    assert.equal(pairNumbers(text, data, keys), false, text)
    assert.deepEqual(data, JSON.parse(text).data)
  }
})
