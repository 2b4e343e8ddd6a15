/** The comparison with the ledger, checked against a plain model of a provider's rows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AccountId } from '#kernel/ids.ts'
import type { LedgerMonth, MonthNumber } from '#store/ports/ledgers.ts'
import { type AccountLedger, openAccountLedger } from './account-ledger.ts'
import { makeFingerprints } from './fingerprints.ts'
import { decodeLedger, makeEntries } from './ledger-code.ts'

const account = '1b4e28ba-2fa1-41d2-883f-0016d3cca427' as AccountId
const prints = makeFingerprints(new Uint8Array(32).fill(7), account)
const before: MonthNumber = 0

/** The months as a store keeps them. */
class Kept {
  readonly months = new Map<MonthNumber, LedgerMonth>()
  open(contentVersion = 1): AccountLedger {
    const months = [...this.months.values()]
    return openAccountLedger({ accountId: account, prints, months, contentVersion })
  }
  write(months: readonly LedgerMonth[]): void {
    for (const one of months) this.months.set(one.month, one)
  }
  count(): number {
    const all = makeEntries()
    for (const { entries } of this.months.values()) decodeLedger(entries, all)
    return all.gone.length
  }
}

interface Row {
  readonly id: string
  readonly content: string
  readonly month: MonthNumber
  readonly formerId?: string
}

/** One sync of rows that were all read. */
function sync(kept: Kept, rows: readonly Row[], { contentVersion = 1, readFrom = before } = {}) {
  const ledger = kept.open(contentVersion)
  const sightings = rows.map((row) => ledger.meet({ formerId: null, ...row }))
  const { gone, returned, ...changes } = ledger.close(readFrom)
  const months = [...changes.months]
  kept.write(months)
  return { sightings, months, gone, returned }
}

const rowsOf = fc.uniqueArray(
  fc.record({
    id: fc.integer({ min: 0, max: 12 }).map(String),
    content: fc.constantFrom('a', 'b', 'c'),
    month: fc.integer({ min: 1, max: 3 }),
  }),
  { selector: ({ id }) => id, maxLength: 12 },
)

test('R34a: over any history of a provider, each row is new once, updated when its content changed, and else known', () => {
  fc.assert(
    fc.property(fc.array(rowsOf, { minLength: 1, maxLength: 8 }), (history) => {
      const kept = new Kept()
      const model = new Map<string, { content: string; isGone: boolean }>()
      for (const rows of history) {
        const expected = rows.map(({ id, content }) => {
          const known = model.get(id)
          return known === undefined ? 'new' : known.content === content ? 'known' : 'updated'
        })
        const back = rows.filter(({ id }) => model.get(id)?.isGone === true).length
        const ids = new Set(rows.map(({ id }) => id))
        const lost = [...model].filter(([id, one]) => !one.isGone && !ids.has(id))
        for (const [, one] of lost) one.isGone = true
        for (const { id, content } of rows) model.set(id, { content, isGone: false })
        const { sightings, gone, returned } = sync(kept, rows)
        assert.deepEqual(sightings, expected)
        assert.equal(gone, lost.length)
        assert.equal(returned, back)
        assert.equal(kept.count(), model.size)
      }
    }),
  )
})

test('a sync without a change writes nothing', () => {
  fc.assert(
    fc.property(rowsOf, (rows) => {
      const kept = new Kept()
      sync(kept, rows)
      assert.deepEqual(sync(kept, rows.toReversed()).months, [])
    }),
  )
})

test('a row that moved to another day is looked up in every month, and is kept once', () => {
  const kept = new Kept()
  sync(kept, [{ id: 'x', content: 'a', month: 5 }])
  assert.deepEqual(sync(kept, [{ id: 'x', content: 'a2', month: 6 }]).sightings, ['updated'])
  assert.equal(kept.count(), 1)
  assert.deepEqual(sync(kept, [{ id: 'x', content: 'a2', month: 6 }]).sightings, ['known'])
})

