import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '#auth/caller.ts'
import type { Store } from '#store/ports/store.ts'
import { makeMigratedPlace } from '#tests/contract/store/place.ts'
import { addLink, newAccount, replaceAccounts } from '#tests/contract/store/rows.ts'
import { findReadTarget } from './target.ts'

test('R16b, R19: the accounts of a connection have one order, whatever order the store has them in', async (t) => {
  const place = makeMigratedPlace()
  const store = await place.open()
  t.after(async () => {
    await store.close()
    await place.remove()
  })
  const { user, connection } = await addLink(store)
  const names = ['Savings', 'bills', 'Everyday', 'Savings', 'Émile']
  await replaceAccounts(
    store,
    connection.id,
    names.map((name) => newAccount({ name })),
  )
  const caller = { userId: user.id } as Caller
  const rows = await store.accounts.listByConnection(user.id, connection.id)
  const orders = [rows, rows.toReversed(), [...rows.slice(2), ...rows.slice(0, 2)]]
  const found = await Promise.all(
    orders.map((order) => {
      const accounts = { ...store.accounts, listByConnection: async () => order }
      const other: Store = { ...store, accounts }
      return findReadTarget(other, caller, { connectionId: connection.id }, 'banking')
    }),
  )
  const ids = found.map(({ accounts }) => accounts.map(({ id }) => id))
  assert.deepEqual(ids, [ids[0], ids[0], ids[0]])
  assert.deepEqual(
    found[0]?.accounts.map(({ name }) => name),
    ['bills', 'Émile', 'Everyday', 'Savings', 'Savings'],
  )
})
