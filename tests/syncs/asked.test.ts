/**
 * Syncs that people ask for: who asks during a run is answered with that run, and runs are not more than
 * there are places.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { byOperator } from '#contract/actor.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { runLeaseMs } from '#syncs/lease.ts'
import { makeRuns } from '#syncs/runs.ts'
import { makeSyncNow } from '#syncs/sync-now.ts'
import { makeSyncs } from '#syncs/syncs.ts'
import { activity, linkBroker } from '#tests/support/broker.ts'
import { startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'
import { endSyncs } from '../request/provider-webhooks/post.ts'
import { fiskilAgo, watchFiskil } from './banks.ts'
import { makeSyncDeps } from './parts.ts'
import { watch } from './watcher.ts'

/** A room of syncs whose runs wait at their beginning until the test lets them continue. */
async function open(t: TestContext) {
  const service = await startService()
  t.after(() => service.close())
  const held = new Map<ConnectionId, () => void>()
  const begun: ConnectionId[] = []
  let isHeld = true
  const refresh = async (id: ConnectionId) => {
    begun.push(id)
    if (isHeld) await new Promise<void>((resolve) => held.set(id, resolve))
  }
  const room = makeSyncs({ ...makeSyncDeps(t, service), refresh })
  t.after(() => room.close(0))
  const { store } = service.app
  return {
    service,
    room,
    begun,
    /** Lets the run continue; without a connection all of them, now and later. */
    release(id?: ConnectionId) {
      if (id !== undefined) return held.get(id)?.()
      isHeld = false
      for (const goOn of held.values()) goOn()
    },
    ask: (id: ConnectionId) => room.runSync(byOperator, id),
    runsOf: (id: ConnectionId) => store.syncs.listRuns(id, 100),
    /** Resolves once so many have been noted as asking for a run that was under way. */
    joined: (count: number) =>
      until(`${count} have joined`, async () => {
        const page = { userId: null, after: null, limit: 100 }
        const { length } = (await store.auditLog.list(page)).filter(isAsking)
        return length >= count
      }),
  }
}

const isAsking = ({ action }: { readonly action: string }) => action === 'connections.sync'

test('25 concurrent requests for a sync of a user without a ledger are answered by one run', async (t) => {
  const { service, ask, joined, release, runsOf } = await open(t)
  const user = await service.createUser()
  const [link] = await service.link(user, 'twins', 'fiskil')
  assert.ok(link !== undefined)
  const asked = Array.from({ length: 25 }, () => ask(link.id))
  await joined(24)
  release()
  const answers = await Promise.all(asked)
  const runs = await runsOf(link.id)
  assert.equal(runs.length, 1)
  assert.deepEqual(new Set(answers.map(({ syncRunId }) => syncRunId)), new Set([runs[0]?.id]))
})

test('a request during a run is answered with its counts', async (t) => {
  const { service, ask, joined, release, runsOf } = await open(t)
  const bank = await watchFiskil(service, [fiskilAgo(service, 'a', 1), fiskilAgo(service, 'b', 2)])
  const asked = [ask(bank.connectionId), ask(bank.connectionId), ask(bank.connectionId)]
  await joined(2)
  release()
  const counts = (await Promise.all(asked)).map(({ newCount, chunks }) => [newCount, chunks])
  assert.deepEqual(counts, [
    [2, 1],
    [2, 1],
    [2, 1],
  ])
  assert.equal((await runsOf(bank.connectionId)).length, 1)
})

test('who asks during a run of the schedule that may not read rows yet is answered by one run that reads them', async (t) => {
  const { service, ask, begun, joined, release, room, runsOf } = await open(t)
  const user = await service.createUser()
  await watch(service, user)
  const { connection, upstream } = await linkBroker(service, user, [{ activities: [activity()] }])
  assert.equal((await service.app.syncs.runSync(byOperator, connection.id)).newCount, 1)
  upstream[0]?.activities.push(activity())
  service.clock.advance(8 * 3_600_000)
  const claiming = room.claim.run(new AbortController().signal)
  await until('the run of the schedule has begun', () => begun.length === 1)
  await claiming
  const asked = Array.from({ length: 5 }, () => ask(connection.id))
  await joined(6)
  release()
  const answers = await Promise.all(asked)
  assert.deepEqual(
    answers.map(({ newCount, chunks }) => [newCount, chunks]),
    Array.from({ length: 5 }, () => [1, 1]),
  )
  const reasons = (await runsOf(connection.id)).map(({ reason }) => reason)
  assert.deepEqual(reasons.toSorted(), ['operator', 'operator', 'schedule'])
})