test('rows of months that were not read completely do not count as gone', () => {
  const kept = new Kept()
  const rows = [3, 4, 5].map((month) => ({ id: `of ${month}`, content: 'a', month }))
  sync(kept, rows)
  assert.equal(sync(kept, [], { readFrom: 4 }).gone, 1)
})

test('a row that is gone is counted once, and is known when it returns', () => {
  const kept = new Kept()
  const row = { id: 'x', content: 'a', month: 5 }
  sync(kept, [row])
  assert.equal(sync(kept, []).gone, 1)
  assert.deepEqual(sync(kept, []), { sightings: [], months: [], gone: 0, returned: 0 })
  const back = sync(kept, [row])
  assert.deepEqual([back.sightings, back.returned], [['known'], 1])
  assert.equal(sync(kept, []).gone, 1)
  assert.deepEqual(sync(kept, [{ ...row, content: 'b' }]).sightings, ['updated'])
})

test('another list of fields makes no row count as updated, neither now nor later', () => {
  const kept = new Kept()
  const rows = ['x', 'y'].map((id) => ({ id, content: `old ${id}`, month: 5 }))
  sync(kept, rows)
  const x = { id: 'x', content: 'other fields of x', month: 5 }
  const y = { id: 'y', content: 'other fields of y', month: 5 }
  // The month is written anew although y was not met this time.
  const next = { contentVersion: 2, readFrom: 5 }
  assert.deepEqual(sync(kept, [x], next).sightings, ['known'])
  assert.deepEqual(sync(kept, [x, y], next).sightings, ['known', 'known'])
  assert.deepEqual(sync(kept, [{ ...y, content: 'changed' }], next).sightings, ['updated'])
})

test('R35: a row that its provider moved to another id is known under the new id and no longer under the former', () => {
  const kept = new Kept()
  sync(kept, [{ id: 'old', content: 'a', month: 5 }])
  const moved = { id: 'new', content: 'a', month: 5, formerId: 'old' }
  const first = sync(kept, [moved])
  assert.deepEqual([first.sightings, first.gone], [['known'], 0])
  assert.deepEqual(sync(kept, [moved]).sightings, ['known'])
  assert.deepEqual(sync(kept, [{ ...moved, content: 'b' }]).sightings, ['updated'])
  assert.equal(kept.count(), 1)
})

test('a former id that the provider still sends is a row of its own', () => {
  const kept = new Kept()
  const old = { id: 'old', content: 'a', month: 5 }
  sync(kept, [old])
  const moved = { id: 'new', content: 'a', month: 5, formerId: 'old' }
  assert.deepEqual(sync(kept, [old, moved]).sightings, ['known', 'new'])
})

test('R35: fingerprints depend on the key, and on the account', () => {
  const others = makeFingerprints(new Uint8Array(32).fill(8), account)
  const elsewhere = makeFingerprints(
    new Uint8Array(32).fill(7),
    '2c4e28ba-2fa1-41d2-883f-0016d3cca427' as AccountId,
  )
  assert.notDeepEqual(prints.idOf('x'), others.idOf('x'))
  assert.notDeepEqual(prints.contentOf('x', 'a'), others.contentOf('x', 'a'))
  assert.notDeepEqual(prints.idOf('x'), elsewhere.idOf('x'))
  assert.notDeepEqual(prints.contentOf('x', 'a'), elsewhere.contentOf('x', 'a'))
  assert.deepEqual(prints.idOf('x'), prints.idOf('x'))
})

test('R35: what the ledger keeps contains neither id nor content', () => {
  const kept = new Kept()
  sync(kept, [{ id: 'canary-id', content: 'canary-content', month: 5 }])
  const bytes = Buffer.concat([...kept.months.values()].map(({ entries }) => entries))
  assert.equal(bytes.length, 18)
  for (const canary of ['canary-id', 'canary-content']) assert.equal(bytes.includes(canary), false)
})
