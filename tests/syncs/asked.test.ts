/** Syncs that people ask for: who asks during a run is answered with that run, and runs are not more than there are places. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { makeSyncs } from '#syncs/syncs.ts'
import { until } from '#tests/request/webhooks/stage.ts'
import { activity, linkBroker } from '#tests/support/broker.ts'
import { startService } from '#tests/support/service.ts'
import { fiskilAgo, watchFiskil } from './banks.ts'
import { makeSyncDeps } from './parts.ts'
import { watch } from './watcher.ts'

/** A room of syncs whose runs wait at their beginning until the test lets them go on. */
async function open(t: TestContext) {
  const service = await startService()
  t.after(() => service.close())
  const held = Promise.withResolvers<void>()
  const begun: ConnectionId[] = []
  const refresh = async (id: ConnectionId) => {
    begun.push(id)
    await held.promise
  }
  const room = makeSyncs({ ...makeSyncDeps(t, service), refresh })
  t.after(() => room.close(0))
  const { store } = service.app
  return {
    service,
    room,
    begun,
    /** From now on runs go on. */
    release: () => held.resolve(),
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

test('25 who ask at once for a sync of a user without a ledger are answered by one run', async (t) => {
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

test('who asks during a run is answered with its counts', async (t) => {
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
