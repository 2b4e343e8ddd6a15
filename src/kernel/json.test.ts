/**
 * Checks that numbers keep their source text, and that the fast parser agrees with the exact one (reading
 * R24).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import {
  makeNumberQuoter,
  NumberText,
  parseExactJson,
  parseWithBigIntegers,
  toExactInteger,
} from './json.ts'

const source = (value: unknown) => (value instanceof NumberText ? value.source : value)

test('R24: a number token is read as the text that was sent, at any depth', () => {
  const read = parseExactJson('{"a":[1.10,-0.0,1E+2,{"b":12345678901234567890.12}],"c":"1.10"}')
  const { a, c } = read as { a: [unknown, unknown, unknown, { b: unknown }]; c: unknown }
  assert.deepEqual([a[0], a[1], a[2], a[3].b, c].map(source), [
    '1.10',
    '-0.0',
    '1E+2',
    '12345678901234567890.12',
    '1.10',
  ])
  assert.equal(source(parseExactJson('7.0')), '7.0')
})

test('text that is not JSON is refused by both parsers', () => {
  const quote = makeNumberQuoter(['amount'])
  for (const text of [
    '',
    '{',
    '{"amount":01}',
    '{"amount":1.}',
    '{"amount":+1}',
    '{"amount":.5}',
  ]) {
    assert.throws(() => parseExactJson(text), SyntaxError, text)
    assert.throws(() => quote(text), SyntaxError, text)
  }
})

test('R24: the quick parser quotes the numbers of its keys and nothing else', () => {
  const quote = makeNumberQuoter(['amount', 'balance', 'available-balance'])
  const text =
    '{ "amount" : 1.50 , "balance":-2e3,"count":3,"amounts":4,"x":["amount",5],"amount2":6,"available-balance":1.10}'
  assert.deepEqual(quote(text), {
    amount: '1.50',
    balance: '-2e3',
    count: 3,
    amounts: 4,
    x: ['amount', 5],
    amount2: 6,
    'available-balance': '1.10',
  })
})

test('R24: a string that holds what looks like a key and its number is left as it is', () => {
  const quote = makeNumberQuoter(['amount'])
  const document = {
    note: '"amount":1,',
    'odd"amount': 2,
    'odd\\': { amount: 'x' },
    list: ['{"amount": 3}', '\\"amount\\":4}'],
  }
  assert.deepEqual(quote(JSON.stringify(document)), document)
})

test('a key that is spelled with escapes stays a number: callers see that and parse exactly', () => {
  assert.deepEqual(makeNumberQuoter(['amount'])('{"\\u0061mount":1.50}'), { amount: 1.5 })
})

const blank = fc.constantFrom('', ' ', '\n', '\t ')
const number = fc.stringMatching(/^-?(?:0|[1-9]\d{0,22})(?:\.\d{1,22})?(?:[eE][+-]?\d{1,3})?$/)
const nasty = fc.constantFrom(
  '"amount":1',
  '","amount":2,"',
  '\\","amount":3}',
  'x"amount',
  'amount',
  '\\',
  '\u2028"amount" : 4 }',
)
const string = fc
  .oneof(nasty, fc.string({ unit: anyCharacter }))
  .map((text) => JSON.stringify(text))
const key = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('"amount"', '"balance"', '"amounts"', '"Amount"') },
  // Without backslashes: V8 14.6 confuses an escaped key with one that is a single backslash after the same
  // keys.
  { weight: 1, arbitrary: string.filter((text) => !JSON.parse(text).includes('\\')) },
)

/** JSON texts rather than values, because the spelling of numbers and blanks is what is tested. */
const { documents } = fc.letrec<{ documents: string; value: string }>((tie) => ({
  documents: fc
    .array(fc.tuple(key, blank, blank, tie('value'), blank), { maxLength: 5 })
    .map((members) => {
      const distinct = new Map(members.map((member) => [JSON.parse(member[0]), member]))
      const texts = [...distinct.values()].map(
        ([name, a, b, value, c]) => `${name}${a}:${b}${value}${c}`,
      )
      return `{${texts.join(',')}}`
    }),
  value: fc.oneof(
    { depthSize: 'small' },
    number,
    string,
    fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
    tie('documents'),
  ),
}))

/** The result expected of the fast parser, derived from the exact parser. */
function expected(value: unknown, ownKey: string | null): unknown {
  if (value instanceof NumberText) {
    return ownKey === 'amount' || ownKey === 'balance' ? value.source : Number(value.source)
  }
  if (Array.isArray(value)) return value.map((item) => expected(item, null))
  if (typeof value !== 'object' || value === null) return value
  const parts = Object.entries(value).map(([name, part]) => [name, expected(part, name)])
  return Object.fromEntries(parts)
}

test('R24: on any document the quick parser agrees with the exact one', () => {
  const quote = makeNumberQuoter(['amount', 'balance'])
  fc.assert(
    fc.property(documents, (text) => {
      assert.deepEqual(quote(text), expected(parseExactJson(text), null))
    }),
    { numRuns: 2000 },
  )
})

test('an integer is written with every digit, however large', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), (value) => {
      assert.equal(JSON.stringify({ amount: toExactInteger(value) }), `{"amount":${value}}`)
    }),
  )
})

test('an integer is read with every digit, as a number while that is exact; all else as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), (value) => {
      const read = parseWithBigIntegers(`{"amount":${value}}`) as { amount: number | bigint }
      assert.equal(BigInt(read.amount), value)
      assert.equal(typeof read.amount === 'number', Number.isSafeInteger(Number(value)))
      assert.deepEqual(parseWithBigIntegers(`[0.5,1e300,"${value}",null]`), [
        0.5,
        1e300,
        String(value),
        null,
      ])
    }),
  )
})
