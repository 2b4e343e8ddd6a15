/** The contract of the port for events about connections (reading R41). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionEventTypes, EventEnvelope, type EventType } from '#contract/events.ts'
import type { EndpointId, UserId } from '#kernel/ids.ts'
import type { WorkKind } from '#store/ports/changes.ts'
import type { WaitingEvent } from '#store/ports/connection-events.ts'
import type { Store } from '#store/ports/store.ts'
import { makeConnectionEvents } from '#webhooks/accept-connection-events.ts'
import { addEndpoint, disabled } from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, addLogin, addUser, newConnection, now } from './rows.ts'

const never = new AbortController().signal
const day = 86_400_000
const every: readonly EventType[] = [...connectionEventTypes]

/** A connection whose user has an endpoint for these events, made after the connection. */
async function addWatched(store: Store, events = every) {
  const link = await addLink(store)
  const endpoint = await addEndpoint(store, link.user.id, { events })
  return { ...link, endpoint }
}

/** Those of this user that wait, in their order. */
async function listWaiting(store: Store, userId: UserId): Promise<readonly WaitingEvent[]> {
  const all = await store.connectionEvents.listWaiting(10_000)
  return all.filter((one) => one.userId === userId)
}

const typesOf = async (store: Store, userId: UserId) =>
  (await listWaiting(store, userId)).map(({ type, connection }) => [type, connection.status])

/** The envelopes that the endpoint gets, in the order of their deliveries. */
async function listAccepted(store: Store, endpoint: EndpointId): Promise<EventEnvelope[]> {
  const rows = await store.deliveries.list(endpoint, { after: null, limit: 1000 })
  const envelopes: EventEnvelope[] = []
  for (const { eventId } of rows.toReversed()) {
    const body = await store.events.open(eventId)
    envelopes.push(EventEnvelope.parse(JSON.parse(Buffer.from(body ?? '').toString('utf8'))))
  }
  return envelopes
}

const acceptAll = (store: Store) => makeConnectionEvents(store).run(never)

export function testConnectionEvents(store: StoreOf): void {
  testChanges(store)
  testAcceptance(store)
  testFailures(store)
  testExpiry(store)
}

function testChanges(store: StoreOf): void {
  test('R41: each way in which a status changes leaves one event of its type, and none where it stays', async () => {
    const { user, login, connection } = await addWatched(store())
    const { connections } = store()
    const { id } = connection
    const all = ['active', 'invalidated', 'pending_mfa', 'revoked'] as const
    const learnt = { login, connectionId: id, from: all }
    for (const to of ['invalidated', 'invalidated', 'active', 'revoked'] as const) {
      await connections.saveLearntStatus({ ...learnt, to })
    }
    const told = { connectionId: id, from: all }
    await connections.saveReportedStatus({ ...told, to: 'active', at: now + 10 })
    await connections.saveReportedStatus({ ...told, to: 'revoked', at: now + 5 })
    await connections.setStatus(id, 'pending_mfa')
    await connections.setStatus(id, 'active')
    // Linked again: as it was, then from another status.
    const again = newConnection(user.id, login.id, { upstreamId: connection.upstreamId })
    await connections.save(again)
    await connections.save({ ...again, status: 'invalidated' })
    await connections.save(newConnection(user.id, login.id))
    await connections.startDeletion(id, { endsAtProvider: false, at: now })
    await connections.startDeletion(id, { endsAtProvider: true, at: now })
    await connections.delete(id)
    assert.deepEqual(await typesOf(store(), user.id), [
      ['connection.invalidated', 'invalidated'],
      ['connection.restored', 'active'],
      ['connection.revoked', 'revoked'],
      ['connection.restored', 'active'],
      ['connection.restored', 'active'],
      ['connection.invalidated', 'invalidated'],
      ['connection.linked', 'active'],
      ['connection.removed', 'invalidated'],
    ])
  })

  test('R41: a change of all connections of a login is an event of each', async () => {
    const { user, login, connection } = await addWatched(store())
    const other = await store().connections.save(newConnection(user.id, login.id))
    const learnt = { login, connectionId: null, from: ['active'], to: 'revoked' } as const
    await store().connections.saveLearntStatus(learnt)
    const waiting = await listWaiting(store(), user.id)
    const revoked = waiting.filter(({ type }) => type === 'connection.revoked')
    assert.deepEqual(
      new Set(revoked.map((one) => one.connection.id)),
      new Set([connection.id, other.id]),
    )
  })

  test('R41: nothing waits for a user whose endpoints do not name the event; a disabled one that does counts', async () => {
    const { user, connection } = await addWatched(store(), [
      'transactions.synced',
      'trades.synced',
      'connection.removed',
    ])
    await store().connections.setStatus(connection.id, 'revoked')
    await store().connections.setStatus(connection.id, 'active')
    assert.deepEqual(await typesOf(store(), user.id), [])
    const { id } = await addEndpoint(store(), user.id, { events: ['connection.revoked'] })
    await store().endpoints.setHealth(id, disabled)
    await store().connections.setStatus(connection.id, 'revoked')
    assert.deepEqual(await typesOf(store(), user.id), [['connection.revoked', 'revoked']])
  })

  test('R41: a change that is undone leaves no event; one that is committed wakes whoever accepts it', async () => {
    const { user, connection } = await addWatched(store())
    const woken: WorkKind[] = []
    const unsubscribe = store().onWork((kind) => woken.push(kind))
    const undone = store().transact(async (tx) => {
      await tx.connections.setStatus(connection.id, 'revoked')
      throw new Error('undone')
    })
    await assert.rejects(undone, /undone/)
    assert.deepEqual(await typesOf(store(), user.id), [])
    assert.ok(!woken.includes('connection-event'))
    await store().connections.setStatus(connection.id, 'revoked')
    unsubscribe()
    assert.ok(woken.includes('connection-event'))
  })
}

