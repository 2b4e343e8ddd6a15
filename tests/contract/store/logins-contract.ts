/** What the port promises of logins and their secrets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoginId, newId } from '#kernel/ids.ts'
import { addLink, addLogin, addUser, newAccount } from './rows.ts'
import type { StoreOf } from './store-contract.ts'

export function testLogins(store: StoreOf): void {
  test('a login comes back with its secret opened, whatever characters it has', async () => {
    const user = await addUser(store())
    const given = {
      userId: user.id,
      provider: 'snaptrade',
      upstreamUserId: 'ünïque/1',
      secret: 'pa$$ “wörd” \u{1F511}\u0000',
    } as const
    const made = await store().logins.save(given)
    assert.deepEqual(made, { ...given, id: made.id })
    assert.deepEqual(await store().logins.get(made.id), made)
    assert.deepEqual(await store().logins.list(user.id), [made])
    assert.deepEqual(await store().logins.listIds(user.id), [made.id])
  })

  test('saving again replaces the secret and keeps the id', async () => {
    const user = await addUser(store())
    const name = { userId: user.id, provider: 'akahu', upstreamUserId: 'user_1' } as const
    const first = await store().logins.save({ ...name, secret: 'old' })
    const second = await store().logins.save({ ...name, secret: 'new' })
    assert.deepEqual(second, { ...first, secret: 'new' })
    const third = await store().logins.save({ ...name, secret: null })
    assert.deepEqual(third, { ...first, secret: null })
    assert.deepEqual(await store().logins.list(user.id), [third])
  })

  test('provider, upstream user and user each make another login', async () => {
    const [one, two] = [await addUser(store()), await addUser(store())]
    const name = { userId: one.id, provider: 'fiskil', upstreamUserId: 'x', secret: null } as const
    const made = [
      await store().logins.save(name),
      await store().logins.save({ ...name, provider: 'akahu' }),
      await store().logins.save({ ...name, upstreamUserId: 'y' }),
      await store().logins.save({ ...name, userId: two.id }),
    ]
    assert.equal(new Set(made.map((login) => login.id)).size, 4)
    assert.equal((await store().logins.list(one.id)).length, 3)
    assert.equal((await store().logins.list(two.id)).length, 1)
    const ids = (await store().logins.list(one.id)).map((login) => login.id)
    assert.deepEqual(await store().logins.listIds(one.id), ids)
  })

  test('a deleted login is forgotten with all that stood on it; deleting it again does nothing', async () => {
    const { user, login, connection } = await addLink(store())
    const kept = await addLogin(store(), user.id)
    await store().accounts.replace(connection.id, [newAccount()])
    await store().logins.delete(login.id)
    assert.equal(await store().logins.get(login.id), null)
    assert.deepEqual(await store().logins.list(user.id), [kept])
    assert.equal(await store().connections.find(connection.id), null)
    assert.deepEqual(await store().accounts.list(user.id), [])
    await store().logins.delete(login.id)
  })

  test('an unknown login is null', async () => {
    assert.equal(await store().logins.get(newId<LoginId>()), null)
  })
}
