/** The contract of the port for accounts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { StoreOf } from './place.ts'
import { addLink, newAccount, newConnection, now, replaceAccounts, someUpstreamId } from './rows.ts'

const byName = (rows: readonly AccountRow[]) => rows.toSorted((a, b) => (a.name < b.name ? -1 : 1))
const idsByName = (rows: readonly AccountRow[]) =>
  Object.fromEntries(rows.map((row) => [row.name, row.id]))

export function testAccounts(store: StoreOf): void {
  test('accounts come back with the provider and institution of their connection', async () => {
    const { user, connection } = await addLink(store())
    const given = newAccount({ type: 'credit-card', accountNumber: null, currency: 'JPY' })
    const [row, ...more] = await replaceAccounts(store(), connection.id, [given])
    assert.deepEqual(more, [])
    assert.deepEqual(row, {
      id: row?.id,
      connectionId: connection.id,
      userId: user.id,
      provider: connection.provider,
      institutionName: connection.institutionName,
      upstreamId: given.upstreamId,
      name: given.name,
      type: 'credit-card',
      accountNumber: null,
      currency: 'JPY',
    })
    assert.deepEqual(await store().accounts.list(user.id), [row])
    assert.deepEqual(await store().accounts.listByConnection(user.id, connection.id), [row])
  })

  test('replacing keeps the id of a known account, whatever its name, and stores its changes', async () => {
    const { connection } = await addLink(store())
    const [a, b] = [newAccount({ name: 'a' }), newAccount({ name: 'b' })]
    const first = idsByName(await replaceAccounts(store(), connection.id, [a, b]))
    const renamed = { ...b, name: 'c', type: 'savings', currency: 'AUD' } as const
    const second = byName(await replaceAccounts(store(), connection.id, [renamed, a]))
    assert.deepEqual(idsByName(second), { a: first.a, c: first.b })
    assert.deepEqual([second[1]?.type, second[1]?.currency], ['savings', 'AUD'])
  })

  test('an account that the provider moved keeps its id, by its former one', async () => {
    const { connection } = await addLink(store())
    const old = newAccount()
    const [before] = await replaceAccounts(store(), connection.id, [old])
    const moved = newAccount({ previousUpstreamId: old.upstreamId })
    for (let time = 0; time < 2; time += 1) {
      const rows = await replaceAccounts(store(), connection.id, [moved])
      assert.deepEqual(rows, [{ ...before, upstreamId: moved.upstreamId }])
    }
  })

  test('a former id leads to one account only, and a present id comes before it', async () => {
    const { connection } = await addLink(store())
    const old = newAccount({ name: 'old' })
    const first = idsByName(await replaceAccounts(store(), connection.id, [old]))
    const one = newAccount({ name: 'one', previousUpstreamId: old.upstreamId })
    const two = newAccount({ name: 'two', previousUpstreamId: old.upstreamId })
    const kept = idsByName(await replaceAccounts(store(), connection.id, [one, old, two]))
    assert.equal(kept.old, first.old)
    assert.equal(new Set(Object.values(kept)).size, 3)
  })

  test('a missing account is hidden and gets its id back when it returns', async () => {
    const { user, connection } = await addLink(store())
    const [a, b] = [newAccount({ name: 'a' }), newAccount({ name: 'b' })]
    const first = idsByName(await replaceAccounts(store(), connection.id, [a, b]))
    assert.deepEqual(idsByName(await replaceAccounts(store(), connection.id, [a])), {
      a: first.a,
    })
    assert.deepEqual(idsByName(await store().accounts.list(user.id)), { a: first.a })
    assert.deepEqual(await replaceAccounts(store(), connection.id, []), [])
    assert.deepEqual(idsByName(await replaceAccounts(store(), connection.id, [b, a])), first)
  })

  test('the first accounts after a renewal of the consent keep their ids by number, later ones do not', async () => {
    const { connection } = await addLink(store())
    const [a, b] = [newAccount({ name: 'a' }), newAccount({ name: 'b', accountNumber: null })]
    const first = idsByName(await replaceAccounts(store(), connection.id, [a, b]))
    const renewed = () => [
      { ...b, upstreamId: someUpstreamId() },
      { ...a, upstreamId: someUpstreamId() },
    ]
    await store().connections.repoint(connection.id, someUpstreamId())
    const accounts = renewed()
    assert.deepEqual(idsByName(await replaceAccounts(store(), connection.id, accounts)), first)
    assert.deepEqual(idsByName(await replaceAccounts(store(), connection.id, accounts)), first)
    await store().connections.noteRenewal(connection.id)
    assert.deepEqual(idsByName(await replaceAccounts(store(), connection.id, renewed())), first)
    const later = idsByName(await replaceAccounts(store(), connection.id, renewed()))
    assert.deepEqual([later.a === first.a, later.b === first.b], [false, false])
  })

  test('accounts that arrive later after a renewal keep their ids by number until its end, never by elimination', async () => {
    const { connection } = await addLink(store())
    const a = newAccount({ name: 'a', accountNumber: 'xxxx1111' })
    const b = newAccount({ name: 'b', accountNumber: 'xxxx2222' })
    const c = newAccount({ name: 'c', type: 'loan', accountNumber: null })
    const first = idsByName(await replaceAccounts(store(), connection.id, [a, b, c]))
    const renewed = [a, b, c].map((one) => ({ ...one, upstreamId: someUpstreamId() }))
    const list = async (count: number, at: number) =>
      idsByName(await replaceAccounts(store(), connection.id, renewed.slice(0, count), { at }))
    await store().connections.noteRenewal(connection.id, { until: now + 1000 })
    assert.deepEqual(await list(1, now), { a: first.a })
    assert.deepEqual(await list(2, now + 999), { a: first.a, b: first.b })
    const all = await list(3, now + 999)
    assert.deepEqual([all.a, all.b, all.c === first.c], [first.a, first.b, false])
    const anew = renewed.map((one) => ({ ...one, upstreamId: someUpstreamId() }))
    const after = await replaceAccounts(store(), connection.id, anew, { at: now + 1000 })
    const old = new Set(Object.values(first))
    assert.ok(after.every(({ id }) => !old.has(id)))
  })

  test('an account that moved while it was hidden gets its id back too', async () => {
    const { connection } = await addLink(store())
    const old = newAccount()
    const [before] = await replaceAccounts(store(), connection.id, [old])
    await replaceAccounts(store(), connection.id, [])
    const moved = newAccount({ previousUpstreamId: old.upstreamId })
    const [back] = await replaceAccounts(store(), connection.id, [moved])
    assert.equal(back?.id, before?.id)
  })

  test('of two entries with one upstream id the last counts', async () => {
    const { connection } = await addLink(store())
    const upstreamId = someUpstreamId()
    const rows = await replaceAccounts(store(), connection.id, [
      newAccount({ upstreamId, name: 'first' }),
      newAccount({ upstreamId, name: 'last' }),
    ])
    assert.deepEqual(
      rows.map((row) => row.name),
      ['last'],
    )
  })

  test('two connections have accounts of their own, also under the same upstream id', async () => {
    const { user, login, connection } = await addLink(store())
    const other = await store().connections.save(newConnection(user.id, login.id))
    const account = newAccount()
    const [mine] = await replaceAccounts(store(), connection.id, [account])
    const [theirs] = await replaceAccounts(store(), other.id, [account])
    assert.notEqual(mine?.id, theirs?.id)
    assert.equal((await store().accounts.list(user.id)).length, 2)
    assert.deepEqual(await store().accounts.listByConnection(user.id, other.id), [theirs])
  })

  test('replaced many times at once, an account is made once', async () => {
    const { user, connection } = await addLink(store())
    const accounts = [newAccount({ name: 'a' }), newAccount({ name: 'b' })]
    await Promise.all(
      Array.from({ length: 8 }, () => replaceAccounts(store(), connection.id, accounts)),
    )
    assert.equal((await store().accounts.list(user.id)).length, 2)
  })

  test('nothing is written for a connection that is deleted or being deleted', async () => {
    const { connection } = await addLink(store())
    await store().connections.setStatus(connection.id, 'deleting')
    assert.deepEqual(await replaceAccounts(store(), connection.id, [newAccount()]), [])
    assert.deepEqual(await replaceAccounts(store(), newId<ConnectionId>(), [newAccount()]), [])
  })
}