for (const removed of ['connection', 'user'] as const) {
  test(`404: the ${removed} is removed while its sync is waited for, by who runs it and who joined`, async (t) => {
    const { service, ask, joined, release } = await open(t)
    const bank = await watchFiskil(service, [fiskilAgo(service, 'a', 1)])
    const asked = [ask(bank.connectionId), ask(bank.connectionId)]
    const ended = Promise.allSettled(asked)
    await joined(1)
    const { connections } = service.app
    if (removed === 'connection') await connections.removeConnection(byOperator, bank.connectionId)
    else await connections.deleteUser(byOperator, bank.user.id)
    release()
    const entries = (await ended).map((one) => one.status === 'rejected' && one.reason.entry)
    assert.deepEqual(entries, ['connection_not_found', 'connection_not_found'])
    assert.deepEqual(await bank.watcher.takeEvents(), [])
  })
}

test('404: a connection that is removed and waits for its provider ends the waiting too', async (t) => {
  const { service, ask, joined, release } = await open(t)
  const bank = await watchFiskil(service)
  const asked = Promise.allSettled([ask(bank.connectionId), ask(bank.connectionId)])
  await joined(1)
  await service.app.store.connections.setStatus(bank.connectionId, 'deleting')
  release()
  const entries = (await asked).map((one) => one.status === 'rejected' && one.reason.entry)
  assert.deepEqual(entries, ['connection_not_found', 'connection_not_found'])
})

/** So many connections of SnapTrade and two of Fiskil, of users without a ledger; nothing is due. */
async function openMany(t: TestContext, count: number) {
  const opened = await open(t)
  const { service } = opened
  const user = await service.createUser()
  const brokers: ConnectionId[] = []
  for (let made = 0; made < count; made += 1) {
    brokers.push((await linkBroker(service, user, [{ activities: [] }])).connection.id)
  }
  const banks = (await service.link(user, 'healthy', 'fiskil')).map(({ id }) => id)
  await endSyncs(service)
  return { ...opened, brokers, banks }
}

test('four syncs run at once, whoever asks for them; the others follow in the order in which they were asked for', async (t) => {
  const { brokers, ask, begun, release } = await openMany(t, 7)
  const asked: Promise<unknown>[] = []
  for (const id of brokers) asked.push(ask(id))
  await until('four have begun', () => begun.length === 4)
  for (const [index, id] of [...begun].entries()) {
    release(id)
    await asked[brokers.indexOf(id)]
    const count = Math.min(brokers.length, 5 + index)
    await until(`${count} have begun`, () => begun.length === count)
  }
  release()
  await Promise.all(asked)
  assert.equal(begun.length, brokers.length)
})

test('a person who waits comes before what is due or was requested by a provider', async (t) => {
  const { service, room, brokers, banks, ask, begun, release } = await openMany(t, 5)
  const { syncs } = service.app.store
  const claim = () => room.claim.run(new AbortController().signal)
  const claims: Promise<void>[] = []
  room.onFree(() => void claims.push(claim()))
  const asked = brokers.slice(0, 4).map(ask)
  await until('every place is taken', () => begun.length === 4)
  for (const id of banks) {
    await syncs.request(id, { at: service.clock.now(), reason: 'provider' })
  }
  await claim()
  const [last = assert.fail()] = brokers.slice(4)
  asked.push(ask(last))
  const [first = assert.fail()] = begun
  release(first)
  await until('another one has begun', () => begun.length === 5)
  assert.equal(begun[4], last)
  release()
  await Promise.all(asked)
  await until('what was due has begun', () => banks.every((id) => begun.includes(id)))
  await Promise.all(claims)
})

