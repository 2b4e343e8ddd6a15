/** The contract of the port for `onChange`, within one process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, type UserId } from '#kernel/ids.ts'
import type { StoreChange } from '#store/ports/changes.ts'
import type { StoreOf } from './place.ts'
import {
  addKey,
  addLink,
  addLogin,
  addUser,
  newAccount,
  newConnection,
  newKey,
  newUser,
  now,
  replaceAccounts,
  someUpstreamId,
} from './rows.ts'

export function testChanges(store: StoreOf): void {
  const heard = async (work: () => Promise<unknown>): Promise<readonly StoreChange[]> => {
    const changes: StoreChange[] = []
    const stop = store().onChange((change) => changes.push(change))
    await work()
    stop()
    return changes
  }

  test('every change of a user is notified once, before its call resolves', async () => {
    const { user, login, connection } = await addLink(store())
    const { id } = connection
    const key = await addKey(store(), user.id)
    const spare = await addLogin(store(), user.id)
    const works: readonly (() => Promise<unknown>)[] = [
      () => store().users.setPlan(user.id, { ...user, plan: 'none' }),
      () => store().users.setTimezone(user.id, 'Australia/Perth'),
      () => addKey(store(), user.id),
      () => store().keys.revoke(key.id, now),
      () => addLogin(store(), user.id),
      () => store().connections.save(newConnection(user.id, login.id)),
      () => store().connections.setStatus(id, 'pending_mfa'),
      () => store().connections.setRefreshed(id, now, { isReported: false }),
      () => store().connections.repoint(id, someUpstreamId()),
      // Three rows of one transaction are one change.
      () => replaceAccounts(store(), id, [newAccount(), newAccount(), newAccount()]),
      () => store().connections.startDeletion(id, { endsAtProvider: false, at: now }),
      () => store().connections.delete(id),
      () => store().logins.deleteUnused(spare.id),
      () => store().users.disarm(user.id, now),
      () => store().users.delete(user.id),
    ]
    for (const work of works)
      assert.deepEqual(await heard(work), [{ userId: user.id }], work.toString())
  })

  test('a new user is notified too', async () => {
    const changes = await heard(() => store().users.create(newUser()))
    assert.equal(changes.length, 1)
  })

  test('a write that changes nothing is not notified', async () => {
    const { user, connection } = await addLink(store(), { lastRefreshedAt: now })
    const key = await addKey(store(), user.id)
    const nobody = newId<UserId>()
    const works: readonly (() => Promise<unknown>)[] = [
      () => store().keys.touch(key.id, now),
      () => store().connections.setStatus(connection.id, 'active'),
      () => store().connections.setRefreshed(connection.id, now, { isReported: false }),
      () => store().connections.repoint(connection.id, connection.upstreamId),
      () => replaceAccounts(store(), connection.id, []),
      () => store().users.create(newUser({ email: user.email })),
      () => store().users.setTimezone(nobody, null),
      () => store().users.delete(nobody),
      () => store().users.list(),
    ]
    for (const work of works) assert.deepEqual(await heard(work), [], work.toString())
  })

  test('a refused write is not notified', async () => {
    const changes = await heard(() => assert.rejects(store().keys.create(newKey(newId<UserId>()))))
    assert.deepEqual(changes, [])
  })

  test('when a listener is called, the change is committed', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id)
    const found = Promise.withResolvers<unknown>()
    const stop = store().onChange(() => found.resolve(store().keys.findCaller(key.hash)))
    await store().keys.revoke(key.id, now)
    assert.equal(await found.promise, null)
    stop()
  })

  test('a removed listener is not called again, and a failing listener does not stop the others', async () => {
    const user = await addUser(store())
    const changes: StoreChange[] = []
    const stopFailing = store().onChange(() => {
      throw new Error('a listener of the test')
    })
    const stop = store().onChange((change) => changes.push(change))
    await store().users.setTimezone(user.id, 'Australia/Perth')
    stop()
    await store().users.setTimezone(user.id, null)
    stopFailing()
    assert.deepEqual(changes, [{ userId: user.id }])
  })
}
