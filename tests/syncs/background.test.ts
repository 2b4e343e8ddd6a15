/** Syncs without a request: after linking, by the schedule, and at most how often. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ConnectionId } from '#kernel/ids.ts'
import type { EmulatorRequest } from '#sandbox/emulator.ts'
import type { SyncRunRow } from '#store/ports/syncs.ts'
import { activity, linkBroker } from '#tests/support/broker.ts'
import { type Service, startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'
import { fiskilAgo, idsOf, watchFiskil } from './banks.ts'
import { watch } from './watcher.ts'

const hourMs = 3_600_000
const isPage = ({ path }: EmulatorRequest) => path.endsWith('/activities')

async function open(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService({ env: { ROLE: 'all', ...env } })
  t.after(() => service.close())
  return service
}

/** Waits until so many runs of a connection have ended; newest first. */
async function waitForRuns(
  service: Service,
  id: ConnectionId,
  count: number,
): Promise<readonly SyncRunRow[]> {
  const { syncs } = service.app.store
  const list = async () =>
    (await syncs.listRuns(id, 100)).filter(({ state }) => state !== 'running')
  await until(`${count} runs have ended`, async () => (await list()).length >= count)
  return list()
}

/** The time passes, and the worker looks at once instead of at its next look. */
async function pass(service: Service, id: ConnectionId, ms: number): Promise<void> {
  service.clock.advance(ms)
  const { syncs } = service.app.store
  const at = service.clock.now() + 10 * 365 * 24 * hourMs
  // It requests nothing that is not due anyway: it only wakes the worker.
  await syncs.request(id, { at, reason: 'schedule' })
}

test('R34a: linking is followed by a sync of its own, which announces the look-back', async (t) => {
  const service = await open(t)
  const bank = await watchFiskil(service, [fiskilAgo(service, 'a', 80), fiskilAgo(service, 'b', 9)])
  const [run] = await waitForRuns(service, bank.connectionId, 1)
  assert.deepEqual([run?.reason, run?.state, run?.newCount], ['linked', 'succeeded', 2])
  const events = await bank.watcher.takeEvents()
  const own = events.filter(({ metadata }) => metadata.sync_run_id === run?.id)
  assert.deepEqual(
    own.map(({ data }) => idsOf(data.new)),
    [['b', 'a']],
  )
})

test('a connection is synced again by the schedule, and what is new is announced', async (t) => {
  const service = await open(t, { SYNC_INTERVAL_MINUTES: '60' })
  const bank = await watchFiskil(service)
  await waitForRuns(service, bank.connectionId, 1)
  await bank.watcher.takeEvents()
  bank.plant([fiskilAgo(service, 'fresh', 0.5)])
  await pass(service, bank.connectionId, 1.2 * hourMs)
  const [run] = await waitForRuns(service, bank.connectionId, 2)
  assert.deepEqual([run?.reason, run?.newCount], ['schedule', 1])
  const events = await bank.watcher.takeEvents()
  assert.deepEqual(
    events.flatMap(({ data }) => idsOf(data.new)),
    ['fresh'],
    'the other bank of the person has nothing new',
  )
})

test('activities of SnapTrade are read once in 24 hours by the schedule; the syncs in between keep the status true', async (t) => {
  const service = await open(t)
  const user = await service.createUser()
  const watcher = await watch(service, user)
  const broker = await linkBroker(service, user, [{ activities: [activity()] }])
  const { id } = broker.connection
  const { snaptrade } = service.sandbox
  const pages = () => snaptrade.requests.filter(isPage).length
  await waitForRuns(service, id, 1)
  assert.deepEqual([pages(), (await watcher.takeEvents()).length], [1, 1])

  for (const connection of broker.person.connections) connection.disabled = true
  await pass(service, id, 8 * hourMs)
  const [second] = await waitForRuns(service, id, 2)
  assert.deepEqual([second?.state, second?.chunks], ['succeeded', 0])
  assert.equal((await service.app.store.connections.find(id))?.status, 'invalidated')
  assert.deepEqual([pages(), (await watcher.takeEvents()).length], [1, 0])

  await service.app.store.syncs.request(id, { at: service.clock.now(), reason: 'provider' })
  await waitForRuns(service, id, 3)
  assert.deepEqual([pages(), (await watcher.takeEvents()).length], [2, 1])
  await pass(service, id, 24 * hourMs)
  await waitForRuns(service, id, 4)
  assert.deepEqual([pages(), (await watcher.takeEvents()).length], [3, 1])
})

test('a failing provider is asked again after a minute, then less and less often', async (t) => {
  const service = await open(t)
  const bank = await watchFiskil(service)
  const id = bank.connectionId
  await waitForRuns(service, id, 1)
  service.sandbox.fiskil.addFault({ does: { kind: 'reply', reply: { status: 500, body: {} } } })
  await pass(service, id, 24 * hourMs)
  await waitForRuns(service, id, 2)
  for (const [minutes, runs] of [
    [0.4, 2],
    [0.7, 3],
    [0.9, 3],
    [1.2, 4],
  ] as const) {
    await pass(service, id, minutes * 60_000)
    const ended = await waitForRuns(service, id, runs)
    assert.equal(ended.length, runs, `${minutes} minutes later`)
    assert.deepEqual([ended[0]?.state, ended[0]?.failure?.code], ['failed', 'unavailable'])
  }
})

test('a sync that is under way when the process stops ends before the store is closed', async () => {
  const service = await startService({ env: { ROLE: 'all' } })
  const { fiskil } = service.sandbox
  const isRead = ({ path }: EmulatorRequest) => path.endsWith('/banking/transactions')
  fiskil.addFault({ when: isRead, does: { kind: 'delay', ms: 300 } })
  await watchFiskil(service)
  await until('rows are read', () => fiskil.requests.some(isRead))
  await service.close()
  const text = await service.metrics.text()
  assert.match(text, /tributary_syncs_total\{provider="fiskil",result="succeeded"\} [12]/)
  assert.doesNotMatch(text, /result="(?:failed|lost)"/)
})

test('metrics show the syncs that ended and those that are due, and for how long', async (t) => {
  const service = await open(t)
  const bank = await watchFiskil(service)
  await waitForRuns(service, bank.connectionId, 1)
  const response = await fetch(`${service.adminUrl}/metrics`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  const text = await response.text()
  assert.match(text, /tributary_syncs_total\{provider="fiskil",result="succeeded"\} [12]/)
  for (const series of ['syncs_due', 'syncs_running', 'syncs_oldest_due_seconds']) {
    assert.match(text, new RegExp(`^tributary_${series} \\d`, 'm'))
  }
  assert.match(text, /tributary_sync_duration_seconds_count\{provider="fiskil"\} [12]/)
})
