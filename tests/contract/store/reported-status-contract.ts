/** The contract of the port for reports of providers: statuses, which arrive late, twice and in any order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionStatus } from '#contract/resources.ts'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import type { StoreOf } from './place.ts'
import { addKey, addLink, epochOf, newConnection, now } from './rows.ts'

const all: readonly ConnectionStatus[] = ['active', 'invalidated', 'pending_mfa', 'revoked']

export function testReportedStatus(store: StoreOf): void {
  test('a reported status counts when nothing newer is known, whatever the order of arrival', async () => {
    const { connection } = await addLink(store(), { createdAt: now })
    const { id: connectionId } = connection
    const report = (to: ConnectionStatus, at: number) =>
      store().connections.saveReportedStatus({ connectionId, from: all, to, at })
    const status = async () => (await store().connections.find(connectionId))?.status
    assert.equal(await report('invalidated', now - 1), false)
    assert.equal(await report('invalidated', now), false)
    assert.equal(await status(), 'active')
    assert.equal(await report('invalidated', now + 10), true)
    assert.equal(await status(), 'invalidated')
    assert.equal(await report('active', now + 30), true)
    assert.equal(await report('invalidated', now + 20), false)
    assert.equal(await report('invalidated', now + 30), false)
    assert.equal(await status(), 'active')
  })

  test('a status obtained with credentials overrides older reports of the provider, and needs no time itself', async () => {
    const { login, connection } = await addLink(store(), { createdAt: now })
    const { id: connectionId } = connection
    const reported = { connectionId, from: all, to: 'invalidated' } as const
    const learnt = { login, connectionId, from: all, to: 'active' } as const
    await store().connections.saveLearntStatus({ ...learnt, at: now + 50 })
    assert.equal(await store().connections.saveReportedStatus({ ...reported, at: now + 40 }), false)
    assert.equal(await store().connections.saveReportedStatus({ ...reported, at: now + 60 }), true)
    await store().connections.saveLearntStatus(learnt)
    assert.equal((await store().connections.find(connectionId))?.status, 'active')
    const outdated = { ...login, version: login.version + 1 }
    await store().connections.saveLearntStatus({ ...learnt, login: outdated, at: now + 90 })
    assert.equal(await store().connections.saveReportedStatus({ ...reported, at: now + 80 }), true)
  })

  test('linking again overrides older reports', async () => {
    const { user, login, connection } = await addLink(store(), { createdAt: now })
    const { upstreamId, id: connectionId } = connection
    const again = newConnection(user.id, login.id, { upstreamId, createdAt: now + 100 })
    await store().connections.save(again)
    const reported = { connectionId, from: all, to: 'invalidated' } as const
    assert.equal(await store().connections.saveReportedStatus({ ...reported, at: now + 90 }), false)
    assert.equal(await store().connections.saveReportedStatus({ ...reported, at: now + 101 }), true)
  })

  test('a reported status changes a connection only from its states, and never one that is being deleted', async () => {
    const { connection } = await addLink(store(), { status: 'revoked' })
    const { id: connectionId } = connection
    const from = ['active', 'pending_mfa'] as const
    const reported = { connectionId, from, to: 'invalidated' } as const
    assert.equal(await store().connections.saveReportedStatus({ ...reported, at: now + 1 }), true)
    assert.equal((await store().connections.find(connectionId))?.status, 'revoked')
    assert.equal(
      await store().connections.saveReportedStatus({ ...reported, from: [], at: now + 2 }),
      true,
    )
    await store().connections.setStatus(connectionId, 'deleting')
    await store().connections.saveReportedStatus({ ...reported, from: all, at: now + 3 })
    assert.equal((await store().connections.find(connectionId))?.status, 'deleting')
    const nobody = { ...reported, connectionId: newId<ConnectionId>(), at: now }
    assert.equal(await store().connections.saveReportedStatus(nobody), false)
  })

  test('R10: a reported status makes the epoch grow when it changes something', async () => {
    const { user, connection } = await addLink(store())
    const { hash } = await addKey(store(), user.id)
    const from = await epochOf(store(), hash)
    const reported = { connectionId: connection.id, from: all, to: 'invalidated' } as const
    for (const at of [now + 1, now + 2, now + 2])
      await store().connections.saveReportedStatus({ ...reported, at })
    assert.equal(await epochOf(store(), hash), from + 1)
  })

  test('of many statuses that are reported at once the newest is stored', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { connection } = await addLink(store())
      const statuses = ['invalidated', 'active', 'revoked', 'active', 'invalidated'] as const
      await Promise.all(
        statuses.map((to, index) =>
          store().connections.saveReportedStatus({
            connectionId: connection.id,
            from: all,
            to,
            at: now + 1 + index,
          }),
        ),
      )
      assert.equal((await store().connections.find(connection.id))?.status, 'invalidated')
    }
  })
}
