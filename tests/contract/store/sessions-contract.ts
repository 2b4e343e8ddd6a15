/** The contract of the port for sessions and passwords. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import { maxSessions } from '#store/ports/sessions.ts'
import type { StoreOf } from './place.ts'
import { addSession, addUser, now, somePassword } from './rows.ts'

const newHash = () => new Uint8Array(randomBytes(32))

export function testSessions(store: StoreOf): void {
  test('a session is found by its hash alone, and never shows it', async () => {
    const user = await addUser(store(), { passwordHash: somePassword })
    const hash = newHash()
    const from = { address: '2001:db8::7', agent: 'Firefox' }
    const made = await addSession(store(), user.id, { hash, at: now, ...from })
    assert.deepEqual(made, {
      id: made.id,
      userId: user.id,
      createdAt: now,
      signedInAt: now,
      lastSeenAt: now,
      address: '2001:db8::7',
      agent: 'Firefox',
    })
    assert.deepEqual(await store().sessions.find(hash), made)
    assert.equal(await store().sessions.find(newHash()), null)
  })

  test('the last visit of a session never moves back, and no other session changes', async () => {
    const user = await addUser(store(), { passwordHash: somePassword })
    const [hash, other] = [newHash(), newHash()]
    const { id } = await addSession(store(), user.id, { hash, at: now })
    await addSession(store(), user.id, { hash: other, at: now + 1 })
    await store().sessions.touch(id, now + 9)
    await store().sessions.touch(id, now + 5)
    assert.equal((await store().sessions.find(hash))?.lastSeenAt, now + 9)
    assert.equal((await store().sessions.find(other))?.lastSeenAt, now + 1)
  })

  test('of more sessions than a user may have, those that were not seen for longest end', async () => {
    const [user, other] = [
      await addUser(store(), { passwordHash: somePassword }),
      await addUser(store(), { passwordHash: somePassword }),
    ]
    const add = async (userId: UserId, at: number) => {
      const hash = newHash()
      await addSession(store(), userId, { hash, at })
      return hash
    }
    const theirs = await add(other.id, now)
    const visited = newHash()
    const { id } = await addSession(store(), user.id, { hash: visited, at: now })
    const next = await add(user.id, now + 1)
    await store().sessions.touch(id, now + 1000)
    for (let count = 2; count < maxSessions; count += 1) await add(user.id, now + count)
    assert.notEqual(await store().sessions.find(next), null)
    const last = await add(user.id, now + maxSessions)
    const found = await Promise.all(
      [theirs, visited, last, next].map((hash) => store().sessions.find(hash)),
    )
    assert.deepEqual(
      found.map((row) => row !== null),
      [true, true, true, false],
    )
  })

  test('the sessions of a user are listed, the last seen first, and all but one are ended', async () => {
    const [user, other] = [
      await addUser(store(), { passwordHash: somePassword }),
      await addUser(store(), { passwordHash: somePassword }),
    ]
    const made = []
    for (const at of [now, now + 1, now + 2]) made.push(await addSession(store(), user.id, { at }))
    const theirs = await addSession(store(), other.id)
    const [first, second, third] = made
    assert(first !== undefined && second !== undefined && third !== undefined)
    await store().sessions.touch(second.id, now + 9)
    const seen = { ...second, lastSeenAt: now + 9 }
    assert.deepEqual(await store().sessions.list(user.id), [seen, third, first])
    assert.deepEqual(await store().sessions.list(newId<UserId>()), [])
    // Another user's session keeps none of this user's.
    assert.equal(await store().sessions.deleteOthers(user.id, first.id), 2)
    assert.equal(await store().sessions.deleteOthers(user.id, first.id), 0)
    assert.deepEqual(await store().sessions.list(user.id), [first])
    assert.deepEqual(await store().sessions.list(other.id), [theirs])
    assert.equal(await store().sessions.deleteOthers(user.id, theirs.id), 1)
    assert.deepEqual(await store().sessions.list(other.id), [theirs])
  })

  test('a password is replaced only while it is the one that was checked; otherwise nothing changes', async () => {
    const user = await addUser(store(), { passwordHash: somePassword })
    const { id } = await addSession(store(), user.id)
    assert.equal(await store().sessions.setPassword(user.id, '$argon2id$b', '$argon2id$a'), false)
    assert.equal(await store().sessions.findPassword(user.id), somePassword)
    assert.deepEqual(
      (await store().sessions.list(user.id)).map((session) => session.id),
      [id],
    )
    const both = ['$argon2id$one', '$argon2id$two'].map((hash) =>
      store().sessions.setPassword(user.id, hash, somePassword),
    )
    assert.deepEqual((await Promise.all(both)).toSorted(), [false, true])
    assert.deepEqual(await store().sessions.list(user.id), [])
    const keyless = await addUser(store())
    assert.equal(await store().sessions.setPassword(keyless.id, '$argon2id$b', 'x'), false)
    assert.equal(await store().sessions.findPassword(keyless.id), null)
  })

  test('a user cannot end another user’s session', async () => {
    const [owner, other] = [
      await addUser(store(), { passwordHash: somePassword }),
      await addUser(store(), { passwordHash: somePassword }),
    ]
    const hash = newHash()
    const session = await addSession(store(), owner.id, { hash, at: now })
    assert.equal(await store().sessions.delete(other.id, session.id), false)
    assert.notEqual(await store().sessions.find(hash), null)
    assert.equal(await store().sessions.delete(owner.id, session.id), true)
    assert.equal(await store().sessions.delete(owner.id, newId<SessionId>()), false)
    assert.equal(await store().sessions.find(hash), null)
  })

  test('a new password ends every session of its user at once, those of others stay', async () => {
    const [leaver, stayer] = [
      await addUser(store(), { passwordHash: somePassword }),
      await addUser(store(), { passwordHash: somePassword }),
    ]
    const start = async (userId: UserId) => {
      const hash = newHash()
      await addSession(store(), userId, { hash, at: now })
      return hash
    }
    const gone = [await start(leaver.id), await start(leaver.id)]
    const stays = await start(stayer.id)
    assert.equal(await store().sessions.setPassword(leaver.id, '$argon2id$new'), true)
    for (const hash of gone) assert.equal(await store().sessions.find(hash), null)
    assert.notEqual(await store().sessions.find(stays), null)
  })

  test('the sweep takes what was not seen for too long or is too old, and nothing else', async () => {
    const user = await addUser(store(), { passwordHash: somePassword })
    const [idle, aged, good] = [newHash(), newHash(), newHash()]
    await addSession(store(), user.id, { hash: idle, at: 3500 })
    const { id } = await addSession(store(), user.id, { hash: aged, at: 2000 })
    await store().sessions.touch(id, 9000)
    await addSession(store(), user.id, { hash: good, at: 5000 })
    const bounds = { seenBefore: 4000, createdBefore: 3000 }
    assert.equal(await store().sessions.sweep(bounds), 2)
    for (const hash of [idle, aged]) assert.equal(await store().sessions.find(hash), null)
    assert.notEqual(await store().sessions.find(good), null)
    assert.equal(await store().sessions.sweep(bounds), 0)
  })

  test('a password is set, read, changed and removed, for one user only', async () => {
    const [user, other] = [await addUser(store()), await addUser(store())]
    assert.equal(await store().sessions.findPassword(user.id), null)
    assert.equal(await store().sessions.setPassword(user.id, '$argon2id$one'), true)
    assert.equal(await store().sessions.findPassword(user.id), '$argon2id$one')
    assert.equal(await store().sessions.findPassword(other.id), null)
    await store().sessions.setPassword(user.id, null)
    assert.equal(await store().sessions.findPassword(user.id), null)
    assert.equal(await store().sessions.setPassword(newId<UserId>(), 'x'), false)
  })

  test('no session begins with a password that is not, or no longer, the user’s', async () => {
    const user = await addUser(store(), { passwordHash: somePassword })
    const keyless = await addUser(store())
    const begin = (userId: UserId, passwordHash: string) => {
      const hash = newHash()
      return store().sessions.create({ userId, hash, at: now, passwordHash })
    }
    assert.equal(await begin(user.id, '$argon2id$other'), null)
    assert.equal(await begin(keyless.id, somePassword), null)
    assert.equal(await begin(newId<UserId>(), somePassword), null)
    assert.notEqual(await begin(user.id, somePassword), null)
    await store().sessions.setPassword(user.id, '$argon2id$new')
    assert.equal(await begin(user.id, somePassword), null)
  })

  test('no session outlives a change of the password that ran beside the sign-ins', async () => {
    for (let round = 0; round < 20; round += 1) {
      const user = await addUser(store(), { passwordHash: somePassword })
      const hashes = Array.from({ length: 8 }, newHash)
      const begin = (hash: Uint8Array) =>
        store().sessions.create({ userId: user.id, hash, at: now, passwordHash: somePassword })
      await Promise.all([
        ...hashes.slice(0, 4).map(begin),
        store().sessions.setPassword(user.id, '$argon2id$new'),
        ...hashes.slice(4).map(begin),
      ])
      for (const hash of hashes) assert.equal(await store().sessions.find(hash), null)
    }
  })

  test('a user can be made with a password at once', async () => {
    const user = await addUser(store(), { passwordHash: '$argon2id$made' })
    assert.equal(await store().sessions.findPassword(user.id), '$argon2id$made')
    assert.ok(!JSON.stringify(await store().users.find(user.id)).includes('argon2'))
  })

  test('deleting a user deletes sessions', async () => {
    const user = await addUser(store(), { passwordHash: somePassword })
    const hash = newHash()
    await addSession(store(), user.id, { hash, at: now })
    await store().users.delete(user.id)
    assert.equal(await store().sessions.find(hash), null)
  })
}
