/**
 * The contract of the port for a user who is being deleted: they are not found, and nothing is added for
 * them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OwnerGoneError } from '#store/failure.ts'
import type { StoreOf } from './place.ts'
import { raceDeletion, raceRemoval } from './races.ts'
import {
  addGrant,
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
  someHash,
  somePassword,
} from './rows.ts'

export function testDeletion(store: StoreOf): void {
  test('a transaction that begins the deletion of its user gives nothing more to them', async () => {
    const user = await addUser(store())
    await store().transact(async (tx) => {
      await tx.ledgers.begin(user.id)
      await tx.users.disarm(user.id, now)
      await assert.rejects(tx.ledgers.begin(user.id), OwnerGoneError)
      assert.equal(await tx.ledgers.readKey(user.id), null)
    })
  })

  test('a user who is being deleted is found only by the deletion', async () => {
    const { user } = await addLink(store())
    const { hash } = await addKey(store(), user.id)
    assert.equal(await store().users.disarm(user.id, now), true)
    assert.equal(await store().users.find(user.id), null)
    assert.equal(await store().users.find(user.email), null)
    assert.equal(await store().users.findAccess(user.id), null)
    assert.equal(await store().keys.findCaller(hash), null)
    const listed = await store().users.list()
    assert.ok(listed.every(({ id }) => id !== user.id))
    assert.deepEqual(await store().users.find(user.email, { deleting: true }), user)
    assert.equal(await store().users.create(newUser({ email: user.email })), 'taken')
  })

  test('nothing is added to a user who is being deleted', async () => {
    const { user, login, connection } = await addLink(store())
    await store().sessions.setPassword(user.id, somePassword)
    await store().users.disarm(user.id, now)
    const session = { userId: user.id, hash: someHash(), at: now, passwordHash: somePassword }
    assert.equal(await store().sessions.create(session), null)
    const gone = (work: Promise<unknown>) =>
      assert.rejects(work, (error) => error instanceof OwnerGoneError)
    await gone(addLogin(store(), user.id))
    await gone(store().logins.save({ ...login, secret: 'new' }))
    await gone(store().connections.save(newConnection(user.id, login.id)))
    await gone(store().keys.create(newKey(user.id)))
    assert.equal(await store().keys.createWithin(newKey(user.id), 20), null)
    assert.equal(await store().sessions.setPassword(user.id, 'a hash'), false)
    assert.equal(await store().users.setPlan(user.id, { ...user, plan: 'developer' }), null)
    assert.equal(await store().users.setTimezone(user.id, 'Australia/Perth'), null)
    await assert.rejects(addGrant(store(), user.id), /unknown/)
    assert.deepEqual(await replaceAccounts(store(), connection.id, [newAccount()]), [])
    const news = { login, connectionId: connection.id, from: ['active'], to: 'revoked' } as const
    await store().connections.saveLearntStatus(news)
    assert.equal((await store().connections.find(connection.id))?.status, 'deleting')
    assert.deepEqual(await store().logins.listIds(user.id), [login.id])
  })

  test('a row added while a deletion begins is found by it, or refused', async () => {
    for (let round = 0; round < 20; round += 1) await raceDeletion(store(), store())
  })

  test('writes for a deleted user are refused', async () => {
    for (let round = 0; round < 10; round += 1) await raceRemoval(store(), store())
  })

  test('deletions that have not ended are listed by age, and begin once', async () => {
    const [late, early] = [await addUser(store()), await addUser(store())]
    await store().users.disarm(late.id, now - 10)
    await store().users.disarm(early.id, now - 20)
    await store().users.disarm(early.id, now)
    const list = (before: number, limit: number) => store().users.listDeleting({ before, limit })
    assert.deepEqual(await list(now - 9, 10), [early.id, late.id])
    assert.deepEqual(await list(now - 9, 1), [early.id])
    assert.deepEqual(await list(now - 10, 10), [early.id])
    await store().users.delete(early.id)
    assert.deepEqual(await list(now - 9, 10), [late.id])
  })
}
