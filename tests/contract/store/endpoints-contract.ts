/** What the port promises of webhook endpoints. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EndpointId, newId, type UserId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import {
  acceptChunks,
  addEndpoint,
  attemptOf,
  claimEndpoint,
  degraded,
  deliverAll,
  disabled,
  dueEvents,
  healthy,
  hour,
  newEndpoint,
  paused,
  recordAs,
} from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, addUser, now } from './rows.ts'

export function testEndpoints(store: StoreOf): void {
  const endpoints = () => store().endpoints

  test('an endpoint comes back as it was given, to its user and to operators', async () => {
    const user = await addUser(store())
    const given = {
      userId: user.id,
      url: 'https://a.example.test/hook?x=1',
      events: ['trades.synced'],
      skipEmpty: true,
      pending: true,
      createdAt: now,
    } as const
    const row = await addEndpoint(store(), user.id, { ...given, secret: 'whsec_abc' })
    assert.deepEqual(row, { id: row.id, ...given, ...healthy })
    assert.deepEqual(await endpoints().find(row.id), row)
    const later = await addEndpoint(store(), user.id, { createdAt: now + 1 })
    assert.deepEqual(later.events, ['transactions.synced', 'trades.synced'])
    assert.deepEqual(await endpoints().list(user.id), [row, later])
    assert.deepEqual(await endpoints().list(newId<UserId>()), [])
    assert.equal(await endpoints().find(newId<EndpointId>()), null)
    assert.deepEqual(await endpoints().readSecrets(row.id), {
      current: 'whsec_abc',
      previous: null,
    })
    assert.equal(await endpoints().readSecrets(newId<EndpointId>()), null)
  })

  test('no user gets more endpoints than the limit, however many are created concurrently', async () => {
    const user = await addUser(store())
    const made = await Promise.all(
      Array.from({ length: 6 }, () => endpoints().create(newEndpoint(user.id), 3)),
    )
    assert.equal(made.filter((row) => row === 'too_many').length, 3)
    assert.equal((await endpoints().list(user.id)).length, 3)
  })

  test('a deleted user, or one being deleted, gets no endpoint, and a deletion removes endpoints', async () => {
    await assert.rejects(addEndpoint(store(), newId<UserId>()), OwnerGoneError)
    const user = await addUser(store())
    const { id } = await addEndpoint(store(), user.id)
    await store().users.disarm(user.id, now)
    assert.equal(await endpoints().find(id), null)
    await assert.rejects(addEndpoint(store(), user.id), OwnerGoneError)
  })

  test('R31: after a rotation both secrets are known, unless the former ends at once', async () => {
    const user = await addUser(store())
    const { id } = await addEndpoint(store(), user.id, { secret: 'whsec_one' })
    await endpoints().rotate(id, 'whsec_two', now + hour)
    assert.deepEqual(await endpoints().readSecrets(id), {
      current: 'whsec_two',
      previous: { secret: 'whsec_one', until: now + hour },
    })
    await endpoints().rotate(id, 'whsec_three', null)
    assert.deepEqual(await endpoints().readSecrets(id), { current: 'whsec_three', previous: null })
    await endpoints().rotate(newId<EndpointId>(), 'whsec_four', null)
  })

  test('R31: when the former secret ends at once, the lease of a process that signs with it ends too', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    const [event] = await acceptChunks(store(), user.id, connection.id, 1)
    const kept = await claimEndpoint(store(), id)
    assert.ok(kept)
    await endpoints().rotate(id, 'whsec_two', now + hour)
    assert.equal(await store().deliveries.renew(kept.lease, now + hour), true)
    await endpoints().rotate(id, 'whsec_three', null)
    assert.equal(await store().deliveries.renew(kept.lease, now + hour), false)
    const next = await claimEndpoint(store(), id)
    assert.equal(next?.secrets?.current, 'whsec_three')
    assert.deepEqual(await dueEvents(store(), id), [event])
  })

  test('health is kept and counted', async () => {
    const user = await addUser(store())
    const before = await endpoints().countByHealth()
    const changes = [degraded, paused, disabled]
    for (const change of changes) {
      const { id } = await addEndpoint(store(), user.id)
      await endpoints().setHealth(id, change)
      const row = await endpoints().find(id)
      assert.deepEqual({ ...row, ...change }, row)
    }
    await addEndpoint(store(), user.id)
    const after = await endpoints().countByHealth()
    for (const health of ['healthy', 'degraded', 'paused', 'disabled'] as const)
      assert.equal(after[health] - before[health], 1)
    await endpoints().setHealth(newId<EndpointId>(), healthy)
  })

  test('disabling an endpoint makes its pending deliveries missed, and the holder of the lease sees it', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    await acceptChunks(store(), user.id, connection.id, 3)
    const claimed = await claimEndpoint(store(), id)
    assert.ok(claimed)
    const [due] = await store().deliveries.listDue(id, { now, limit: 10 })
    assert.ok(due)
    await endpoints().setHealth(id, disabled)
    const attempt = attemptOf({ status: 500, failure: 'HTTP 500' })
    const decision = { kind: 'retry', dueAt: now + hour } as const
    const seen: EndpointRow[] = []
    const health = (current: EndpointRow) => {
      seen.push(current)
      return disabled
    }
    const result = {
      lease: claimed.lease,
      deliveryId: due.id,
      attempt,
      decision,
      holdUntil: null,
      health,
    }
    const [after] = await store().deliveries.record([result])
    assert.equal(after?.endpoint.health, 'disabled')
    assert.deepEqual(
      seen.map((row) => row.health),
      ['disabled'],
    )
    const rows = await store().deliveries.list(id, { after: null, limit: 10 })
    assert.deepEqual(
      rows.map((row) => [row.status, row.dueAt, row.attempts.length]),
      [
        ['missed', null, 0],
        ['missed', null, 0],
        ['missed', null, 1],
      ],
    )
    await store().deliveries.release(claimed.lease, { now, notBefore: now })
    assert.equal(await claimEndpoint(store(), id, now + hour), null)
    await endpoints().setHealth(id, healthy)
    assert.equal(await claimEndpoint(store(), id, now + hour), null, 'missed stays missed')
    await acceptChunks(store(), user.id, connection.id, 1)
    assert.notEqual(await claimEndpoint(store(), id), null)
  })

  test('an attempt that succeeds while the endpoint is disabled has delivered its event', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    await acceptChunks(store(), user.id, connection.id, 2)
    const claimed = await claimEndpoint(store(), id)
    const [due] = await store().deliveries.listDue(id, { now, limit: 10 })
    assert.ok(claimed && due)
    await endpoints().setHealth(id, disabled)
    await recordAs(store(), claimed.lease, due.id, { health: disabled })
    const rows = await store().deliveries.list(id, { after: null, limit: 10 })
    assert.deepEqual(
      rows.map(({ status }) => status),
      ['missed', 'succeeded'],
    )
  })

  test('an endpoint that is enabled again does not wait as its receiver demanded', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    const ids = await acceptChunks(store(), user.id, connection.id, 1)
    const claimed = await claimEndpoint(store(), id)
    assert.ok(claimed)
    await store().deliveries.release(claimed.lease, { now, notBefore: now + hour })
    await endpoints().setHealth(id, degraded)
    assert.equal(await claimEndpoint(store(), id), null)
    await endpoints().setHealth(id, healthy)
    assert.deepEqual(await deliverAll(store(), id), ids)
  })

  test('deleting an endpoint deletes its deliveries and attempts, and keeps the events', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    const [event] = await acceptChunks(store(), user.id, connection.id, 1)
    const claimed = await claimEndpoint(store(), id)
    const [due] = await store().deliveries.listDue(id, { now, limit: 10 })
    assert.ok(claimed && due && event)
    await recordAs(store(), claimed.lease, due.id, { decision: { kind: 'exhausted' } })
    await endpoints().delete(id)
    assert.equal(await endpoints().find(id), null)
    assert.equal(await store().deliveries.find(due.id), null)
    assert.deepEqual(await store().deliveries.list(id, { after: null, limit: 10 }), [])
    assert.equal(await store().deliveries.renew(claimed.lease, now + hour), false)
    assert.notEqual(await store().events.find(event), null)
  })
}
