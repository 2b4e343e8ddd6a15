import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newId, upstreamId } from '#kernel/ids.ts'
import type { KnownAccount, ListedAccount } from '#store/ports/accounts.ts'
import type { NewAccount } from './match-accounts.ts'
import { planAccounts } from './plan-accounts.ts'

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e').map(upstreamId)
const number = fc.constantFrom(null, 'xxxx1111', 'xxxx2222')
const account: fc.Arbitrary<NewAccount> = fc.record({
  upstreamId: name,
  previousUpstreamId: fc.option(name),
  name: fc.constantFrom('Everyday', 'Bills'),
  type: fc.constantFrom('savings', 'loan'),
  accountNumber: number,
  currency: fc.constant('NZD'),
})
const known: fc.Arbitrary<readonly KnownAccount[]> = fc
  .uniqueArray(
    fc.record({
      upstreamId: name,
      name: fc.constantFrom('Everyday', 'Bills'),
      type: fc.constantFrom('savings', 'loan'),
      accountNumber: number,
      hidden: fc.boolean(),
    }),
    { selector: (row) => row.upstreamId },
  )
  .map((rows) => rows.map((row) => ({ ...row, id: newId(), currency: 'NZD' })))

/** The rows of the table after a plan is applied. */
function apply(
  rows: readonly KnownAccount[],
  accounts: readonly NewAccount[],
  isRenewed = false,
): KnownAccount[] {
  const plan = planAccounts(accounts)(rows, { isRenewed })
  const changed = new Map(plan.changed.map(({ id, account: to }) => [id, to]))
  const hidden = new Set(plan.hidden)
  const toRow = ({ upstreamId, name, type, accountNumber, currency }: ListedAccount) => {
    return { upstreamId, name, type, accountNumber, currency, hidden: false }
  }
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
    fc.property(known, fc.array(account), fc.boolean(), (rows, accounts, isRenewed) => {
      const after = apply(rows, accounts, isRenewed)
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
    fc.property(known, fc.array(account), fc.boolean(), (rows, accounts, isRenewed) => {
      const after = new Map(apply(rows, accounts, isRenewed).map((row) => [row.id, row]))
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
      const again = planAccounts(settled)(apply(rows, settled), { isRenewed: false })
      assert.deepEqual(again, { added: [], changed: [], hidden: [] })
    }),
  )
})

const formerId = (accounts: readonly NewAccount[], { upstreamId }: ListedAccount) =>
  accounts.find((one) => one.upstreamId === upstreamId)?.previousUpstreamId

const listOf = fc.uniqueArray(account, { selector: ({ upstreamId: id }) => id })

test('after a renewal no two accounts share an id, and no id goes to an account of another number', () => {
  fc.assert(
    fc.property(known, listOf, (rows, accounts) => {
      const { changed } = planAccounts(accounts)(rows, { isRenewed: true })
      assert.equal(new Set(changed.map(({ id }) => id)).size, changed.length)
      for (const { id, account: to } of changed) {
        const row = rows.find((one) => one.id === id)
        assert.ok(row)
        if ([to.upstreamId, formerId(accounts, to)].includes(row.upstreamId)) continue
        assert.equal(row.type, to.type)
        if (row.accountNumber !== null && to.accountNumber !== null) {
          assert.equal(row.accountNumber, to.accountNumber)
        }
      }
    }),
  )
})

test('which ids accounts keep does not depend on the order of either list', () => {
  const tell = (rows: readonly KnownAccount[], accounts: readonly NewAccount[]) => {
    const { changed, hidden, added } = planAccounts(accounts)(rows, { isRenewed: true })
    const pairs = changed.map(({ id, account: to }) => `${id}→${to.upstreamId}`).toSorted()
    return [pairs, hidden.toSorted(), added.map((to) => to.upstreamId).toSorted()]
  }
  const shuffled = fc
    .tuple(known, listOf)
    .chain(([rows, accounts]) =>
      fc.tuple(
        fc.constant({ rows, accounts }),
        fc.shuffledSubarray([...rows], { minLength: rows.length }),
        fc.shuffledSubarray(accounts, { minLength: accounts.length }),
      ),
    )
  fc.assert(
    fc.property(shuffled, ([{ rows, accounts }, otherRows, otherAccounts]) => {
      assert.deepEqual(tell(otherRows, otherAccounts), tell(rows, accounts))
    }),
  )
})

test('without a renewal an id goes by the ids of the provider only', () => {
  fc.assert(
    fc.property(known, listOf, (rows, accounts) => {
      for (const { id, account: to } of planAccounts(accounts)(rows, { isRenewed: false })
        .changed) {
        const row = rows.find((one) => one.id === id)
        assert.ok(row && [to.upstreamId, formerId(accounts, to)].includes(row.upstreamId))
      }
    }),
  )
})