function testAcceptance(store: StoreOf): void {
  test('R41: the events are accepted in the order of the changes, each for the endpoints that name it alone', async () => {
    const { user, connection, endpoint } = await addWatched(store())
    const some = await addEndpoint(store(), user.id, {
      events: ['trades.synced', 'connection.restored'],
    })
    const former = await addEndpoint(store(), user.id)
    await store().connections.setStatus(connection.id, 'invalidated')
    await store().connections.setStatus(connection.id, 'active')
    await store().connections.startDeletion(connection.id, { endsAtProvider: false, at: now })
    await store().connections.delete(connection.id)
    await acceptAll(store())
    const got = await listAccepted(store(), endpoint.id)
    assert.deepEqual(
      got.map(({ type }) => type),
      ['connection.invalidated', 'connection.restored', 'connection.removed'],
    )
    const [invalidated] = got
    assert.deepEqual(invalidated?.data, {
      id: connection.id,
      provider: 'akahu',
      category: 'banking',
      institution_id: 'inst-1',
      institution_name: 'Kōwhai Bank',
      institution_logo: null,
      status: 'invalidated',
      last_refreshed_at: null,
      created_at: new Date(now).toISOString(),
    })
    assert.deepEqual(invalidated.metadata, {
      sync_run_id: null,
      new_count: 0,
      updated_count: 0,
      chunk: 1,
      total_chunks: 1,
    })
    const restored = await listAccepted(store(), some.id)
    assert.deepEqual(
      restored.map(({ type }) => type),
      ['connection.restored'],
    )
    assert.deepEqual(await listAccepted(store(), former.id), [])
    assert.deepEqual(await listWaiting(store(), user.id), [])
  })

  test('R41: processes that accept at the same time make one event of each change', async () => {
    const { user, connection, endpoint } = await addWatched(store())
    for (let round = 0; round < 4; round += 1) {
      await store().connections.setStatus(connection.id, 'invalidated')
      await store().connections.setStatus(connection.id, 'active')
      await Promise.all([1, 2, 3].map(() => acceptAll(store())))
    }
    const got = await listAccepted(store(), endpoint.id)
    assert.deepEqual(
      got.map(({ type }) => type),
      Array.from({ length: 4 }, () => ['connection.invalidated', 'connection.restored']).flat(),
    )
    assert.deepEqual(await listWaiting(store(), user.id), [])
  })

  test('R41: a change that was noticed by two processes at once is one event', async () => {
    const { user, login, connection } = await addWatched(store())
    const lost = { login, connectionId: connection.id, from: ['active'], to: 'revoked' } as const
    await Promise.all([1, 2, 3, 4].map(() => store().connections.saveLearntStatus(lost)))
    assert.deepEqual(await typesOf(store(), user.id), [['connection.revoked', 'revoked']])
  })

  test('R41: of a user who is being deleted nothing is accepted, and nothing is left', async () => {
    const { user, connection } = await addWatched(store())
    await store().connections.setStatus(connection.id, 'revoked')
    await store().users.disarm(user.id, now)
    await acceptAll(store())
    assert.deepEqual(await listWaiting(store(), user.id), [])
    const other = await addWatched(store())
    await store().connections.setStatus(other.connection.id, 'revoked')
    await store().users.delete(other.user.id)
    assert.deepEqual(await listWaiting(store(), other.user.id), [])
  })
}

