/** Accounts of a renewed consent: by number, by elimination, and what stays undecided. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, upstreamId } from '#kernel/ids.ts'
import type { KnownAccount, ListedAccount } from '#store/ports/accounts.ts'
import type { NewAccount } from './match-accounts.ts'
import { planAccounts } from './plan-accounts.ts'

function row(name: string, over: Partial<KnownAccount> = {}): KnownAccount {
  return {
    id: newId(),
    upstreamId: upstreamId(name),
    name,
    type: 'transaction',
    accountNumber: null,
    currency: 'AUD',
    hidden: false,
    ...over,
  }
}

function listed(name: string, over: Partial<NewAccount> = {}): NewAccount {
  const { id: _, hidden: __, ...account } = row(name)
  return { ...account, previousUpstreamId: null, ...over }
}

/** `stored→listed` of those that keep their id. */
function tell(rows: readonly KnownAccount[], accounts: readonly NewAccount[]): string[] {
  const { changed } = planAccounts(accounts)(rows, { isRenewed: true })
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  return changed.map(({ id, account }) => `${names.get(id)}→${account.upstreamId}`).toSorted()
}

test('accounts with the same numbers keep their ids under new ones', () => {
  const rows = [row('a', { accountNumber: 'xxxx1111' }), row('b', { accountNumber: 'xxxx2222' })]
  const accounts = [
    listed('y', { accountNumber: 'xxxx2222' }),
    listed('x', { accountNumber: 'xxxx1111' }),
  ]
  assert.deepEqual(tell(rows, accounts), ['a→x', 'b→y'])
})

test('the last account without a number keeps its id by elimination, two of a type do not', () => {
  const rows = [row('a', { accountNumber: 'xxxx1111' }), row('b')]
  const numbered = listed('x', { accountNumber: 'xxxx1111' })
  assert.deepEqual(tell(rows, [numbered, listed('y')]), ['a→x', 'b→y'])
  assert.deepEqual(tell(rows, [numbered, listed('y'), listed('z')]), ['a→x'])
  assert.deepEqual(tell([...rows, row('c')], [numbered, listed('y')]), ['a→x'])
})

test('another type, another currency or another number is another account', () => {
  for (const over of [
    { type: 'loan' },
    { currency: 'NZD' },
    { accountNumber: 'xxxx9999' },
  ] as const) {
    const known = row('a', { accountNumber: 'xxxx1111' })
    assert.deepEqual(tell([known], [listed('x', { accountNumber: 'xxxx1111', ...over })]), [])
  }
})

test('a type or currency that the provider left out this time is no difference', () => {
  const known = row('a', { type: 'savings', currency: 'NZD', accountNumber: 'xxxx1111' })
  const found = listed('x', { accountNumber: 'xxxx1111', assumed: ['type', 'currency'] })
  assert.deepEqual(tell([known], [found]), ['a→x'])
})

test('two accounts with one masked number stay undecided', () => {
  const same = { accountNumber: 'xxxx1111' }
  const rows = [row('a', same), row('b', same)]
  assert.deepEqual(tell(rows, [listed('x', same), listed('y', same)]), [])
  assert.deepEqual(tell(rows, [listed('x', same)]), [])
  assert.deepEqual(tell([row('a', same)], [listed('x', same), listed('y', same)]), [])
})

test('a hidden account returns by its number, after those that were listed, and never by elimination', () => {
  const same = { accountNumber: 'xxxx1111' }
  const gone = row('gone', { ...same, hidden: true })
  assert.deepEqual(tell([gone], [listed('x', same)]), ['gone→x'])
  assert.deepEqual(tell([gone, row('a', same)], [listed('x', same)]), ['a→x'])
  assert.deepEqual(tell([row('gone', { hidden: true })], [listed('x')]), [])
  assert.deepEqual(tell([row('gone', { hidden: true }), row('a')], [listed('x')]), [])
})

test('an account that moved keeps its id by its former one, before numbers count', () => {
  const same = { accountNumber: 'xxxx1111' }
  const rows = [row('a', same), row('b')]
  const moved = listed('x', { previousUpstreamId: upstreamId('b'), ...same })
  assert.deepEqual(tell(rows, [moved, listed('y', same)]), ['a→y', 'b→x'])
})

test('a former id that two accounts name belongs to neither', () => {
  const former = { previousUpstreamId: upstreamId('a') }
  const rows = [row('a', { type: 'loan' })]
  assert.deepEqual(tell(rows, [listed('x', former), listed('y', former)]), [])
})

test('a change of any listed field of a known account is stored', () => {
  const known = row('Everyday', { accountNumber: 'xxxx1234' })
  const { id, hidden: _, ...fields } = known
  const same: NewAccount = { ...fields, previousUpstreamId: null }
  const others: Omit<ListedAccount, 'upstreamId'> = {
    name: 'Savings',
    type: 'savings',
    accountNumber: 'xxxx9999',
    currency: 'NZD',
  }
  const changedBy = (over: object) =>
    planAccounts([{ ...same, ...over }])([known], { isRenewed: false }).changed.map(
      (change) => change.id,
    )
  assert.deepEqual(changedBy({}), [])
  for (const [field, value] of Object.entries(others))
    assert.deepEqual(changedBy({ [field]: value }), [id], field)
})

test('R37: where ids are not stable, an account under a new id is known by its name, in one currency', () => {
  const rows = [row('Checking'), row('Savings'), row('Old', { hidden: true })]
  const accounts = [
    listed('new 1', { name: 'Checking' }),
    listed('new 2', { name: 'Savings', currency: 'CAD' }),
    listed('new 3', { name: 'Old' }),
  ]
  const plan = planAccounts(accounts, { hasUnstableIds: true })(rows, { isRenewed: false })
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  assert.deepEqual(
    plan.changed.map(({ id, account }) => [names.get(id), account.upstreamId]),
    [
      ['Checking', 'new 1'],
      ['Old', 'new 3'],
    ],
  )
  assert.deepEqual(
    plan.added.map(({ upstreamId }) => upstreamId),
    ['new 2'],
  )
  const stable = planAccounts(accounts)(rows, { isRenewed: false })
  assert.equal(stable.added.length, 3)
})

test('two accounts of one name are not told apart by it, and other numbers contradict it', () => {
  const rows = [row('Checking', { accountNumber: 'xxxx1111' }), row('Savings')]
  const accounts = [
    listed('new 1', { name: 'Checking', accountNumber: 'xxxx2222' }),
    listed('new 2', { name: 'Savings' }),
    listed('new 3', { name: 'Savings' }),
  ]
  const plan = planAccounts(accounts, { hasUnstableIds: true })(rows, { isRenewed: false })
  assert.deepEqual([plan.changed, plan.added.length], [[], 3])
})
