/**
 * The background work of the event river runs the same queries every few seconds. `explain query plan` of
 * SQLite must show an index search for each, so that the cost grows with the rows that are due, not with
 * those that are stored.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Provider } from '#contract/resources.ts'
import {
  type AccountId,
  type ConnectionId,
  type EndpointId,
  newId,
  type SyncRunId,
  type UserId,
} from '#kernel/ids.ts'
import {
  claimEndpoint,
  healthy,
  hour,
  newEndpoint,
  newEvent,
  resultAs,
} from '#tests/contract/store/event-rows.ts'
import { newConnection, newUser, now } from '#tests/contract/store/rows.ts'
import { assertSearches, openPlanStage } from '#tests/support/query-plans.ts'
import { makeConnectionStore } from '../connections/connections.ts'
import { makeLoginStore } from '../connections/logins.ts'
import { makeUserStore } from '../people/users.ts'
import { makeSealer } from '../seal.ts'
import { makeLedgerStore } from '../syncs/ledgers.ts'
import { makeSyncStore } from '../syncs/syncs.ts'
import { makeConsumerStore } from './consumers.ts'
import { makeDeliveryStore } from './deliveries.ts'
import { makeEndpointStore } from './endpoints.ts'
import { makeEventStore } from './events.ts'
import { makeOpenedEndpoints } from './opened-endpoints.ts'

const plansOf = (work: () => Promise<unknown>) => stage.plansOf(work)
const parts = () => {
  const sealer = makeSealer([new Uint8Array(32)])
  return { ...stage, sealer, opened: makeOpenedEndpoints(sealer) }
}
const noMails = { reconnectDueAt: null, sealer: makeSealer([new Uint8Array(32)]), now: () => now }
const key = (table: string) => `sqlite_autoindex_${table}_1`

const stage = await openPlanStage()
after(() => stage.close())

async function addLink(): Promise<{ userId: UserId; connectionId: ConnectionId }> {
  const user = await makeUserStore(stage).create(newUser())
  if (user === 'taken') throw new Error('the address of the test is taken')
  const name = { userId: user.id, provider: 'akahu', upstreamUserId: 'x', secret: 'y' } as const
  const login = await makeLoginStore(parts()).save(name)
  const connection = newConnection(user.id, login.id, { createdAt: now + 2 * hour })
  const { id } = await makeConnectionStore({ ...stage, mails: noMails }).save(connection)
  return { userId: user.id, connectionId: id }
}

test('syncs are claimed, kept and counted by what is due and what runs', async () => {
  const syncs = makeSyncStore(stage)
  const plans = await plansOf(async () => {
    await syncs.claimDue({ now, leaseMs: 1, limit: 5 })
    await syncs.renew(newId<SyncRunId>(), now)
    await syncs.finish(newId<SyncRunId>(), {
      outcome: { kind: 'failed', code: 'x', message: 'y' },
      endedAt: now,
      nextDueAt: now,
    })
    await syncs.readBacklog(now)
    await syncs.listRuns(newId<ConnectionId>(), 5)
    await syncs.sweepRuns({ before: now, limit: 5 })
  })
  assert.match(plans[0] ?? '', /INDEX syncs_due \(due_at<\?\)/)
  assertSearches(plans, [
    key('syncs'),
    'syncs_of_run',
    'syncs_of_run',
    'syncs_due',
    'syncs_due',
    'connections_deleting',
    'syncs_running',
    'sync_runs_of_connection',
    key('sync_runs'),
  ])
  assert.match(plans.at(-1) ?? '', /INDEX sync_runs_ended \(started_at<\?\)/)
})

test('the syncs of a user at a glance are found by the user and the connection, not by reading all runs', async () => {
  const syncs = makeSyncStore(stage)
  const plans = await plansOf(async () => {
    await syncs.listStates(newId<UserId>())
    await syncs.listLastRuns(newId<UserId>(), ['succeeded', 'failed'])
    await syncs.countRuns(newId<UserId>(), [now - 2, now - 1, now])
  })
  assert.equal(plans.length, 3)
  for (const plan of plans) assert.doesNotMatch(plan, /SCAN /)
  assert.match(plans[0] ?? '', /INDEX syncs_of_user/)
  assert.match(plans[1] ?? '', /INDEX sync_runs_of_connection \(connection_id=\?\)/)
  assert.match(
    plans[2] ?? '',
    /INDEX sync_runs_of_connection \(connection_id=\? AND started_at>\? AND started_at<\?\)/,
  )
})

test('syncs of the other providers are found without reading those of a busy one', async () => {
  const syncs = makeSyncStore(stage)
  const [plan = ''] = await plansOf(() =>
    syncs.claimDue({ now, leaseMs: 1, limit: 1, except: ['fiskil'] }),
  )
  const range =
    /SEARCH syncs USING COVERING INDEX syncs_due_of_provider \(provider=\? AND due_at<\?\)/g
  assert.equal(plan.match(range)?.length, Provider.options.length - 1, plan)
  assert.doesNotMatch(plan, /INDEX syncs_due \(/)
})

test('a ledger is read, trimmed and ended by its own accounts', async () => {
  const { userId } = await addLink()
  const ledgers = makeLedgerStore(parts())
  const ids = [newId<AccountId>()]
  const plans = await plansOf(async () => {
    await ledgers.read(ids)
    await ledgers.dropBefore(ids, 1)
    await ledgers.end(userId)
  })
  assertSearches(plans, [
    key('ledger_months'),
    key('ledger_months'),
    key('users'),
    key('ledger_keys'),
    key('ledger_months'),
    key('pending_ledgers'),
    key('event_feeds'),
    'syncs_of_user',
  ])
})

/** At most as many as are claimed. */
const rowsOfClaim = /\bSCAN (waiting|served|due)\b/g

