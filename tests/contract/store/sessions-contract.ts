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

  test('sessions are listed newest first, and seen only forward in time', async () => {
    const user = await addUser(store())
    const old = await store().sessions.create({ userId: user.id, hash: newHash(), at: now })
    const young = await store().sessions.create({ userId: user.id, hash: newHash(), at: now + 1 })
    await store().sessions.touch(old.id, now + 9)
    await store().sessions.touch(old.id, now + 5)
    const rows = await store().sessions.list(user.id)
    assert.deepEqual(
      rows.map((row) => [row.id, row.lastSeenAt]),
      [
        [young.id, now + 1],
        [old.id, now + 9],
      ],
    )
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
    for (const user of [leaver, leaver, stayer]) {
      await store().sessions.create({ userId: user.id, hash: newHash(), at: now })
    }
    await store().sessions.deleteAll(leaver.id)
    assert.deepEqual(await store().sessions.list(leaver.id), [])
    assert.equal((await store().sessions.list(stayer.id)).length, 1)
  })

  test('the sweep takes what was not seen for too long or is too old, and nothing else', async () => {
    const user = await addUser(store())
    const idle = await store().sessions.create({ userId: user.id, hash: newHash(), at: 1000 })
    const aged = await store().sessions.create({ userId: user.id, hash: newHash(), at: 2000 })
    await store().sessions.touch(aged.id, 9000)
    const good = await store().sessions.create({ userId: user.id, hash: newHash(), at: 5000 })
    await store().sessions.sweep({ seenBefore: 2500, createdBefore: 3000 })
    const left = (await store().sessions.list(user.id)).map((row) => row.id)
    assert.deepEqual(left, [good.id])
    assert.notEqual(idle.id, aged.id)
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