function testFailures(store: StoreOf): void {
  test('R41: a user whose events cannot be sealed keeps nobody else’s waiting, however many they are', async () => {
    const both = [await addWatched(store()), await addWatched(store())]
    const [broken, well] = both.toSorted((a, b) => (a.user.id < b.user.id ? -1 : 1))
    assert.ok(broken !== undefined && well !== undefined)
    for (let change = 0; change < 101; change += 1)
      await store().connections.setStatus(
        broken.connection.id,
        change % 2 === 0 ? 'revoked' : 'active',
      )
    await store().connections.setStatus(well.connection.id, 'revoked')
    const { connectionEvents, events, transact } = store()
    const seal: typeof events.seal = (rows) =>
      [...rows].some(({ userId }) => userId === broken.user.id)
        ? Promise.reject(new Error('no key'))
        : events.seal(rows)
    const failing = makeConnectionEvents({
      connectionEvents,
      events: { ...events, seal },
      transact,
    })
    await assert.rejects(async () => failing.run(never), AggregateError)
    assert.equal((await listAccepted(store(), well.endpoint.id)).length, 1)
    assert.equal((await listWaiting(store(), broken.user.id)).length, 101)
    await acceptAll(store())
    assert.equal((await listAccepted(store(), broken.endpoint.id)).length, 101)
  })
}

function testExpiry(store: StoreOf): void {
  const announce = (id: WaitingEvent['connection']['id'], days: 30 | 7 | 1, expiresAt: number) =>
    store().connectionEvents.announceExpiry(id, { expiresAt, days, at: now })

  test('R41: the end of a consent is announced once for each number of days, and anew once it is renewed', async () => {
    const { user, connection } = await addWatched(store())
    const [end, later] = [now + 5 * day, now + 20 * day]
    await store().connections.setConsentExpiry(connection.id, end)
    const both = await Promise.all([1, 2].map(() => announce(connection.id, 7, end)))
    assert.deepEqual(both.toSorted(), [false, true])
    assert.equal(await announce(connection.id, 30, end), false)
    assert.equal(await announce(connection.id, 1, end), true)
    assert.equal(await announce(connection.id, 30, later), false)
    await store().connections.setConsentExpiry(connection.id, later)
    assert.equal(await announce(connection.id, 30, later), true)
    const waiting = await listWaiting(store(), user.id)
    assert.deepEqual(
      waiting.map(({ type, expiresAt }) => [type, expiresAt]),
      [end, end, later].map((at) => ['connection.expiring', at]),
    )
  })

  test('R41: only the ends of active connections are listed, whose user has an endpoint that names the event', async () => {
    const watched = await addWatched(store())
    const broken = await addWatched(store())
    const unwatched = await addWatched(store(), ['transactions.synced', 'connection.revoked'])
    const user = await addUser(store())
    const login = await addLogin(store(), user.id)
    const late = newConnection(user.id, login.id, { consentExpiresAt: now + 40 * day })
    await addEndpoint(store(), user.id, { events: every })
    const endless = await store().connections.save(late)
    for (const { connection } of [watched, broken, unwatched])
      await store().connections.setConsentExpiry(connection.id, now + 9 * day)
    await store().connections.setStatus(broken.connection.id, 'invalidated')
    const own = [watched, broken, unwatched].map(({ connection }) => connection.id)
    const rows = await store().connectionEvents.listExpiring({
      before: now + 30 * day,
      after: { consentExpiresAt: now + 9 * day - 1, id: watched.connection.id },
      limit: 1000,
    })
    const found = rows.filter(({ id }) => [...own, endless.id].includes(id))
    assert.deepEqual(found, [
      {
        id: watched.connection.id,
        consentExpiresAt: now + 9 * day,
        toldExpiresAt: null,
        toldDays: null,
      },
    ])
    for (const { connection } of [broken, unwatched])
      assert.equal(await announce(connection.id, 30, now + 9 * day), false)
    assert.equal(await announce(watched.connection.id, 30, now + 9 * day), true)
    const [told] = await store().connectionEvents.listExpiring({
      before: now + 30 * day,
      after: { consentExpiresAt: now + 9 * day - 1, id: watched.connection.id },
      limit: 1000,
    })
    assert.equal(told?.toldDays, 30)
    assert.equal(told.toldExpiresAt, now + 9 * day)
  })

  test('R41 R42: the end of a consent is announced to whoever fetches events, without an endpoint', async () => {
    const { user, connection } = await addLink(store())
    const end = now + 9 * day
    await store().connections.setConsentExpiry(connection.id, end)
    const isListed = async () => {
      const after = { consentExpiresAt: end - 1, id: connection.id }
      const page = { before: now + 30 * day, after, limit: 1000 }
      const rows = await store().connectionEvents.listExpiring(page)
      return rows.some(({ id }) => id === connection.id)
    }
    assert.equal(await isListed(), false)
    const consumer = { userId: user.id, name: 'books', createdAt: now }
    await store().consumers.create(consumer, { ofSight: 20, inAll: 100 })
    assert.equal(await isListed(), true)
    assert.equal(await announce(connection.id, 30, end), true)
  })
}