test('endpoints are claimed by what is due, the healthy and the unhealthy apart', async () => {
  const deliveries = makeDeliveryStore(parts())
  const options = { now, leaseMs: 1, limit: 5 }
  const plans = await plansOf(async () => {
    await deliveries.claimEndpoints({ ...options, unhealthy: false })
    await deliveries.claimEndpoints({ ...options, unhealthy: true })
    await deliveries.renew(newId(), now)
  })
  const [healthy = '', unhealthy = '', renewed = ''] = plans
  for (const [plan, kind] of [[healthy, 'healthy'] as const, [unhealthy, 'ailing'] as const]) {
    assert.match(plan, new RegExp(`INDEX webhook_endpoints_due_${kind} \\(next_due_at<\\?\\)`))
    assert.match(plan, new RegExp(`INDEX webhook_endpoints_served_${kind} \\(served_at>\\?\\)`))
    assert.doesNotMatch(plan.replaceAll(rowsOfClaim, ''), /\bSCAN \w+(;|$)/)
    assert.equal(plan.match(/TEMP B-TREE/g)?.length, 2, 'the rows of both ranges are sorted')
  }
  assertSearches([renewed], ['webhook_endpoints_of_lease'])
})

test('what is due at an endpoint is read from the first of each lane', async () => {
  const deliveries = makeDeliveryStore(parts())
  const id = newId<EndpointId>()
  const plans = await plansOf(async () => {
    await deliveries.listDue(id, { now, limit: 5 })
    await deliveries.findOldest(id)
    await deliveries.list(id, { after: 5, limit: 5 })
  })
  assertSearches(plans, ['deliveries_first', 'deliveries_first', 'sqlite_autoindex_deliveries_2'])
  // The few tests of an endpoint are sorted.
  const [tests] = await plansOf(() => deliveries.listDue(id, { now, limit: 5, tests: true }))
  assert.match(tests ?? '', /INDEX deliveries_due \(endpoint_id=\? AND is_test=\? AND due_at/)
})

test('accepting, recording, releasing and replaying search an index at every step', async () => {
  const { userId, connectionId } = await addLink()
  const events = makeEventStore(parts())
  const deliveries = makeDeliveryStore(parts())
  const endpoint = await makeEndpointStore(parts()).create(newEndpoint(userId), 5)
  assert.ok(endpoint !== 'too_many')
  const sealed = await events.seal([newEvent(userId, connectionId), newEvent(userId, connectionId)])
  const plans = await plansOf(async () => {
    await events.accept(sealed)
    const claimed = await claimEndpoint({ deliveries }, endpoint.id)
    const [due] = await deliveries.listDue(endpoint.id, { now, limit: 5 })
    assert.ok(claimed && due)
    await deliveries.record([resultAs(claimed.lease, due.id)])
    await deliveries.release(claimed.lease, { now, notBefore: now })
    await deliveries.replay(due.id, now)
    const range = { from: now, to: now + 1, at: now, limit: 5 }
    await deliveries.replayRange(endpoint.id, range)
    await makeEndpointStore(parts()).setHealth(endpoint.id, { ...healthy, health: 'disabled' })
  })
  assert.ok(plans.length > 25, `${plans.length} queries`)
  // The endpoints of one user are few, and sorted by id so that they are always locked in one order.
  for (const plan of plans)
    assert.doesNotMatch(plan.replaceAll(rowsOfClaim, ''), /\bSCAN \w+(;|$)/, plan)
})

test('what may be shredded or swept is found by its age', async () => {
  const { userId, connectionId } = await addLink()
  const events = makeEventStore(parts())
  await events.accept(await events.seal([newEvent(userId, connectionId)]))
  const plans = await plansOf(async () => {
    await events.shred({ acceptedBefore: now + 1, now, limit: 5 })
    await events.sweepKeys({ before: now + 1, limit: 5 })
    await events.sweepReceipts({ before: now + 1, limit: 5 })
  })
  assert.match(plans[0] ?? '', /INDEX events_sealed \(created_at<\?\).*INDEX deliveries_of_event/)
  assert.match(plans.at(-2) ?? '', /INDEX event_keys_by_age \(created_at<\?\)/)
  assert.match(plans.at(-1) ?? '', /INDEX events_shredded \(created_at<\?\)/)
  // Beside them, the log of the event keys is truncated.
  const searches = plans.filter((plan) => plan !== '')
  for (const plan of searches) assert.doesNotMatch(plan, /\bSCAN \w+(;|$)|TEMP B-TREE/, plan)
})

test('waits of a clock that was set back are found among what waits, not among all rows', async () => {
  const limits = { now, leaseMs: 1, longestMs: 1 }
  const syncs = await plansOf(() => makeSyncStore(stage).shortenWaits(limits))
  assertSearches(syncs, ['syncs_due', 'syncs_running'])
  const deliveries = await plansOf(() => makeDeliveryStore(parts()).shortenWaits(limits))
  const [lease, first, ...endpoints] = deliveries
  assertSearches([lease ?? ''], ['webhook_endpoints_of_lease'])
  // One row for each lane that waits.
  assert.match(first ?? '', /USING INDEX deliveries_(due|first)\b/)
  assertSearches(endpoints, [
    'webhook_endpoints_due_healthy',
    'webhook_endpoints_served_healthy',
    'webhook_endpoints_due_ailing',
    'webhook_endpoints_served_ailing',
  ])
})

test('the list of consumers is as many queries for forty as for one, and reads the feed once', async () => {
  const { userId } = await addLink()
  const consumers = makeConsumerStore(stage)
  for (let at = 0; at < 40; at += 1) {
    const consumer = { userId, name: `c${at}`, createdAt: now }
    await consumers.create(consumer, { ofSight: 40, inAll: 40 })
  }
  const plans = await plansOf(() => consumers.list(userId))
  assert.equal(plans.length, 2, plans.join('\n'))
  assert.equal(plans[1]?.match(/INDEX events_of_feed \(user_id=\? AND position>\?\)/g)?.length, 1)
  for (const plan of plans) assert.doesNotMatch(plan, /\bSCAN events?\b|SCAN event_consumers/, plan)
})
