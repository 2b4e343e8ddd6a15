/**
 * Several changes as one transaction: all or none are stored, and listeners are notified after the commit.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { SyncRunId, UserId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import { addEndpoint, claimEndpoint, deliverAll, newEvent } from './event-rows.ts'
import type { StoreOf } from './place.ts'
import {
  addKey,
  addLink,
  addLogin,
  addUser,
  newAccount,
  newConnection,
  newKey,
  now,
  replaceAccounts,
} from './rows.ts'

export function testTransact(store: StoreOf): void {
  const entryOf = (userId: UserId) => ({
    at: now,
    actor: byOperator.actor,
    action: 'keys.revoke' as const,
    userId,
    details: { keyId: 'x' },
  })
  const auditOf = (userId: UserId) => store().auditLog.list({ userId, after: null, limit: 10 })

  test('a change and its audit row are kept together', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id)
    const row = await store().transact(async (tx) => {
      const revoked = await tx.keys.revoke(key.id, now)
      await tx.audit(entryOf(user.id))
      return revoked
    })
    assert.equal(row?.revokedAt, now)
    assert.equal((await store().keys.list(user.id))[0]?.revokedAt, now)
    assert.equal((await auditOf(user.id)).length, 1)
  })

  test('when one of them fails, none is kept and no change is notified', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id)
    const heard: unknown[] = []
    const stop = store().onChange((change) => heard.push(change.userId))
    const broken = store().transact(async (tx) => {
      await tx.keys.revoke(key.id, now)
      await tx.users.outdate(user.id)
      await tx.audit(entryOf(user.id))
      throw new Error('the test breaks off')
    })
    await assert.rejects(broken, /the test breaks off/)
    stop()
    assert.equal((await store().keys.list(user.id))[0]?.revokedAt, null)
    assert.equal((await store().users.findAccess(user.id))?.epoch, 0)
    assert.deepEqual(await auditOf(user.id), [])
    assert.ok(!heard.includes(user.id))
  })

  test('a login that is saved in a transaction that fails keeps its secret and version, and the epoch stays', async () => {
    const { user, login } = await addLink(store())
    const before = await store().users.findAccess(user.id)
    const { userId, provider, upstreamUserId } = login
    const broken = store().transact(async (tx) => {
      const given = { userId, provider, secret: 'another' }
      const saved = await tx.logins.save({ ...given, upstreamUserId })
      assert.equal(saved.version, login.version + 1)
      const made = await tx.logins.save({ ...given, upstreamUserId: 'somebody else' })
      await tx.connections.save(newConnection(userId, made.id))
      throw new Error('the test breaks off')
    })
    await assert.rejects(broken, /the test breaks off/)
    assert.deepEqual(await store().logins.list(user.id), [login])
    assert.equal((await store().connections.list(user.id)).length, 1)
    assert.deepEqual(await store().users.findAccess(user.id), before)
  })

  test('deleting a login or its user runs before the link that saves it, or waits for its end', async () => {
    for (let round = 0; round < 10; round += 1) {
      const user = await addUser(store())
      const login = await addLogin(store(), user.id)
      const { userId, provider, upstreamUserId } = login
      const works = [
        () =>
          store().transact(async (tx) => {
            const { id } = await tx.logins.save({ userId, provider, upstreamUserId, secret: 'new' })
            await tx.connections.save(newConnection(userId, id))
            await tx.audit(entryOf(userId))
          }),
        () => store().logins.deleteUnused(login.id),
        () => store().users.disarm(userId, now),
      ]
      const turned = [...works.slice(round % 3), ...works.slice(0, round % 3)]
      const ended = await Promise.allSettled(turned.map((work) => work()))
      const failed = ended.filter((one) => one.status === 'rejected')
      for (const { reason } of failed) assert.ok(reason instanceof OwnerGoneError)
      const links = await Promise.all(
        (await store().logins.listIds(userId)).map((id) => store().connections.listByLogin(id)),
      )
      // A link that came first is there as a whole for the deletion to find; one that came later left
      // nothing.
      const wanted = failed.length === 0 ? ['deleting'] : []
      assert.deepEqual(
        links.flat().map(({ status }) => status),
        wanted,
      )
      assert.equal((await auditOf(userId)).length, wanted.length)
    }
  })

  test('R35: what a run found is kept with its end or not at all, as when its lease is lost', async () => {
    const { user, connection } = await addLink(store())
    const endpoint = await addEndpoint(store(), user.id)
    const [account] = await replaceAccounts(store(), connection.id, [newAccount()])
    assert.ok(account)
    await store().ledgers.begin(user.id)
    const leases = { now, leaseMs: 1000, reason: 'operator' } as const
    const lost = await store().syncs.claim(connection.id, leases)
    const held = await store().syncs.claim(connection.id, { ...leases, now: now + 1000 })
    assert.ok(lost?.kind === 'claimed' && held?.kind === 'claimed')
    const keep = async (runId: SyncRunId) => {
      const sealed = await store().events.seal([newEvent(user.id, connection.id)])
      await store().transact(async (tx) => {
        assert.notEqual(await tx.ledgers.readKey(user.id), null)
        const month = { accountId: account.id, month: 1, entries: Buffer.from(runId) }
        await tx.ledgers.write([month])
        assert.equal(await tx.events.accept(sealed), 1)
        const found = { newCount: 1, updatedCount: 0, chunks: 1, rowsReadAt: now, ledgerFrom: now }
        const outcome = { kind: 'succeeded', ...found } as const
        const end = { outcome, endedAt: now, nextDueAt: now + 5000 }
        if (!(await tx.syncs.finish(runId, end))) throw new Error('the lease is lost')
      })
      return sealed.map(({ id }) => id)
    }
    await assert.rejects(keep(lost.sync.runId), /the lease is lost/)
    assert.deepEqual(await store().ledgers.read([account.id]), [])
    assert.equal(await claimEndpoint(store(), endpoint.id), null)
    const kept = await keep(held.sync.runId)
    const [month] = await store().ledgers.read([account.id])
    assert.equal(Buffer.from(month?.entries ?? []).toString(), held.sync.runId)
    assert.deepEqual(await deliverAll(store(), endpoint.id), kept)
  })

  test('a transaction reads what it wrote, the prepared look-up of a key too', async () => {
    const user = await addUser(store())
    const key = newKey(user.id)
    const found = await store().transact(async (tx) => {
      await tx.keys.create(key)
      return tx.keys.findCaller(key.hash)
    })
    assert.equal(found?.userId, user.id)
  })

  test('a user is notified once, however many of their rows changed', async () => {
    const user = await addUser(store())
    const heard: unknown[] = []
    const stop = store().onChange((change) => heard.push(change.userId))
    await store().transact(async (tx) => {
      await tx.users.outdate(user.id)
      await tx.keys.create(newKey(user.id))
      assert.ok(!heard.includes(user.id))
    })
    stop()
    assert.equal(heard.filter((id) => id === user.id).length, 1)
  })
}
