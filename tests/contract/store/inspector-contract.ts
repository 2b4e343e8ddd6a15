/** The contract of the port for operators who inspect the whole store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionStatus } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { Store } from '#store/ports/store.ts'
import type { SyncOutcome } from '#store/ports/syncs.ts'
import { keyA, keyB, makeInPlace, type Place } from './place.ts'
import { addGrant, addLink, addLogin, addUser, now } from './rows.ts'

export function testInspector(makePlace: () => Promise<Place>): void {
  const inPlace = makeInPlace(makePlace)
  const inStore = (work: (store: Store, place: Place) => Promise<void>) =>
    inPlace(async (place) => {
      const store = await place.open()
      try {
        await work(store, place)
      } finally {
        await store.close()
      }
    })

  test(
    'the store reports engine, version and migrations, and accepts the write that proves it writable',
    inStore(async (store) => {
      const before = Date.now()
      const condition = await store.inspector.examine()
      assert.match(condition.version, /^\d+\.\d+/)
      assert.equal(condition.migrations[0], '0001_store')
      assert.equal(condition.unknownMigrations, 0)
      if (condition.engine === 'sqlite') assert.equal(condition.theirTimeMs, null)
      else assert.ok(Math.abs((condition.theirTimeMs ?? 0) - before) < 60_000)
    }),
  )

  test(
    'connections are counted by status, and those that are not active are listed with their owner, oldest first',
    inStore(async (store) => {
      const statuses: ConnectionStatus[] = ['revoked', 'active', 'pending_mfa', 'invalidated']
      const made: Awaited<ReturnType<typeof addLink>>[] = []
      for (const [index, status] of statuses.entries()) {
        made.push(await addLink(store, { status, createdAt: now + index }))
      }
      const gone = await addLink(store, { createdAt: now - 1 })
      await store.connections.setStatus(gone.connection.id, 'deleting')
      const listed = [gone, ...made].filter(({ connection }) => connection !== made[1]?.connection)
      const troubled = await store.inspector.listTroubled(10)
      assert.deepEqual(
        troubled,
        listed.map(({ user, connection }) => ({
          id: connection.id,
          email: user.email,
          provider: 'akahu',
          institutionName: 'Kōwhai Bank',
          loginId: connection.loginId,
          status: connection === gone.connection ? 'deleting' : connection.status,
        })),
      )
      assert.deepEqual(await store.inspector.listTroubled(2), troubled.slice(0, 2))
      assert.deepEqual(await store.inspector.countConnections(), {
        active: 1,
        invalidated: 1,
        pending_mfa: 1,
        revoked: 1,
        deleting: 1,
      })
    }),
  )

  test(
    'the providers at which somebody is linked are listed once each, with their people and the newest refresh',
    inStore(async (store) => {
      assert.deepEqual(await store.inspector.listUse(2), [])
      const emails: string[] = []
      for (const [index, status] of (['active', 'active', 'deleting'] as const).entries()) {
        const { user, connection } = await addLink(store, { lastRefreshedAt: now + index })
        if (status === 'deleting') await store.connections.setStatus(connection.id, status)
        emails.push(user.email)
      }
      assert.deepEqual(await store.inspector.listUse(2), [
        {
          provider: 'akahu',
          userCount: 3,
          emails: emails.toSorted().slice(0, 2),
          connectionCount: 2,
          refreshedAt: now + 1,
        },
      ])
    }),
  )

  test(
    'active connections whose last sync failed are listed with the newest failure and the first run since the last success',
    inStore(async (store) => {
      const { user, connection } = await addLink(store)
      const other = await addLink(store, { createdAt: now + 1 })
      const dead = await addLink(store, { status: 'invalidated' })
      const ended = async (id: ConnectionId, at: number, outcome: SyncOutcome) => {
        const claimed = await store.syncs.claim(id, {
          now: at,
          leaseMs: 60_000,
          reason: 'schedule',
        })
        assert.ok(claimed?.kind === 'claimed')
        const end = { outcome, endedAt: at + 1, nextDueAt: at + 2 }
        assert.ok(await store.syncs.finish(claimed.sync.runId, end))
      }
      const failed = (code: string): SyncOutcome => ({
        kind: 'failed',
        code,
        message: `of ${code}`,
      })
      const counts = { newCount: 0, updatedCount: 0, chunks: 0, rowsReadAt: null, ledgerFrom: null }
      const list = (also: readonly ConnectionId[] = [], limit = 5) =>
        store.inspector.listFailing({ also, limit })
      assert.deepEqual(await list(), [])
      await ended(connection.id, now + 10, failed('earlier'))
      await ended(connection.id, now + 20, { kind: 'succeeded', ...counts })
      assert.deepEqual(await list(), [])
      await ended(connection.id, now + 30, failed('first'))
      await ended(connection.id, now + 40, failed('newest'))
      await ended(dead.connection.id, now + 40, failed('consent_lost'))
      const row = {
        id: connection.id,
        email: user.email,
        provider: 'akahu',
        institutionName: 'Kōwhai Bank',
        loginId: connection.loginId,
        syncs: { failure: { code: 'newest', message: 'of newest' }, since: now + 30 },
      }
      assert.deepEqual(await list(), [row])
      const both = await list([other.connection.id])
      assert.deepEqual(
        both.map(({ id, syncs }) => [id, syncs === null]),
        [
          [connection.id, false],
          [other.connection.id, true],
        ],
      )
      assert.equal((await list([other.connection.id], 1)).length, 1)
    }),
  )

  test(
    'the logins of connections that are not being deleted are listed with their owner',
    inStore(async (store) => {
      const { user, connection } = await addLink(store)
      const gone = await addLink(store)
      await store.connections.setStatus(gone.connection.id, 'deleting')
      await addLogin(store, user.id, 'without a connection')
      assert.deepEqual(await store.inspector.listUsedLogins(5), [
        { id: connection.loginId, provider: 'akahu', email: user.email },
      ])
      assert.deepEqual(await store.inspector.listUsedLogins(0), [])
    }),
  )

  test(
    'active connections that were last refreshed before an instant are listed, the oldest first',
    inStore(async (store) => {
      const late = await addLink(store, { lastRefreshedAt: now + 2 })
      const early = await addLink(store, { lastRefreshedAt: now + 1 })
      await addLink(store, { lastRefreshedAt: now + 3 })
      await addLink(store, { lastRefreshedAt: null })
      await addLink(store, { lastRefreshedAt: now, status: 'invalidated' })
      const query = { provider: 'akahu', before: now + 3, limit: 5 } as const
      const stale = await store.inspector.listStale(query)
      assert.deepEqual(
        stale,
        [early, late].map(({ user, connection }) => ({
          id: connection.id,
          email: user.email,
          institutionName: connection.institutionName,
          lastRefreshedAt: connection.lastRefreshedAt,
        })),
      )
      assert.deepEqual(await store.inspector.listStale({ ...query, limit: 1 }), stale.slice(0, 1))
      assert.deepEqual(await store.inspector.listStale({ ...query, provider: 'up' }), [])
    }),
  )

  test(
    'the newest active connections of a provider are listed by ids alone, at most so many',
    inStore(async (store) => {
      const early = await addLink(store, { createdAt: now + 1 })
      const late = await addLink(store, { createdAt: now + 2 })
      await addLink(store, { createdAt: now + 3, status: 'revoked' })
      const query = { provider: 'akahu', limit: 5 } as const
      const linked = await store.inspector.listLinked(query)
      assert.deepEqual(
        linked,
        [late, early].map(({ user, connection: { id, loginId } }) => ({
          id,
          userId: user.id,
          loginId,
        })),
      )
      assert.deepEqual(await store.inspector.listLinked({ ...query, limit: 1 }), linked.slice(0, 1))
      assert.deepEqual(await store.inspector.listLinked({ ...query, provider: 'up' }), [])
    }),
  )

  test(
    'rows that a rotation could not seal again are counted, and none where every row is under the first key',
    inPlace(async (place) => {
      const first = await place.open({ encryptionKeys: [keyA] })
      const user = await addUser(first)
      for (const secret of ['one', 'two', 'three']) await addLogin(first, user.id, secret)
      await addGrant(first, user.id)
      assert.equal(await first.inspector.countAged(10), 0)
      await first.close()
      // A secret in another row than its own does not open: two of the three stay under their key.
      await place.tamper(
        'update logins set secret = (select secret from logins order by id limit 1)',
      )
      const second = await place.open({ encryptionKeys: [keyB, keyA] })
      const deadline = performance.now() + 5000
      while ((await second.inspector.countAged(10)) > 2 && performance.now() < deadline) {}
      assert.equal(await second.inspector.countAged(10), 2)
      assert.equal(await second.inspector.countAged(1), 1)
      await second.close()
    }),
  )

  test(
    'a store that a newer version has migrated meanwhile says so',
    inStore(async (store, place) => {
      await place.tamper("insert into schema_migrations values (9999, '9999_future', 'x')")
      assert.equal((await store.inspector.examine()).unknownMigrations, 1)
    }),
  )
}