test('a caller that waited too long for a place gets an error, and the sync is due', async (t) => {
  const { service, brokers } = await openMany(t, 1)
  const [last = assert.fail()] = brokers
  const { store } = service.app
  const runs = makeRuns({ run: () => Promise.resolve({ kind: 'lost' }), onEnd: () => {} })
  for (let held = 0; held < 4; held += 1) assert.notEqual(runs.places.take(), null)
  const askBriefly = makeSyncNow({ store, clock: service.clock, runs, waitMs: 10 })
  await assert.rejects(askBriefly(byOperator, last), { entry: 'service_unavailable' })
  const isDue = async () => (await store.syncs.readBacklog(service.clock.now())).due === 1
  await until('it is due', isDue)
})

test('a caller whose run here was given to another process gets an error in time, and the process stays awake', async (t) => {
  const { service, brokers } = await openMany(t, 1)
  const [last = assert.fail()] = brokers
  const { store } = service.app
  const ended = Promise.withResolvers<{ readonly kind: 'lost' }>()
  const runs = makeRuns({ run: () => ended.promise, onEnd: () => {} })
  const claim = () => {
    const lease = { now: service.clock.now(), leaseMs: runLeaseMs, reason: 'operator' } as const
    return store.syncs.claim(last, lease)
  }
  const [place, claimed] = [runs.places.take(), await claim()]
  assert.ok(place !== null && claimed?.kind === 'claimed')
  const running = runs.start(claimed.sync, { place })
  // A clock that steps forward, as that of a laptop that was asleep.
  service.clock.advance(runLeaseMs + 1)
  assert.equal((await claim())?.kind, 'claimed')
  const askBriefly = makeSyncNow({ store, clock: service.clock, runs, waitMs: 300, pollMs: 20 })
  await assert.rejects(askBriefly(byOperator, last), { entry: 'service_unavailable' })
  ended.resolve({ kind: 'lost' })
  await running
})

const askedForMs = 400

/** A sync that runs in another process. */
async function runElsewhere(t: TestContext) {
  const { service, brokers } = await openMany(t, 1)
  const [id = assert.fail()] = brokers
  const { app, clock } = service
  const { store } = app
  const claim = { now: clock.now(), leaseMs: runLeaseMs, reason: 'operator' } as const
  const claimed = await store.syncs.claim(id, claim)
  assert.equal(claimed?.kind, 'claimed')
  const { runId } = claimed.sync
  const runs = makeRuns({ run: () => Promise.resolve({ kind: 'lost' }), onEnd: () => {} })
  const askBriefly = makeSyncNow({ store, clock, runs, waitMs: askedForMs, pollMs: 20 })
  return { store, runId, ask: () => askBriefly(byOperator, id) }
}

const goesOn = { entry: 'service_unavailable', message: /goes on/, retryAfterSeconds: 30 }

test('each caller who waited too long for a run of another process is told that it goes on', async (t) => {
  const { ask } = await runElsewhere(t)
  const asked = [assert.rejects(ask(), goesOn)]
  await sleep(100)
  asked.push(assert.rejects(ask(), goesOn))
  await Promise.all(asked)
})

test('a caller who joined waits on when the time of the first one is over', async (t) => {
  const { ask, store, runId } = await runElsewhere(t)
  const ends: AbortController[] = []
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  // The time of these callers is over when the test says so.
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    if (ms !== askedForMs) return timeout(ms)
    const end = new AbortController()
    ends.push(end)
    return end.signal
  })
  const first = assert.rejects(ask(), goesOn)
  await until('the first one waits', () => ends.length === 1)
  const second = ask()
  await until('the second one has joined', () => ends.length === 2)
  ends[0]?.abort()
  await first
  const counts = { newCount: 3, updatedCount: 0, chunks: 1, rowsReadAt: null, ledgerFrom: null }
  const end = { outcome: { kind: 'succeeded', ...counts }, endedAt: 1, nextDueAt: 1 } as const
  assert.ok(await store.syncs.finish(runId, end))
  assert.equal((await second).newCount, 3)
})
