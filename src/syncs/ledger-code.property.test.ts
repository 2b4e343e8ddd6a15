/** The bytes of the ledger: what is written is read again, whatever it is, and takes little room. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  contentBytes,
  decodeLedger,
  encodeLedger,
  idBytes,
  type LedgerEntry,
  LedgerFormatError,
} from './ledger-code.ts'

const latin1 = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((bytes) => Buffer.from(bytes).toString('latin1'))

const content = latin1(contentBytes).map(
  (text) => text.slice(0, -1) + String.fromCharCode(text.charCodeAt(contentBytes - 1) & ~1),
)
const entries: fc.Arbitrary<LedgerEntry[]> = fc.uniqueArray(
  fc.record({ id: latin1(idBytes), content, isGone: fc.boolean() }, { noNullPrototype: true }),
  { selector: ({ id }) => id, maxLength: 60 },
)
const byId = (left: LedgerEntry, right: LedgerEntry) => (left.id < right.id ? -1 : 1)

test('R35: every entry is read as it was written, sorted by id', () => {
  fc.assert(
    fc.property(entries, fc.nat({ max: 255 }), (given, contentVersion) => {
      const blob = decodeLedger(encodeLedger({ contentVersion, entries: given }))
      assert.equal(blob.contentVersion, contentVersion)
      assert.deepEqual(blob.entries, given.toSorted(byId))
    }),
  )
})

test('the same entries have the same bytes, in whatever order they came', () => {
  fc.assert(
    fc.property(entries, (given) => {
      const once = encodeLedger({ contentVersion: 1, entries: given })
      const again = encodeLedger({ contentVersion: 1, entries: given.toReversed() })
      assert.deepEqual(Buffer.from(again), Buffer.from(once))
    }),
  )
})

test('R35: a row takes at most 18 bytes, the header counted', () => {
  fc.assert(
    fc.property(entries, (given) => {
      const { length } = encodeLedger({ contentVersion: 1, entries: given })
      assert.ok(length <= Math.max(18 * given.length, 18))
    }),
  )
})

test('bytes of another format, and bytes that were cut, are refused', () => {
  const bytes = encodeLedger({
    contentVersion: 1,
    entries: [{ id: 'i'.repeat(idBytes), content: 'b'.repeat(contentBytes), isGone: false }],
  })
  const newer = Uint8Array.from(bytes)
  newer[0] = 3
  for (const bad of [new Uint8Array(), bytes.subarray(0, 1), bytes.subarray(0, 12), newer]) {
    assert.throws(() => decodeLedger(bad), LedgerFormatError)
  }
})
