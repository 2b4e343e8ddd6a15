/** What the port promises of syncs: one lease for each connection, and no request is lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId, type SyncRunId } from '#kernel/ids.ts'
import type { ClaimedSync, SyncOutcome } from '#store/ports/syncs.ts'
import type { StoreOf } from './place.ts'
import { addLink, newConnection, now } from './rows.ts'

const minute = 60_000
const leaseMs = 5 * minute
const nothingNew = {
  kind: 'succeeded',
  newCount: 0,
  updatedCount: 0,
  chunks: 0,
  rowsReadAt: null,
  ledgerFrom: null,
} as const
const failed: SyncOutcome = { kind: 'failed', code: 'upstream_down', message: 'It is away.' }

export function testSyncs(store: StoreOf): void {
  const syncs = () => store().syncs
  /** Of all that are due at `at`, that of this connection; the others end at once, far ahead. */
  const claimFor = async (id: ConnectionId, at = now): Promise<ClaimedSync | undefined> => {
    const claimed = await syncs().claimDue({ now: at, leaseMs, limit: 100 })
    for (const { connectionId, runId } of claimed)
      if (connectionId !== id) await finish(runId, { at, nextDueAt: at + 1e12 })
    return claimed.find(({ connectionId }) => connectionId === id)
  }
  const finish = (
    runId: SyncRunId,
    over: { outcome?: SyncOutcome; at?: number; nextDueAt?: number } = {},
  ) =>
    syncs().finish(runId, {
      outcome: over.outcome ?? nothingNew,
      endedAt: over.at ?? now,
      nextDueAt: over.nextDueAt ?? now + 1e12,
    })
  const demand = (claimed: ClaimedSync | undefined): ClaimedSync =>
    claimed ?? assert.fail('the sync was not claimed')

  test('a new connection is due at once because it was linked, and is claimed once', async () => {
    const { user, connection } = await addLink(store())
    const claimed = demand(await claimFor(connection.id))
    assert.deepEqual(claimed, {
      runId: claimed.runId,
      connectionId: connection.id,
      userId: user.id,
      provider: connection.provider,
      reason: 'linked',
      dueAt: now,
      leaseUntil: now + leaseMs,
      failures: 0,
      rowsReadAt: null,
      ledgerFrom: null,
    })
    assert.equal(await claimFor(connection.id), undefined)
    const run = await syncs().findRun(claimed.runId)
    assert.deepEqual(run, {
      id: claimed.runId,
      connectionId: connection.id,
      userId: user.id,
      reason: 'linked',
      state: 'running',
      startedAt: now,
      endedAt: null,
      newCount: 0,
      updatedCount: 0,
      chunks: 0,
      failure: null,
    })
  })

  test('a run that ends stores its results, and the sync is due again at the given time', async () => {
    const { connection } = await addLink(store())
    const { runId } = demand(await claimFor(connection.id))
    const outcome = { ...nothingNew, newCount: 7, updatedCount: 2, chunks: 1, rowsReadAt: now + 1 }
    const end = { at: now + 2, nextDueAt: now + minute }
    assert.equal(await finish(runId, { ...end, outcome: { ...outcome, ledgerFrom: now } }), true)
    const run = await syncs().findRun(runId)
    assert.deepEqual(
      [run?.state, run?.newCount, run?.updatedCount, run?.chunks, run?.endedAt],
      ['succeeded', 7, 2, 1, now + 2],
    )
    assert.equal(await claimFor(connection.id, now + minute - 1), undefined)
    const again = demand(await claimFor(connection.id, now + minute))
    assert.deepEqual(
      [again.reason, again.dueAt, again.rowsReadAt, again.ledgerFrom],
      ['schedule', now + minute, now + 1, now],
    )
    await finish(again.runId, { at: now + minute, nextDueAt: now + 2 * minute })
    const third = demand(await claimFor(connection.id, now + 2 * minute))
    assert.deepEqual([third.rowsReadAt, third.ledgerFrom], [now + 1, now], 'no rows were read')
  })

  test('failures are counted until a run succeeds, and keep their reason', async () => {
    const { connection } = await addLink(store())
    let at = now
    for (const failures of [0, 1, 2]) {
      const claimed = demand(await claimFor(connection.id, at))
      assert.deepEqual([claimed.failures, claimed.reason], [failures, 'linked'])
      await finish(claimed.runId, { outcome: failed, at, nextDueAt: at + minute })
      const run = await syncs().findRun(claimed.runId)
      assert.deepEqual(run?.failure, { code: 'upstream_down', message: 'It is away.' })
      at += minute
    }
    const claimed = demand(await claimFor(connection.id, at))
    await finish(claimed.runId, { at, nextDueAt: at + minute })
    assert.equal(demand(await claimFor(connection.id, at + minute)).failures, 0)
  })

  test('a lease that is not renewed expires: the sync is due again, its run abandoned, its holder refused', async () => {
    const { connection } = await addLink(store())
    const first = demand(await claimFor(connection.id))
    assert.equal(await syncs().renew(first.runId, now + 2 * leaseMs), true)
    assert.equal(await claimFor(connection.id, now + 2 * leaseMs - 1), undefined)
    const second = demand(await claimFor(connection.id, now + 2 * leaseMs))
    assert.deepEqual([second.reason, second.dueAt], ['linked', now])
    assert.equal(await syncs().renew(first.runId, now + 9 * leaseMs), false)
    assert.equal(await finish(first.runId), false)
    const runs = await syncs().listRuns(connection.id, 10)
    assert.deepEqual(
      runs.map(({ id, state, endedAt }) => [id, state, endedAt]),
      [
        [second.runId, 'running', null],
        [first.runId, 'abandoned', now + 2 * leaseMs],
      ],
    )
    assert.equal(await finish(second.runId), true)
  })

  test('a sync requested for an earlier time than the schedule is due then, for the reason of the request', async () => {
    const { connection } = await addLink(store())
    const { runId } = demand(await claimFor(connection.id))
    await finish(runId, { nextDueAt: now + 10 * minute })
    await syncs().request(connection.id, { at: now + 5 * minute, reason: 'provider' })
    await syncs().request(connection.id, { at: now + 8 * minute, reason: 'operator' })
    assert.equal(await claimFor(connection.id, now + 5 * minute - 1), undefined)
    const claimed = demand(await claimFor(connection.id, now + 5 * minute))
    assert.deepEqual([claimed.reason, claimed.dueAt], ['provider', now + 5 * minute])
    await finish(claimed.runId)
  })

  test('a sync requested for a later time than the schedule changes the reason and not the time', async () => {
    const { connection } = await addLink(store())
    const { runId } = demand(await claimFor(connection.id))
    await finish(runId, { nextDueAt: now + minute })
    await syncs().request(connection.id, { at: now + 5 * minute, reason: 'provider' })
    const claimed = demand(await claimFor(connection.id, now + minute))
    assert.deepEqual([claimed.reason, claimed.dueAt], ['provider', now + minute])
    await finish(claimed.runId)
  })

  test('a sync requested during a run is due after it', async () => {
    const { connection } = await addLink(store())
    const { runId } = demand(await claimFor(connection.id))
    await syncs().request(connection.id, { at: now + 2, reason: 'provider' })
    await syncs().request(connection.id, { at: now + 1, reason: 'operator' })
    assert.equal(await claimFor(connection.id, now + 2), undefined)
    await finish(runId, { at: now + 3, nextDueAt: now + minute })
    const next = demand(await claimFor(connection.id, now + 3))
    assert.deepEqual([next.reason, next.dueAt], ['provider', now + 1])
    await finish(next.runId, { at: now + 4, nextDueAt: now + minute })
    const last = demand(await claimFor(connection.id, now + minute))
    assert.equal(last.reason, 'schedule')
  })

  test('the run after an abandoned one satisfies the requests made meanwhile', async () => {
    const { connection } = await addLink(store())
    const first = demand(await claimFor(connection.id))
    await finish(first.runId, { nextDueAt: now + 1 })
    demand(await claimFor(connection.id, now + 1))
    await syncs().request(connection.id, { at: now + 2, reason: 'provider' })
    const at = now + 1 + leaseMs
    const taken = demand(await claimFor(connection.id, at))
    assert.equal(taken.reason, 'provider')
    await finish(taken.runId, { at, nextDueAt: at + minute })
    assert.equal(await claimFor(connection.id, at + minute - 1), undefined)
  })

  test('one is claimed by name, due or not, unless it runs already', async () => {
    const { connection } = await addLink(store())
    const options = { now, leaseMs, reason: 'operator' } as const
    const { runId } = demand(await claimFor(connection.id))
    assert.deepEqual(await syncs().claim(connection.id, options), { kind: 'running', runId })
    await finish(runId, { nextDueAt: now + minute })
    const claimed = await syncs().claim(connection.id, options)
    assert.ok(claimed?.kind === 'claimed')
    assert.deepEqual([claimed.sync.reason, claimed.sync.dueAt], ['operator', now])
    assert.equal(await claimFor(connection.id, now + minute), undefined)
    const later = { ...options, now: now + leaseMs }
    assert.equal((await syncs().claim(connection.id, later))?.kind, 'claimed')
    assert.equal((await syncs().findRun(claimed.sync.runId))?.state, 'abandoned')
    assert.equal(await syncs().claim(newId<ConnectionId>(), options), null)
  })

  test('linking anew makes it due, also after a run under way', async () => {
    const { user, login, connection } = await addLink(store())
    const first = demand(await claimFor(connection.id))
    const { upstreamId } = connection
    const relink = (createdAt: number) =>
      store().connections.save(newConnection(user.id, login.id, { upstreamId, createdAt }))
    assert.equal((await relink(now + 1)).id, connection.id)
    await finish(first.runId, { at: now + 2, nextDueAt: now + minute })
    const second = demand(await claimFor(connection.id, now + 2))
    assert.equal(second.reason, 'linked')
    await finish(second.runId, { at: now + 3, nextDueAt: now + minute })
    await relink(now + 4)
    assert.equal(demand(await claimFor(connection.id, now + 4)).reason, 'linked')
  })

  test('a connection that is being removed is never claimed, and its run keeps nothing', async () => {
    const { connection } = await addLink(store())
    const { runId } = demand(await claimFor(connection.id))
    await store().connections.setStatus(connection.id, 'deleting')
    assert.equal(await syncs().renew(runId, now + leaseMs), false)
    assert.equal(await finish(runId), false)
    assert.equal(await claimFor(connection.id, now + 2 * leaseMs), undefined)
    assert.equal(await syncs().claim(connection.id, { now, leaseMs, reason: 'operator' }), null)
    await store().connections.delete(connection.id)
    assert.equal(await syncs().findRun(runId), null)
    await syncs().request(connection.id, { at: now, reason: 'operator' })
    assert.equal(await claimFor(connection.id), undefined)
  })

  test('the longest due are claimed first, and no more than asked for', async () => {
    await claimFor(newId<ConnectionId>(), now + minute)
    const links = []
    for (const createdAt of [now + 3, now + 1, now + 2])
      links.push(await addLink(store(), { createdAt }))
    const claimed = await syncs().claimDue({ now: now + 3, leaseMs, limit: 2 })
    assert.deepEqual(
      claimed.map(({ connectionId }) => connectionId),
      [links[1]?.connection.id, links[2]?.connection.id],
    )
    const rest = await syncs().readBacklog(now + 3)
    assert.deepEqual([rest.oldestDueAt, rest.due], [now + 3, 1])
    assert.ok(rest.running >= 2)
    for (const { runId } of claimed) await finish(runId)
  })

  test('the backlog counts what is due, without the connections that are being removed', async () => {
    const before = await syncs().readBacklog(now)
    const { connection } = await addLink(store(), { createdAt: now - minute })
    const leaving = await addLink(store(), { createdAt: now - minute })
    assert.equal((await syncs().readBacklog(now)).due, before.due + 2)
    await store().connections.setStatus(leaving.connection.id, 'deleting')
    assert.equal((await syncs().readBacklog(now)).due, before.due + 1)
    await store().connections.delete(leaving.connection.id)
    await store().connections.delete(connection.id)
    assert.equal((await syncs().readBacklog(now)).due, before.due)
  })

  test('a provider with the maximum of runs is left out, the others are not', async () => {
    const { connection } = await addLink(store())
    const { provider } = connection
    const options = { now, leaseMs, limit: 100 }
    const others = await syncs().claimDue({ ...options, except: [provider] })
    assert.ok(others.every((one) => one.provider !== provider))
    for (const { runId } of others) await finish(runId)
    const none = await syncs().claimDue({ ...options, except: ['fiskil', 'akahu', 'snaptrade'] })
    assert.deepEqual(none, [])
    const { runId } = demand(await claimFor(connection.id))
    await finish(runId)
  })

  test('of the providers that are not left out, the longest due come first', async () => {
    const { connection: busy } = await addLink(store(), { createdAt: now - 9 * minute })
    const links = await Promise.all(
      [6, 8, 7].map((late) =>
        addLink(store(), { provider: 'fiskil', createdAt: now - late * minute }),
      ),
    )
    const claim = (limit: number) =>
      syncs().claimDue({ now: now - 5 * minute, leaseMs, limit, except: [busy.provider] })
    const claimed = [...(await claim(2)), ...(await claim(2))]
    assert.deepEqual(
      claimed.map(({ connectionId }) => connectionId),
      [1, 2, 0].map((index) => links[index]?.connection.id),
    )
    for (const { runId } of claimed) await finish(runId)
    const { runId } = demand(await claimFor(busy.id))
    await finish(runId)
  })

  test('a run that its process interrupted counts as no failure, and is repeated for its reason', async () => {
    const { connection } = await addLink(store())
    const first = demand(await claimFor(connection.id))
    await finish(first.runId, { outcome: failed, nextDueAt: now + 1 })
    const second = demand(await claimFor(connection.id, now + 1))
    await finish(second.runId, { outcome: { kind: 'abandoned' }, at: now + 2, nextDueAt: now + 2 })
    const run = await syncs().findRun(second.runId)
    assert.deepEqual([run?.state, run?.endedAt, run?.failure], ['abandoned', now + 2, null])
    const third = demand(await claimFor(connection.id, now + 2))
    assert.deepEqual([third.reason, third.failures], ['linked', 1])
    await finish(third.runId)
  })

  test('ended runs are listed newest first and swept by age, those under way stay', async () => {
    const { connection } = await addLink(store())
    const ids: SyncRunId[] = []
    for (let at = now; at < now + 4; at += 1) {
      const { runId } = demand(await claimFor(connection.id, at))
      ids.push(runId)
      if (at < now + 3) await finish(runId, { at, nextDueAt: at + 1 })
    }
    const list = async () => (await syncs().listRuns(connection.id, 10)).map(({ id }) => id)
    assert.deepEqual(await list(), ids.toReversed())
    assert.equal((await syncs().listRuns(connection.id, 2)).length, 2)
    while ((await syncs().sweepRuns({ before: now + 2, limit: 1 })) > 0);
    assert.deepEqual(await list(), ids.slice(2).toReversed())
    while ((await syncs().sweepRuns({ before: now + 100, limit: 10 })) > 0);
    assert.deepEqual(await list(), ids.slice(3))
  })

  test('the syncs of a user at a glance: due times, last runs by state, runs by day', async () => {
    const { user, login, connection } = await addLink(store())
    const other = await store().connections.save(newConnection(user.id, login.id))
    await addLink(store())
    const day = 86_400_000
    const days = [now, now + day, now + 2 * day, now + 3 * day]
    for (const [at, outcome] of [
      [now - 1, nothingNew],
      [now, failed],
      [now + day - 1, nothingNew],
      [now + 2 * day, failed],
      [now + 2 * day + 1, failed],
      [now + 3 * day, nothingNew],
    ] as const) {
      const options = { now: at, leaseMs, reason: 'operator' } as const
      const claimed = await syncs().claim(connection.id, options)
      assert(claimed?.kind === 'claimed')
      await finish(claimed.sync.runId, { outcome, at: at + 5, nextDueAt: at + 6 })
    }
    const counts = await syncs().countRuns(user.id, days)
    assert.deepEqual(counts.get(connection.id), [
      { succeeded: 1, failed: 1 },
      { succeeded: 0, failed: 0 },
      { succeeded: 0, failed: 2 },
    ])
    const ended = await syncs().listLastRuns(user.id, ['succeeded', 'failed'])
    const mine = ended.find(({ connectionId }) => connectionId === connection.id)
    assert.deepEqual([mine?.startedAt, mine?.endedAt], [now + 3 * day, now + 3 * day + 5])
    const [lastFailed] = await syncs().listLastRuns(user.id, ['failed'])
    assert.deepEqual(
      [lastFailed?.connectionId, lastFailed?.startedAt, lastFailed?.failure?.code],
      [connection.id, now + 2 * day + 1, 'upstream_down'],
    )
    const states = await syncs().listStates(user.id)
    assert.deepEqual(
      states.map(({ connectionId }) => connectionId).toSorted(),
      [connection.id, other.id].toSorted(),
    )
    const state = () =>
      syncs()
        .listStates(user.id)
        .then((all) => all.find(({ connectionId }) => connectionId === connection.id))
    assert.deepEqual(await state(), {
      connectionId: connection.id,
      nextAt: now + 3 * day + 6,
      failures: 0,
      rowsReadAt: null,
    })
    await syncs().claim(connection.id, { now: now + 4 * day, leaseMs, reason: 'operator' })
    assert.equal((await state())?.nextAt, null)
  })
}
