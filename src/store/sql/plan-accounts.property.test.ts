import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newId, upstreamId } from '#kernel/ids.ts'
import type { NewAccount } from '../ports/accounts.ts'
import { type KnownAccount, planAccounts } from './plan-accounts.ts'

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e').map(upstreamId)
const account: fc.Arbitrary<NewAccount> = fc.record({
  upstreamId: name,
  previousUpstreamId: fc.option(name),
  name: fc.constantFrom('Everyday', 'Bills'),
  type: fc.constantFrom('savings', 'loan'),
  accountNumber: fc.constant(null),
  currency: fc.constant('NZD'),
})
const known: fc.Arbitrary<readonly KnownAccount[]> = fc
  .uniqueArray(
    fc.record({
      upstreamId: name,
      name: fc.constantFrom('Everyday', 'Bills'),
      type: fc.constantFrom('savings', 'loan'),
      hidden: fc.boolean(),
    }),
    { selector: (row) => row.upstreamId },
  )
  .map((rows) => rows.map((row) => ({ ...row, id: newId(), accountNumber: null, currency: 'NZD' })))

/** The rows of the table after a plan is applied. */
function apply(rows: readonly KnownAccount[], accounts: readonly NewAccount[]): KnownAccount[] {
  const plan = planAccounts(rows, accounts)
  const changed = new Map(plan.changed.map(({ id, account: to }) => [id, to]))
  const hidden = new Set(plan.hidden)
  const toRow = ({ previousUpstreamId: _, ...columns }: NewAccount) => ({
    ...columns,
    hidden: false,
  })
  return [
    ...rows.map((row) => {
      const to = changed.get(row.id)
      if (to !== undefined) return { ...row, ...toRow(to) }
      return hidden.has(row.id) ? { ...row, hidden: true } : row
    }),
    ...plan.added.map((to) => ({ id: newId(), ...toRow(to) }) as KnownAccount),
  ]
}

test('after a plan exactly the given accounts are visible, and every upstream id occurs once', () => {
  fc.assert(
    fc.property(known, fc.array(account), (rows, accounts) => {
      const after = apply(rows, accounts)
      const visible = after.filter((row) => !row.hidden).map((row) => row.upstreamId)
      assert.deepEqual(
        visible.toSorted(),
        [...new Set(accounts.map((to) => to.upstreamId))].toSorted(),
      )
      assert.equal(new Set(after.map((row) => row.upstreamId)).size, after.length)
    }),
  )
})

test('no row is ever dropped, and one that is named by its present id keeps ours', () => {
  fc.assert(
    fc.property(known, fc.array(account), (rows, accounts) => {
      const after = new Map(apply(rows, accounts).map((row) => [row.id, row]))
      const named = new Set(accounts.map((to) => to.upstreamId))
      for (const row of rows) {
        const kept = after.get(row.id)
        assert.ok(kept)
        if (named.has(row.upstreamId)) assert.equal(kept.upstreamId, row.upstreamId)
      }
    }),
  )
})

test('the same list a second time changes nothing', () => {
  fc.assert(
    fc.property(known, fc.array(account), (rows, accounts) => {
      const settled = accounts.map((to) => ({ ...to, previousUpstreamId: null }))
      const again = planAccounts(apply(rows, settled), settled)
      assert.deepEqual(again, { added: [], changed: [], hidden: [] })
    }),
  )
})
