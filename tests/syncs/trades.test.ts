/**
 * What syncs of brokers announce, and how often they read (docs/providers/snaptrade.md, Errors and limits).
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EmulatorRequest } from '#sandbox/emulator.ts'
import { type Activity, activity, type BrokerAccount, linkBroker } from '#tests/support/broker.ts'
import { startService } from '#tests/support/service.ts'
import { idsOf } from './banks.ts'
import { watch } from './watcher.ts'

const isPage = ({ path }: EmulatorRequest) => path.endsWith('/activities')

async function openBroker(t: TestContext, accounts: readonly Partial<BrokerAccount>[]) {
  const service = await startService()
  t.after(() => service.close())
  const user = await service.createUser()
  const watcher = await watch(service, user)
  const broker = await linkBroker(service, user, accounts)
  const { snaptrade } = service.sandbox
  return {
    service,
    broker,
    watcher,
    sync: () => watcher.sync(broker.connection.id),
    pages: () => snaptrade.requests.filter(isPage).length,
  }
}

const newest = Date.parse('2026-11-18T20:00:01Z')
const stream = (count: number): Activity[] =>
  Array.from({ length: count }, (_, index) =>
    activity({
      description: `${index}`,
      tradeDate: new Date(newest - index * 60_000).toISOString(),
    }),
  )

test('R24a: n identical fills are n trades, numbered as REST numbers them', async (t) => {
  const { broker, sync } = await openBroker(t, [{ activities: [activity(), activity()] }])
  const { new: found, events } = await sync()
  const [first = '', second = ''] = idsOf(found)
  assert.equal(second, `${first}-2`)
  assert.equal(events[0]?.type, 'trades.synced')
  broker.upstream[0]?.activities.push(activity())
  assert.deepEqual(idsOf((await sync()).new), [`${first}-3`])
  assert.equal((await sync()).answer.newCount, 0)
})

test('R34: the trades of several accounts come newest first, each with its account', async (t) => {
  const at = (tradeDate: string, description: string) => activity({ tradeDate, description })
  const { broker, sync } = await openBroker(t, [
    { activities: [at('2026-11-12T10:00:00Z', 'c'), at('2026-11-10T10:00:00Z', 'a')] },
    { activities: [at('2026-11-11T10:00:00Z', 'b')] },
  ])
  const { new: found } = await sync()
  const [one, other] = broker.accounts
  assert.deepEqual(
    found.map((trade) => [trade.description, trade.account_id]),
    [
      ['c', one?.id],
      ['b', other?.id],
      ['a', one?.id],
    ],
  )
})

test('trades whose pages shift while they are read are announced once each', async (t) => {
  const { service, broker, sync } = await openBroker(t, [{ activities: stream(2_500) }])
  const rows = broker.upstream[0]?.activities ?? assert.fail()
  const shift = (times: number, change: () => void) =>
    service.sandbox.snaptrade.addFault({
      times,
      when: (request) => isPage(request) && request.query.get('offset') === '0',
      does: {
        kind: 'edit',
        edit(reply) {
          const kept = JSON.parse(JSON.stringify(reply.body))
          change()
          return { ...reply, body: kept }
        },
      },
    })
  shift(1, () => rows.splice(3, 1))
  const { answer, new: found } = await sync()
  assert.equal(answer.newCount, 2_499)
  assert.equal(new Set(idsOf(found)).size, 2_499)
})

test('trades that shift during every reading are announced by no event, and by the next sync', async (t) => {
  const { service, broker, watcher, sync } = await openBroker(t, [{ activities: stream(2_500) }])
  const rows = broker.upstream[0]?.activities ?? assert.fail()
  service.sandbox.snaptrade.addFault({
    times: 4,
    when: (request) => isPage(request) && request.query.get('offset') === '0',
    does: {
      kind: 'edit',
      edit(reply) {
        const kept = JSON.parse(JSON.stringify(reply.body))
        rows.splice(0, 1)
        return { ...reply, body: kept }
      },
    },
  })
  await assert.rejects(sync(), { entry: 'provider_unavailable' })
  assert.deepEqual(await watcher.takeEvents(), [])
  assert.equal((await watcher.lastRun(broker.connection.id)).failure?.code, 'unreadable')
  assert.equal((await sync()).answer.newCount, 2_496)
})

test('a first sync that SnapTrade is still preparing fails, and is no empty event', async (t) => {
  const { service, broker, watcher, sync } = await openBroker(t, [{ activities: stream(3) }])
  const reply = { status: 425, body: { detail: 'Initial sync not finished', code: 3012 } }
  service.sandbox.snaptrade.addFault({ times: 1, when: isPage, does: { kind: 'reply', reply } })
  await assert.rejects(sync(), { entry: 'provider_unavailable' })
  assert.deepEqual(await watcher.takeEvents(), [])
  assert.equal((await watcher.lastRun(broker.connection.id)).failure?.code, 'preparing')
  assert.equal((await sync()).answer.newCount, 3)
})

test('R20b: an empty answer of a broker whose login ended is a failure, not a sync without changes', async (t) => {
  const { broker, watcher, sync } = await openBroker(t, [{ activities: stream(3) }])
  assert.equal((await sync()).answer.newCount, 3)
  for (const connection of broker.person.connections) connection.disabled = true
  for (const account of broker.upstream) account.activities = []
  await assert.rejects(sync(), { entry: 'upstream_bad_request' })
  assert.deepEqual(await watcher.takeEvents(), [])
  const { failure } = await watcher.lastRun(broker.connection.id)
  assert.deepEqual([failure?.code, failure?.message], ['consent_lost', 'login disabled, reconnect'])
})

test('R20b: while one account waits for its first sync nothing is announced; then all of it, once', async (t) => {
  const waiting = { transactionsSynced: false, activities: [] }
  const { service, broker, watcher, sync } = await openBroker(t, [
    { activities: stream(3) },
    { ...waiting },
    // It is ready and has no row, so that SnapTrade is asked in each run.
    {},
  ])
  await assert.rejects(sync(), { entry: 'provider_unavailable' })
  assert.deepEqual(await watcher.takeEvents(), [])
  assert.equal((await watcher.lastRun(broker.connection.id)).failure?.code, 'preparing')
  Object.assign(broker.upstream[1] ?? {}, { transactionsSynced: true, activities: stream(2) })
  service.clock.advance(60_000)
  assert.equal((await sync()).answer.newCount, 5)
  // SnapTrade imports the account again: what is not readable for a while is neither gone nor new afterwards.
  const rows = broker.upstream[1]?.activities ?? assert.fail()
  Object.assign(broker.upstream[1] ?? {}, waiting)
  await assert.rejects(sync(), { entry: 'provider_unavailable' })
  Object.assign(broker.upstream[1] ?? {}, { transactionsSynced: true, activities: rows })
  service.clock.advance(60_000)
  const { answer, new: found, updated } = await sync()
  assert.deepEqual([answer.newCount, found, updated], [0, [], []])
})

test('R20b: a sync whose import ends between an empty answer and the question whether it is ready announces its rows', async (t) => {
  const { service, broker, sync } = await openBroker(t, [{ activities: stream(5) }, {}])
  const [account] = broker.upstream
  assert.ok(account !== undefined)
  const { activities } = account
  Object.assign(account, { activities: [], transactionsSynced: false })
  service.sandbox.snaptrade.addFault({
    times: 1,
    when: (request) => isPage(request) && request.path.includes(account.id),
    does: {
      kind: 'edit',
      edit(reply) {
        setImmediate(() => Object.assign(account, { activities, transactionsSynced: true }))
        return reply
      },
    },
  })
  assert.equal((await sync()).new.length, 5)
})

test('a limit that is soon over is waited for within the run, whose pages are not read again', async (t) => {
  const { service, sync, pages } = await openBroker(t, [{ activities: stream(2_500) }])
  const reply = { status: 429, headers: { 'x-ratelimit-reset': '1' }, body: { detail: 'Slow' } }
  service.sandbox.snaptrade.addFault({
    times: 1,
    when: (request) => isPage(request) && request.query.get('offset') === '1000',
    does: { kind: 'reply', reply },
  })
  assert.equal((await sync()).answer.newCount, 2_500)
  assert.equal(pages(), 4)
})

test('a limit of SnapTrade fails the run, and the next one is due no sooner than it says', async (t) => {
  const { service, broker, watcher, sync } = await openBroker(t, [{ activities: stream(3) }])
  const { store } = service.app
  const reply = { status: 429, headers: { 'x-ratelimit-reset': '5000' }, body: { detail: 'Slow' } }
  service.sandbox.snaptrade.addFault({ times: 1, when: isPage, does: { kind: 'reply', reply } })
  await assert.rejects(sync(), { entry: 'provider_unavailable', retryAfterSeconds: 5000 })
  assert.equal((await watcher.lastRun(broker.connection.id)).failure?.code, 'throttled')
  const isDue = async () => (await store.syncs.readBacklog(service.clock.now())).due > 0
  service.clock.advance(4_999_000)
  assert.equal(await isDue(), false)
  service.clock.advance(1_001_000)
  assert.equal(await isDue(), true)
})
