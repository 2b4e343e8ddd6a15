/**
 * Proves that gauges are read from the store when metrics are collected, and that a failing store fails no
 * collection.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '#store/ports/store.ts'
import {
  accept,
  addEndpoint,
  hour,
  minute,
  newEvent,
  paused,
} from '#tests/contract/store/event-rows.ts'
import { openSqliteStore } from '#tests/contract/store/place.ts'
import { addLink, newAccount, now, replaceAccounts } from '#tests/contract/store/rows.ts'
import { makeBacklog } from './backlog-metrics.ts'

function sample(text: string, series: string): number | null {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return line === undefined ? null : Number(line.slice(series.length + 1))
}

/** A clock that goes forward when the test says so. */
function makeHand() {
  let ms = 0
  return {
    monotonicMs: () => ms,
    advance(by: number) {
      ms += by
    },
  }
}

test('the gauges show what is due, running, waiting and stored at the time of the collection', async (t) => {
  const store = await openSqliteStore(t)
  const { user, connection } = await addLink(store, { createdAt: now - hour })
  await store.ledgers.begin(user.id)
  const [account] = await replaceAccounts(store, connection.id, [newAccount()])
  assert.ok(account !== undefined)
  await store.ledgers.write([{ accountId: account.id, month: 1, entries: new Uint8Array(100) }])
  const endpoint = await addEndpoint(store, user.id)
  const other = await addEndpoint(store, user.id)
  await store.endpoints.setHealth(other.id, paused)
  await accept(
    store,
    [newEvent(user.id, connection.id, { createdAt: now - 10 * minute })],
    endpoint.id,
  )
  const hand = makeHand()
  const backlog = makeBacklog({
    store,
    clock: { now: () => now },
    onFailure: (_, error) => assert.ifError(error),
    monotonicMs: hand.monotonicMs,
  })
  const text = await backlog.text()
  const expected = {
    tributary_syncs_due: 1,
    tributary_syncs_running: 0,
    tributary_syncs_oldest_due_seconds: 3600,
    tributary_deliveries_pending: 1,
    tributary_deliveries_oldest_due_seconds: 600,
    'tributary_webhook_endpoints{health="healthy"}': 1,
    'tributary_webhook_endpoints{health="paused"}': 1,
    'tributary_webhook_endpoints{health="disabled"}': 0,
    tributary_event_payloads: 1,
    tributary_ledger_bytes: 100,
  }
  for (const [series, value] of Object.entries(expected)) {
    assert.equal(sample(text, series), value, series)
  }
  assert.ok((sample(text, 'tributary_event_payload_bytes') ?? 0) > 0)
  await store.syncs.claim(connection.id, { now, leaseMs: minute, reason: 'operator' })
  assert.equal(sample(await backlog.text(), 'tributary_syncs_running'), 0, 'it is not read again')
  hand.advance(10_000)
  const later = await backlog.text()
  assert.equal(sample(later, 'tributary_syncs_running'), 1)
  assert.equal(sample(later, 'tributary_syncs_oldest_due_seconds'), 0)
})

/** A store whose backlog of syncs is read by `read`. */
function sickStore(store: Store, read: Store['syncs']['readBacklog']): Store {
  return { ...store, syncs: { ...store.syncs, readBacklog: read } }
}

test('an unavailable store hides only its gauges, is logged once a minute, and is read again afterwards', async (t) => {
  const store = await openSqliteStore(t)
  let isAway = true
  const failures: string[] = []
  const hand = makeHand()
  const backlog = makeBacklog({
    store: sickStore(store, async (at) => {
      if (isAway) throw new Error('the store is away')
      return store.syncs.readBacklog(at)
    }),
    clock: { now: () => now },
    onFailure: (reading) => failures.push(reading),
    monotonicMs: hand.monotonicMs,
  })
  for (let scrape = 0; scrape < 3; scrape += 1) {
    const text = await backlog.text()
    assert.equal(sample(text, 'tributary_syncs_due'), null)
    assert.doesNotMatch(text, /^tributary_webhook_endpoints\{/m)
    assert.equal(sample(text, 'tributary_ledger_bytes'), 0)
    hand.advance(15_000)
  }
  assert.deepEqual(failures, ['backlog-due'])
  isAway = false
  hand.advance(15_000)
  assert.equal(sample(await backlog.text(), 'tributary_syncs_due'), 0)
  isAway = true
  hand.advance(10_000)
  assert.equal(sample(await backlog.text(), 'tributary_syncs_due'), null, 'never out of date')
  assert.equal(failures.length, 2)
})

test('a store that hangs delays a collection by the limit at most, and is called once', async (t) => {
  const store = await openSqliteStore(t)
  const answer = Promise.withResolvers<void>()
  let reads = 0
  const failures: unknown[] = []
  const hand = makeHand()
  const backlog = makeBacklog({
    store: sickStore(store, async (at) => {
      reads += 1
      await answer.promise
      return store.syncs.readBacklog(at)
    }),
    clock: { now: () => now },
    onFailure: (_, error) => failures.push(error),
    timeoutMs: 20,
    monotonicMs: hand.monotonicMs,
  })
  assert.equal(sample(await backlog.text(), 'tributary_syncs_due'), null)
  hand.advance(60_000)
  assert.equal(sample(await backlog.text(), 'tributary_syncs_due'), null)
  assert.equal(reads, 1)
  assert.match(String(failures[0]), /not read within 20 ms/)
  answer.resolve()
  const deadline = performance.now() + 10_000
  while (sample(await backlog.text(), 'tributary_syncs_due') === null) {
    assert.ok(performance.now() < deadline, 'the late answer is shown')
  }
})
