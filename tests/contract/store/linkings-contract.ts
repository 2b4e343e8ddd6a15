/** The contract of the port for links that people began in a browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoginId, newId, type SessionId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import { type LinkingEnd, maxLinkings, type NewLinking } from '#store/ports/linkings.ts'
import type { StoreOf } from './place.ts'
import { addUser, now, someHash } from './rows.ts'

const hourMs = 3_600_000

export function testLinkings(store: StoreOf): void {
  async function begin(over: Partial<NewLinking> = {}, end?: LinkingEnd) {
    const userId = over.userId ?? (await addUser(store())).id
    const linking = {
      id: someHash(),
      userId,
      sessionId: newId<SessionId>(),
      provider: 'fiskil' as const,
      loginId: newId<LoginId>(),
      institutionId: '22',
      connectionId: null,
      createdAt: now,
      expiresAt: now + hourMs,
      ...over,
    }
    return store().linkings.create(linking, end)
  }

  test('a begun link is found by the hash of its state with everything that was stored', async () => {
    const row = await begin()
    assert.deepEqual([row.createdAt, row.expiresAt, row.usedAt], [now, now + hourMs, null])
    const found = await store().linkings.find(row.id)
    assert.deepEqual({ ...found, id: [...(found?.id ?? [])] }, { ...row, id: [...row.id] })
    assert.equal(await store().linkings.find(someHash()), null)
  })

  test('a state is used once, by its own session, before it expires', async () => {
    const { linkings } = store()
    const row = await begin()
    const { sessionId } = row
    assert.equal(await linkings.claim(row.id, { sessionId: newId<SessionId>(), at: now }), false)
    assert.equal(await linkings.claim(row.id, { sessionId, at: now + hourMs }), false)
    assert.equal((await linkings.find(row.id))?.usedAt, null)
    assert.equal(await linkings.claim(row.id, { sessionId, at: now + 1 }), true)
    assert.equal(await linkings.claim(row.id, { sessionId, at: now + 2 }), false)
    assert.equal((await linkings.find(row.id))?.usedAt, now + 1)
  })

  test('one that is forgotten is gone, and may be begun anew', async () => {
    const row = await begin()
    await store().linkings.forget(row.id)
    assert.equal(await store().linkings.find(row.id), null)
    await begin({ id: row.id, userId: row.userId })
    await assert.rejects(begin({ id: row.id, userId: row.userId }))
  })

  test('what has ended takes no place of what is under way, however long it is kept, and is bounded too', async () => {
    const { linkings } = store()
    const open = await begin()
    const { userId } = open
    const ended: Uint8Array[] = []
    for (let count = 0; count < maxLinkings + 3; count += 1) {
      const row = await begin({ userId, createdAt: now + count, expiresAt: now + 99 * hourMs })
      await linkings.end(row.id, { at: now, outcome: 'sent' })
      ended.push(row.id)
    }
    assert.notEqual(await linkings.find(open.id), null)
    const left = await Promise.all(ended.map((id) => linkings.find(id)))
    assert.deepEqual(
      left.map((row) => row !== null),
      ended.map((_, at) => at >= 3),
    )
  })

  test('one that is stored as ended takes no place of twenty under way, and has its end', async () => {
    const { linkings } = store()
    const { id: userId } = await addUser(store())
    const open: Uint8Array[] = []
    for (let count = 0; count < maxLinkings; count += 1) open.push((await begin({ userId })).id)
    const sent = await begin({ userId, expiresAt: now + 99 * hourMs }, { at: now, outcome: 'sent' })
    assert.deepEqual([sent.endedAt, sent.outcome], [now, 'sent'])
    const left = await Promise.all(open.map((id) => linkings.find(id)))
    assert.equal(left.filter((row) => row !== null).length, maxLinkings)
  })

  test('of many that use a state at the same time one succeeds', async () => {
    const { id, sessionId } = await begin()
    const claims = Array.from({ length: 8 }, () =>
      store().linkings.claim(id, { sessionId, at: now }),
    )
    assert.equal((await Promise.all(claims)).filter(Boolean).length, 1)
  })

  test('beyond the largest number the user’s first to end are deleted, those of others stay', async () => {
    const theirs = await begin()
    const { id: userId } = await addUser(store())
    const first = await begin({ userId, createdAt: now })
    const second = await begin({ userId, createdAt: now + 1 })
    for (let count = 2; count < maxLinkings; count += 1) {
      await begin({ userId, createdAt: now + count })
    }
    assert.notEqual(await store().linkings.find(first.id), null)
    // The clock was set back: the new one is kept all the same.
    const last = await begin({ userId, createdAt: now - hourMs })
    const found = await Promise.all(
      [theirs, first, second, last].map(({ id }) => store().linkings.find(id)),
    )
    assert.deepEqual(
      found.map((row) => row !== null),
      [true, false, true, true],
    )
  })

  test('R38: what is remembered for a month outlives any number of later links', async () => {
    const { id: userId } = await addUser(store())
    const claim = await begin({ userId, createdAt: now, expiresAt: now + 30 * 24 * hourMs })
    for (let count = 0; count < maxLinkings + 2; count += 1) {
      await begin({ userId, createdAt: now + count, expiresAt: now + count + hourMs })
    }
    assert.notEqual(await store().linkings.find(claim.id), null)
  })

  test('the open one of a login is the newest that has neither ended nor expired, used or not', async () => {
    const { linkings } = store()
    const loginId = newId<LoginId>()
    await begin({ loginId, expiresAt: now })
    await begin()
    assert.equal(await linkings.findOpen(loginId, now), null)
    const older = await begin({ loginId, expiresAt: now + 5 })
    const newer = await begin({ loginId: null, expiresAt: now + 9 })
    const openId = async (at: number) => {
      const row = await linkings.findOpen(loginId, at)
      return row === null ? null : Buffer.from(row.id).toString('hex')
    }
    const hex = (id: Uint8Array) => Buffer.from(id).toString('hex')
    assert.equal(await openId(now), hex(older.id))
    await linkings.setLogin(newer.id, loginId)
    await linkings.claim(newer.id, { sessionId: newer.sessionId, at: now })
    assert.equal(await openId(now), hex(newer.id))
    await linkings.end(newer.id, { at: now + 1, outcome: 'linked' })
    await linkings.end(newer.id, { at: now + 2, outcome: 'cancelled' })
    assert.equal((await linkings.find(newer.id))?.endedAt, now + 1)
    assert.equal(await openId(now), hex(older.id))
    assert.equal(await openId(now + 5), null)
  })

  test('the outcome of a link is what was noted last before its end, and its end is final', async () => {
    const { linkings } = store()
    const row = await begin()
    assert.equal(row.outcome, null)
    const outcomeOf = async () => (await linkings.find(row.id))?.outcome
    for (const outcome of ['waiting', 'unread', 'waiting']) {
      await linkings.note(row.id, outcome)
      assert.equal(await outcomeOf(), outcome)
    }
    await linkings.end(row.id, { at: now, outcome: 'linked' })
    await linkings.note(row.id, 'unread')
    await linkings.end(row.id, { at: now + 1, outcome: 'cancelled' })
    assert.equal(await outcomeOf(), 'linked')
  })

  test('what a session began moves to a new session of the same user only', async () => {
    const { linkings } = store()
    const row = await begin()
    const other = await begin({ sessionId: row.sessionId })
    const next = newId<SessionId>()
    await linkings.moveSession(row.userId, row.sessionId, next)
    assert.equal((await linkings.find(row.id))?.sessionId, next)
    assert.equal((await linkings.find(other.id))?.sessionId, row.sessionId)
    assert.equal(await linkings.claim(row.id, { sessionId: next, at: now }), true)
  })

  test('the sweep deletes what has expired and nothing else', async () => {
    const { linkings } = store()
    const past = await begin({ expiresAt: now - 1 })
    const open = await begin()
    while ((await linkings.sweep(now)) > 0);
    assert.equal(await linkings.find(past.id), null)
    assert.notEqual(await linkings.find(open.id), null)
  })

  test('a user who is being deleted begins nothing, and the rows of a deleted user are gone', async () => {
    const row = await begin()
    await store().users.disarm(row.userId, now)
    await assert.rejects(begin({ userId: row.userId }), OwnerGoneError)
    await store().users.delete(row.userId)
    assert.equal(await store().linkings.find(row.id), null)
  })
}
