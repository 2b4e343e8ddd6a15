/** The bytes of the ledger: what is written is read again, whatever it is, and takes little room. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  decodeLedger,
  encodeLedger,
  type LedgerEntries,
  LedgerFormatError,
  makeEntries,
  type RowFingerprint,
  unmark,
} from './ledger-code.ts'

interface Entry {
  readonly id: RowFingerprint
  readonly content: RowFingerprint
  readonly isGone: boolean
}

const print = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const entry = fc.record(
  { id: print, content: print.map(unmark), isGone: fc.boolean() },
  { noNullPrototype: true },
)
const entries: fc.Arbitrary<Entry[]> = fc.uniqueArray(entry, {
  selector: ({ id }) => id,
  maxLength: 60,
})
const byId = (left: Entry, right: Entry) => (left.id < right.id ? -1 : 1)

function toColumns(given: readonly Entry[]): LedgerEntries {
  const columns = makeEntries()
  for (const { id, content, isGone } of given) {
    columns.ids.push(id)
    columns.contents.push(content)
    columns.gone.push(isGone)
  }
  return columns
}

const encode = (given: readonly Entry[], contentVersion = 1): Uint8Array =>
  encodeLedger(toColumns(given), [...given.keys()], contentVersion)

test('R35: every entry is read as it was written, sorted by id, after the entries before it', () => {
  fc.assert(
    fc.property(entries, entry, fc.nat({ max: 255 }), (given, before, contentVersion) => {
      const columns = toColumns([before])
      assert.equal(decodeLedger(encode(given, contentVersion), columns), contentVersion)
      assert.deepEqual(columns, toColumns([before, ...given.toSorted(byId)]))
    }),
  )
})

test('only the chosen rows are encoded', () => {
  fc.assert(
    fc.property(entries, (given) => {
      const chosen = [...given.keys()].filter((row) => row % 2 === 1)
      const bytes = encodeLedger(toColumns(given), chosen, 1)
      assert.deepEqual(bytes, encode(given.filter((_, row) => row % 2 === 1)))
    }),
  )
})

test('the same entries have the same bytes, in whatever order they came', () => {
  fc.assert(
    fc.property(entries, (given) => {
      assert.deepEqual(encode(given.toReversed()), encode(given))
    }),
  )
})

test('R35: the bytes of a month are those that stored ledgers have', () => {
  const bytes = Buffer.from(
    '02070102030405060708111213141516171891929394959697989a9b9c9d9e9fa0a1',
    'hex',
  )
  const columns = makeEntries()
  assert.equal(decodeLedger(bytes, columns), 7)
  assert.deepEqual(columns, {
    ids: [0x01020304_05060708n, 0x91929394_95969798n],
    contents: [0x11121314_15161718n, 0x9a9b9c9d_9e9fa0a0n],
    gone: [false, true],
  })
  assert.deepEqual(Buffer.from(encodeLedger(columns, [1, 0], 7)), bytes)
})

test('R35: a row takes at most 18 bytes, the header counted', () => {
  fc.assert(
    fc.property(entries, (given) => {
      assert.ok(encode(given).length <= Math.max(18 * given.length, 18))
    }),
  )
})

test('bytes of another format, and bytes that were cut, are refused', () => {
  const bytes = encode([{ id: 1n, content: 2n, isGone: false }])
  const newer = Uint8Array.from(bytes)
  newer[0] = 3
  for (const bad of [new Uint8Array(), bytes.subarray(0, 1), bytes.subarray(0, 12), newer]) {
    assert.throws(() => decodeLedger(bad, makeEntries()), LedgerFormatError)
  }
})
