/**
 * The contract of the port for operators who inspect the event river: endpoints, leases, ledgers, runs, event
 * keys.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserId } from '#kernel/ids.ts'
import type { Store } from '#store/ports/store.ts'
import type { SyncReason } from '#store/ports/syncs.ts'
import {
  accept,
  addEndpoint,
  claimEndpoint,
  degraded,
  disabled,
  healthy,
  hour,
  minute,
  newEvent,
  paused,
} from './event-rows.ts'
import type { Place } from './place.ts'
import { addLink, addUser, now } from './rows.ts'

const bounds = {
  now,
  startedBefore: now - 30 * minute,
  heldBeyond: now + 10 * minute,
  limit: 10,
}

export function testRiverInspector(makePlace: () => Promise<Place>): void {
  const inStore = (work: (store: Store) => Promise<void>) => async () => {
    const place = await makePlace()
    try {
      const store = await place.open()
      try {
        await work(store)
      } finally {
        await store.close()
      }
    } finally {
      await place.remove()
    }
  }

  test(
    'paused endpoints and those that the service disabled are listed with their owner, oldest first, and no others',
    inStore(async (store) => {
      const user = await addUser(store)
      const failing = { ...disabled, disabledReason: 'failing', failingSince: now - hour } as const
      const gone = { ...disabled, disabledReason: 'gone' } as const
      const states = [gone, healthy, degraded, disabled, paused, failing]
      const ids: string[] = []
      for (const [index, health] of states.entries()) {
        const { id } = await addEndpoint(store, user.id, { createdAt: now + index })
        await store.endpoints.setHealth(id, health)
        ids.push(id)
      }
      const { email } = user
      const listed = await store.inspector.listTroubledEndpoints(10)
      assert.deepEqual(listed, [
        { id: ids[0], email, health: 'disabled', failingSince: null, disabledReason: 'gone' },
        { id: ids[4], email, health: 'paused', failingSince: now, disabledReason: null },
        {
          id: ids[5],
          email,
          health: 'disabled',
          failingSince: now - hour,
          disabledReason: 'failing',
        },
      ])
      assert.deepEqual(await store.inspector.listTroubledEndpoints(2), listed.slice(0, 2))
      assert.deepEqual(await store.inspector.listDamagedEndpoints(10), [])
    }),
  )

  test(
    'a run that began long ago, and a lease that ends far ahead, are stuck; a new run and an expired lease are not',
    inStore(async (store) => {
      const claimAt = async (at: number, leaseMs: number) => {
        const { connection } = await addLink(store, { createdAt: at })
        await store.syncs.claim(connection.id, { now: at, leaseMs, reason: 'operator' })
        return connection.id
      }
      await claimAt(now - minute, 2 * minute)
      await claimAt(now - hour, 2 * minute)
      const long = await claimAt(now - hour, hour + minute)
      const ahead = await claimAt(now - minute, 24 * hour)
      const stuck = [
        { kind: 'sync', id: long, startedAt: now - hour, leaseUntil: now + minute },
        { kind: 'sync', id: ahead, startedAt: now - minute, leaseUntil: now + 24 * hour - minute },
      ].sort((one, other) => (one.id < other.id ? -1 : 1))
      assert.deepEqual(await store.inspector.listStuckLeases(bounds), stuck)
      assert.deepEqual(
        await store.inspector.listStuckLeases({ ...bounds, limit: 1 }),
        stuck.slice(0, 1),
      )
    }),
  )

  test(
    'an endpoint whose lease ends far ahead is stuck, one that waits for its next attempt is not',
    inStore(async (store) => {
      const { user, connection } = await addLink(store)
      const { id } = await addEndpoint(store, user.id)
      await accept(store, [newEvent(user.id, connection.id)])
      const claimed = await claimEndpoint(store, id)
      assert.ok(claimed !== null)
      assert.deepEqual(await store.inspector.listStuckLeases(bounds), [])
      await store.deliveries.renew(claimed.lease, now + hour)
      assert.deepEqual(await store.inspector.listStuckLeases(bounds), [
        { kind: 'endpoint', id, leaseUntil: now + hour },
      ])
      await store.deliveries.release(claimed.lease, { now, notBefore: now + hour })
      assert.deepEqual(await store.inspector.listStuckLeases(bounds), [])
    }),
  )

  test(
    'R34b: users with endpoints or consumers and no ledger are counted once each, and ledgers of users with neither',
    inStore(async (store) => {
      const both = await addUser(store)
      await store.ledgers.begin(both.id)
      await addEndpoint(store, both.id)
      const addConsumer = (userId: UserId, name: string) =>
        store.consumers.create({ userId, name, createdAt: now }, { ofSight: 20, inAll: 100 })
      const fetching = await addUser(store)
      await store.ledgers.begin(fetching.id)
      await addConsumer(fetching.id, 'books')
      const none = { withoutLedger: 0, unusedLedgers: 0 }
      assert.deepEqual(await store.inspector.countLedgerMismatches(), none)
      const without = await addUser(store)
      await addEndpoint(store, without.id)
      await addEndpoint(store, without.id)
      await addConsumer(without.id, 'books')
      await addConsumer((await addUser(store)).id, 'books')
      for (let count = 0; count < 3; count += 1)
        await store.ledgers.begin((await addUser(store)).id)
      assert.deepEqual(await store.inspector.countLedgerMismatches(), {
        withoutLedger: 2,
        unusedLedgers: 3,
      })
    }),
  )

  test(
    'the newest run that a webhook of a provider asked for is found, by provider',
    inStore(async (store) => {
      const { connection } = await addLink(store)
      const run = async (at: number, reason: SyncReason) => {
        const claimed = await store.syncs.claim(connection.id, { now: at, leaseMs: minute, reason })
        assert.ok(claimed?.kind === 'claimed')
        const outcome = { kind: 'failed', code: 'internal', message: 'it failed' } as const
        await store.syncs.finish(claimed.sync.runId, {
          outcome,
          endedAt: at,
          nextDueAt: at + 10 * hour,
        })
      }
      await run(now, 'operator')
      assert.deepEqual(await store.inspector.findProviderRuns(), {})
      await run(now + 1, 'provider')
      await run(now + 2, 'provider')
      await run(now + 3, 'operator')
      assert.deepEqual(await store.inspector.findProviderRuns(), { akahu: now + 2 })
    }),
  )

  test(
    'the place of the event keys accepts writes, is named, and is private',
    inStore(async (store) => {
      const { place, exposure } = await store.inspector.examineKeys()
      assert.match(place, /event-keys\.db$|^schema .*_event_keys$/)
      assert.equal(exposure, null)
    }),
  )
}
