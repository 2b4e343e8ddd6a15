import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AccountId, UserId } from '#kernel/ids.ts'
import {
  keyContent,
  keyRows,
  type RowContent,
  toRowContent,
  toTransactionId,
} from './row-identity.ts'

const user = 'user' as UserId
const content: fc.Arbitrary<RowContent> = fc.record({
  account: fc.constantFrom('a' as AccountId, 'b' as AccountId),
  day: fc.constantFrom('2026-11-01', '2026-11-02'),
  parts: fc.array(fc.string({ maxLength: 3 }), { minLength: 1, maxLength: 3 }),
})
const idsOf = (rows: readonly RowContent[]) =>
  keyRows(rows, { contentOf: toRowContent }).map((key) => toTransactionId('up', user, key))

test('R37: an id is made of the provider and 26 letters and digits', () => {
  fc.assert(
    fc.property(content, (row) => {
      const [key = ''] = keyRows([row], { contentOf: toRowContent })
      assert.match(toTransactionId('akahu', user, key), /^akahu_tx_[0-9a-hjkmnp-tv-z]{26}$/)
    }),
  )
})

test('R37: a row keeps the id that it was given by the first version', () => {
  const row = { account: 'a' as AccountId, day: '2026-11-01', parts: ['-1.00', 'EUR', 'Coffee'] }
  assert.deepEqual(idsOf([row, row]), [
    'up_tx_x64kceczm22rrbs9y3j7p03jg9',
    'up_tx_nq2vam6tje0pg1kfm8f1y6d3bq',
  ])
})

test('R37: the same rows have the same ids whenever they are read, and no two rows have the same', () => {
  fc.assert(
    fc.property(fc.array(content, { maxLength: 30 }), (rows) => {
      const ids = idsOf(rows)
      assert.deepEqual(idsOf(rows), ids)
      assert.equal(new Set(ids).size, rows.length)
    }),
  )
})

test('R37: rows that come or go between others change no id of another content', () => {
  fc.assert(
    fc.property(fc.array(content, { maxLength: 20 }), content, (rows, more) => {
      const others = rows.filter((row) => JSON.stringify(row) !== JSON.stringify(more))
      assert.deepEqual(idsOf([more, ...others]).slice(1), idsOf(others))
    }),
  )
})

test('R37: equal rows that differ in something else are numbered in the same way in every order', () => {
  const row = fc.record({ text: fc.constantFrom('a', 'b'), payee: fc.string({ maxLength: 2 }) })
  const look = {
    contentOf: ({ text }: { text: string }) => [text],
    placeOf: ({ payee }: { payee: string }) => [payee],
  }
  fc.assert(
    fc.property(fc.uniqueArray(row, { selector: JSON.stringify, maxLength: 12 }), (rows) => {
      const named = (list: typeof rows) =>
        new Map(keyRows(list, look).map((key, at) => [JSON.stringify(list[at]), key]))
      const before = named(rows)
      for (const [name, key] of named(rows.toReversed())) assert.equal(before.get(name), key)
    }),
  )
})

test('R37: a row whose number is known has the key that it has among the others', () => {
  fc.assert(
    fc.property(content, fc.integer({ min: 1, max: 5 }), (row, ordinal) => {
      const keys = keyRows(new Array<RowContent>(ordinal).fill(row), { contentOf: toRowContent })
      const { account, day, parts } = row
      assert.equal(keyContent(account, JSON.stringify([day, ...parts]), ordinal), keys.at(-1))
    }),
  )
})

test('R37: another user has another id for the same content', () => {
  fc.assert(
    fc.property(fc.string(), (key) => {
      const ids = ['one', 'two'].map((id) => toTransactionId('up', id as UserId, key))
      assert.notEqual(ids[0], ids[1])
    }),
  )
})
