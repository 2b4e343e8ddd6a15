/** What the port promises of sessions and passwords. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import { addUser, now } from './rows.ts'
import type { StoreOf } from './store-contract.ts'

const newHash = () => new Uint8Array(randomBytes(32))

export function testSessions(store: StoreOf): void {
  test('a session is found by its hash alone, and never shows it', async () => {
    const user = await addUser(store())
    const hash = newHash()
    const made = await store().sessions.create({ userId: user.id, hash, at: now })
    assert.deepEqual(made, {
      id: made.id,
      userId: user.id,
      createdAt: now,
      signedInAt: now,
      lastSeenAt: now,
    })
    assert.deepEqual(await store().sessions.find(hash), made)
    assert.equal(await store().sessions.find(newHash()), null)
  })

  test('a session is seen only forward in time, and no other with it', async () => {
    const user = await addUser(store())
    const [hash, other] = [newHash(), newHash()]
    const { id } = await store().sessions.create({ userId: user.id, hash, at: now })
    await store().sessions.create({ userId: user.id, hash: other, at: now + 1 })
    await store().sessions.touch(id, now + 9)
    await store().sessions.touch(id, now + 5)
    assert.equal((await store().sessions.find(hash))?.lastSeenAt, now + 9)
    assert.equal((await store().sessions.find(other))?.lastSeenAt, now + 1)
  })

  test('nobody ends a session of somebody else', async () => {
    const [owner, other] = [await addUser(store()), await addUser(store())]
    const hash = newHash()
    const session = await store().sessions.create({ userId: owner.id, hash, at: now })
    assert.equal(await store().sessions.delete(other.id, session.id), false)
    assert.notEqual(await store().sessions.find(hash), null)
    assert.equal(await store().sessions.delete(owner.id, session.id), true)
    assert.equal(await store().sessions.delete(owner.id, newId<SessionId>()), false)
    assert.equal(await store().sessions.find(hash), null)
  })

  test('all sessions of one user end at once, those of others stay', async () => {
    const [leaver, stayer] = [await addUser(store()), await addUser(store())]
    const start = async (userId: UserId) => {
      const hash = newHash()
      await store().sessions.create({ userId, hash, at: now })
      return hash
    }
    const gone = [await start(leaver.id), await start(leaver.id)]
    const stays = await start(stayer.id)
    await store().sessions.deleteAll(leaver.id)
    for (const hash of gone) assert.equal(await store().sessions.find(hash), null)
    assert.notEqual(await store().sessions.find(stays), null)
  })

  test('the sweep takes what was not seen for too long or is too old, and nothing else', async () => {
    const user = await addUser(store())
    const [idle, aged, good] = [newHash(), newHash(), newHash()]
    await store().sessions.create({ userId: user.id, hash: idle, at: 3500 })
    const { id } = await store().sessions.create({ userId: user.id, hash: aged, at: 2000 })
    await store().sessions.touch(id, 9000)
    await store().sessions.create({ userId: user.id, hash: good, at: 5000 })
    const bounds = { seenBefore: 4000, createdBefore: 3000 }
    assert.equal(await store().sessions.sweep(bounds), 2)
    for (const hash of [idle, aged]) assert.equal(await store().sessions.find(hash), null)
    assert.notEqual(await store().sessions.find(good), null)
    assert.equal(await store().sessions.sweep(bounds), 0)
  })

  test('a password is set, read, changed and taken away; nobody else has one by it', async () => {
    const [user, other] = [await addUser(store()), await addUser(store())]
    assert.equal(await store().sessions.findPassword(user.id), null)
    assert.equal(await store().sessions.setPassword(user.id, '$argon2id$one'), true)
    assert.equal(await store().sessions.findPassword(user.id), '$argon2id$one')
    assert.equal(await store().sessions.findPassword(other.id), null)
    await store().sessions.setPassword(user.id, null)
    assert.equal(await store().sessions.findPassword(user.id), null)
    assert.equal(await store().sessions.setPassword(newId<UserId>(), 'x'), false)
  })

  test('a user can be made with a password at once', async () => {
    const user = await addUser(store(), { passwordHash: '$argon2id$made' })
    assert.equal(await store().sessions.findPassword(user.id), '$argon2id$made')
    assert.ok(!JSON.stringify(await store().users.find(user.id)).includes('argon2'))
  })

  test('a deleted user takes sessions along', async () => {
    const user = await addUser(store())
    const hash = newHash()
    await store().sessions.create({ userId: user.id, hash, at: now })
    await store().users.delete(user.id)
    assert.equal(await store().sessions.find(hash), null)
  })
}
