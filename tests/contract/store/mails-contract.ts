/** The contract of the port for mails that wait, and the notices that changes of connections queue. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { UserId } from '#kernel/ids.ts'
import { reconnectDueAt } from '#mail/reconnect-due.ts'
import { type ClaimedMail, maxNoticesPerDay, type NewMail } from '#store/ports/mails.ts'
import type { Store } from '#store/ports/store.ts'
import { keyA, keyB, type OpenAs, type Place } from './place.ts'
import { addLink, addUser, newConnection, now } from './rows.ts'

const minute = 60_000
const day = 24 * 60 * minute
const claimOf = { now, leaseMs: minute, limit: 10 }

function newMail(userId: UserId | null, over: Partial<NewMail> = {}): NewMail {
  const matter = { kind: 'key-created', name: 'laptop', byOperator: false } as const
  return { key: randomUUID(), userId, matter, at: now, ...over }
}

const kindsOf = (mails: readonly ClaimedMail[]) => mails.map(({ kind }) => kind)

export function testMails(makePlace: () => Promise<Place>): void {
  async function openStore(t: TestContext, as: OpenAs = { reconnectDueAt }): Promise<Store> {
    const place = await makePlace()
    const store = await place.open(as)
    t.after(async () => {
      await store.close()
      await place.remove()
    })
    return store
  }

  test('a matter is queued once, whoever asks, and comes back as it was given', async (t) => {
    const store = await openStore(t)
    const { id: userId } = await addUser(store)
    const mail = newMail(userId)
    const asked = await Promise.all([1, 2, 3].map(() => store.mails.queue(mail)))
    assert.equal(asked.filter((isQueued) => isQueued).length, 1)
    const [claimed, ...more] = await store.mails.claim(claimOf)
    assert.deepEqual(more, [])
    assert(claimed !== undefined)
    const { matter, kind, attempts, createdAt } = claimed
    assert.deepEqual([matter, kind, attempts, createdAt], [mail.matter, mail.matter.kind, 1, now])
    await store.mails.end(claimed)
    assert.equal(await store.mails.queue(mail), false)
    assert.deepEqual(await store.mails.claim({ ...claimOf, now: now + day }), [])
  })

  test('without a mail server nothing is queued', async (t) => {
    const store = await openStore(t, {})
    const { connection } = await addLink(store)
    assert.equal(await store.mails.queue(newMail(null)), false)
    await store.connections.setStatus(connection.id, 'revoked')
    assert.deepEqual(await store.mails.readBacklog(now), { waiting: 0, oldestLateAt: null })
  })

  test('a mail that is queued in a transaction that fails does not exist', async (t) => {
    const store = await openStore(t)
    const failing = store.transact(async (tx) => {
      await tx.mails.queue(newMail(null))
      throw new Error('of the test')
    })
    await assert.rejects(failing, /of the test/)
    assert.deepEqual(await store.mails.claim(claimOf), [])
  })

  test('work of this process announces a mail when it is committed', async (t) => {
    const store = await openStore(t)
    const told: string[] = []
    store.onWork((kind) => told.push(kind))
    await store.transact(async (tx) => {
      await tx.mails.queue(newMail(null))
      assert.deepEqual(told, [])
    })
    assert.deepEqual(told, ['mail'])
  })

  test('a claimed mail is nobody else’s until the lease ends, and an older claim changes nothing', async (t) => {
    const store = await openStore(t)
    for (let count = 0; count < 12; count += 1) await store.mails.queue(newMail(null))
    const rounds = await Promise.all(
      [1, 2, 3, 4].map(() => store.mails.claim({ ...claimOf, limit: 3 })),
    )
    assert.equal(new Set(rounds.flat().map(({ id }) => id)).size, 12)
    assert.deepEqual(await store.mails.claim({ ...claimOf, now: now + minute - 1 }), [])
    const [again] = await store.mails.claim({ ...claimOf, now: now + minute, limit: 1 })
    const former = rounds.flat().find(({ id }) => id === again?.id)
    assert(again !== undefined && former !== undefined)
    assert.equal(again.attempts, 2)
    await store.mails.end(former)
    await store.mails.postpone(former, now)
    assert.equal((await store.mails.readBacklog(now)).waiting, 12)
    await store.mails.postpone(again, now + 5 * minute)
    const later = await store.mails.claim({ ...claimOf, now: now + 5 * minute, limit: 20 })
    assert.ok(later.some(({ id, attempts }) => id === again.id && attempts === 3))
  })

  test('the backlog counts what waits, and says since when', async (t) => {
    const store = await openStore(t)
    await store.mails.queue(newMail(null, { at: now + 5 }))
    await store.mails.queue(newMail(null, { at: now + 1 }))
    const backlog = await store.mails.readBacklog(now + 5)
    assert.deepEqual(backlog, { waiting: 2, oldestLateAt: now + 1 })
    for (const mail of await store.mails.claim({ ...claimOf, now: now + 5 }))
      await store.mails.end(mail)
    assert.deepEqual(await store.mails.readBacklog(now), { waiting: 0, oldestLateAt: null })
  })

  test('a notice that waits for its time is not late; a mail that is tried again is, until it is sent', async (t) => {
    const store = await openStore(t)
    const { connection } = await addLink(store)
    await store.connections.setStatus(connection.id, 'revoked')
    const lateAt = async (at: number) => (await store.mails.readBacklog(at)).oldestLateAt
    const { waiting, oldestLateAt } = await store.mails.readBacklog(0)
    assert.deepEqual([waiting, oldestLateAt], [1, null])
    const [claimed] = await store.mails.claim({ ...claimOf, now: now + 100 * day })
    assert(claimed !== undefined)
    await store.mails.postpone(claimed, now + 200 * day)
    assert.equal(await lateAt(now), claimed.createdAt)
    const [again] = await store.mails.claim({ ...claimOf, now: now + 200 * day })
    assert(again !== undefined)
    await store.mails.end(again)
    assert.equal(await lateAt(now + 300 * day), null)
  })

  test('one user gets a bounded number of notices a day; links have bounds of their own', async (t) => {
    const store = await openStore(t)
    const [user, other] = [await addUser(store), await addUser(store)]
    for (let count = 0; count < maxNoticesPerDay; count += 1)
      assert.equal(await store.mails.queue(newMail(user.id)), true)
    assert.equal(await store.mails.queue(newMail(user.id)), false)
    assert.equal(await store.mails.queue(newMail(other.id)), true)
    const link = { email: user.email, url: 'https://example.test/x', expiresAt: now + day }
    const reset = newMail(user.id, { matter: { kind: 'reset', ...link } })
    assert.equal(await store.mails.queue(reset), true)
    assert.equal(await store.mails.queue(newMail(user.id, { at: now + day })), true)
  })

  test('links that a stranger asks for leave room for every notice', async (t) => {
    const store = await openStore(t)
    const user = await addUser(store)
    const link = { email: user.email, url: 'https://example.test/x', expiresAt: now + day }
    for (let count = 0; count < maxNoticesPerDay; count += 1)
      await store.mails.queue(newMail(user.id, { matter: { kind: 'reset', ...link } }))
    assert.equal(await store.mails.queue(newMail(user.id)), true)
  })

  test('the sweep deletes what is done and old, and wakes what a wrong clock put far ahead', async (t) => {
    const store = await openStore(t)
    await store.mails.queue(newMail(null, { key: 'done', at: now - 2 * day }))
    for (const mail of await store.mails.claim(claimOf)) await store.mails.end(mail)
    await store.mails.queue(newMail(null, { key: 'waiting', at: now - 2 * day }))
    const [held] = await store.mails.claim(claimOf)
    assert(held !== undefined)
    await store.mails.postpone(held, now + 30 * day)
    const bounds = { before: now - day, now, latestDue: now + 2 * day, limit: 10 }
    assert.equal(await store.mails.sweep(bounds), 1)
    assert.equal(await store.mails.queue(newMail(null, { key: 'done' })), true)
    assert.equal((await store.mails.claim(claimOf)).length, 2)
  })

  test('mails of a user go with the user', async (t) => {
    const store = await openStore(t)
    const { id } = await addUser(store)
    await store.mails.queue(newMail(id))
    await store.users.delete(id)
    assert.equal((await store.mails.readBacklog(now)).waiting, 0)
  })

  test('what a mail is about is sealed, follows a new key, and a damaged one does not hold up the others', async (t) => {
    const place = await makePlace()
    t.after(() => place.remove())
    const first = await place.open({ reconnectDueAt })
    const matter = { kind: 'key-created', name: 'canary-of-the-mail', byOperator: false } as const
    await first.mails.queue(newMail(null, { key: 'one', matter }))
    await first.mails.queue(newMail(null, { key: 'two', at: now + 1 }))
    await first.close()
    assert.ok(!(await place.readAll()).includes('canary-of-the-mail'))
    const rotating = await place.open({ reconnectDueAt, encryptionKeys: [keyB, keyA] })
    await untilNone(() => rotating.inspector.countAged(10))
    await rotating.close()
    const [one, two] = ["'one'", "'two'"]
    await place.tamper(
      `update mails set payload = (select payload from mails where key = ${one}) where key = ${two}`,
    )
    const last = await place.open({ reconnectDueAt, encryptionKeys: [keyB] })
    const claimed = await last.mails.claim({ ...claimOf, now: now + 1 })
    assert.deepEqual(
      claimed.map((mail) => mail.matter).toSorted((a) => (a === null ? 1 : -1)),
      [matter, null],
    )
    await last.close()
  })

  testReconnect(openStore)
}

async function untilNone(count: () => Promise<number>): Promise<void> {
  for (let look = 0; look < 200 && (await count()) > 0; look += 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(await count(), 0)
}

/** A store whose own clock stands still until it is moved. */
function testReconnect(openStore: (t: TestContext, as: OpenAs) => Promise<Store>): void {
  async function stage(t: TestContext) {
    let time = now
    const store = await openStore(t, { reconnectDueAt, clock: { now: () => time } })
    const link = await addLink(store)
    return {
      ...link,
      store,
      pass: (ms: number) => {
        time += ms
      },
      set: (status: 'active' | 'invalidated' | 'revoked' | 'pending_mfa') =>
        store.connections.setStatus(link.connection.id, status),
      /** Sends what is due. */
      async send() {
        const due = await store.mails.claim({ ...claimOf, now: time })
        for (const mail of due) await store.mails.end(mail)
        return kindsOf(due)
      },
    }
  }

  test('a connection that is lost is mailed about once until it is active again, and not at once', async (t) => {
    const { set, pass, send } = await stage(t)
    await set('invalidated')
    assert.deepEqual(await send(), [])
    pass(5 * minute)
    assert.deepEqual(await send(), ['reconnect'])
    await set('revoked')
    await set('pending_mfa')
    await set('invalidated')
    pass(3 * day)
    assert.deepEqual(await send(), [])
    await set('active')
    await set('invalidated')
    pass(5 * minute)
    assert.deepEqual(await send(), ['reconnect'])
  })

  test('a connection that recovers before the mail is sent is not mailed about, and one that flaps once a day', async (t) => {
    const { set, pass, send } = await stage(t)
    await set('invalidated')
    pass(minute)
    await set('active')
    pass(day)
    assert.deepEqual(await send(), [])
    await set('invalidated')
    pass(5 * minute)
    assert.deepEqual(await send(), ['reconnect'])
    for (let count = 0; count < 5; count += 1) {
      await set('active')
      await set('invalidated')
      pass(60 * minute)
      assert.deepEqual(await send(), [])
    }
    pass(day - 5 * 60 * minute)
    assert.deepEqual(await send(), ['reconnect'])
  })

  test('every way in which a status changes queues the notice, and one that changed nothing does not', async (t) => {
    const { store, user, login, connection } = await stage(t)
    const second = await store.connections.save(newConnection(user.id, login.id))
    const waiting = async () => (await store.mails.readBacklog(now)).waiting
    const from = ['active', 'invalidated', 'revoked'] as const
    const learn = (to: 'active' | 'invalidated' | 'revoked') =>
      store.connections.saveLearntStatus({ login, connectionId: null, from, to })
    await learn('invalidated')
    assert.equal(await waiting(), 2)
    await learn('active')
    assert.equal(await waiting(), 0)
    const reported = { connectionId: connection.id, from, to: 'revoked', at: now + 9 } as const
    await store.connections.saveReportedStatus(reported)
    await store.connections.saveReportedStatus(reported)
    assert.equal(await waiting(), 1)
    const { upstreamId } = second
    await store.connections.save(
      newConnection(user.id, login.id, { upstreamId, status: 'invalidated' }),
    )
    assert.equal(await waiting(), 2)
    await store.connections.setStatus(connection.id, 'active')
    await store.connections.save(newConnection(user.id, login.id, { upstreamId }))
    assert.equal(await waiting(), 0)
  })
}
