/**
 * Two processes at work on one event river, or two callers in one process: what holds whichever is first. The
 * stores may be the same.
 */
import assert from 'node:assert/strict'
import type { EventId } from '#kernel/ids.ts'
import type { Store } from '#store/ports/store.ts'
import {
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  deliverAll,
  minute,
  recordAs,
} from './event-rows.ts'
import { addLink, newAccount, newConnection, now, replaceAccounts } from './rows.ts'

/** Both claim the same due syncs: each connection has one run, and only its holder can end it. */
export async function raceSyncClaims(one: Store, other: Store): Promise<void> {
  const { user, login } = await addLink(one)
  for (let count = 0; count < 5; count += 1)
    await one.connections.save(newConnection(user.id, login.id))
  const options = { now, leaseMs: minute, limit: 2 }
  const claims = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      (index % 2 === 0 ? one : other).syncs.claimDue(options),
    ),
  )
  const runs = claims.flat()
  assert.equal(new Set(runs.map(({ connectionId }) => connectionId)).size, runs.length)
  const mine = runs.filter(({ userId }) => userId === user.id)
  assert.equal(mine.length, 6)
  const outcome = { kind: 'failed', code: 'x', message: 'y' } as const
  const end = { outcome, endedAt: now, nextDueAt: now + 1e12 }
  for (const { runId } of runs) {
    const ended = await Promise.all([one.syncs.finish(runId, end), other.syncs.finish(runId, end)])
    assert.deepEqual(ended.toSorted(), [false, true])
  }
}

/**
 * Both claim an endpoint again and again while the lease expires: one holder at a time, the others keep
 * nothing.
 */
export async function raceEndpointClaims(one: Store, other: Store): Promise<void> {
  const { user, connection } = await addLink(one)
  const { id } = await addEndpoint(one, user.id)
  const [event] = await acceptChunks(one, user.id, connection.id, 1)
  const [due] = await one.deliveries.listDue(id, { now, limit: 1 })
  assert.ok(due && event)
  const leases: string[] = []
  for (let at = now; at < now + 4 * minute; at += minute) {
    const claims = await Promise.all([one, other].map((store) => claimEndpoint(store, id, at)))
    const held = claims.filter((claim) => claim !== null)
    assert.equal(held.length, 1)
    leases.push(...held.map(({ lease }) => lease))
  }
  const decision = { kind: 'retry', dueAt: now + 9 * minute } as const
  const kept = await Promise.all(
    leases.map((lease, index) =>
      recordAs(index % 2 === 0 ? one : other, lease, due.id, { decision }),
    ),
  )
  assert.deepEqual(kept, [false, false, false, true])
  assert.equal((await one.deliveries.find(due.id))?.attempts.length, 1)
}

/**
 * One sends and gives the endpoint back while the other accepts: everything arrives once, in the order of its
 * lane.
 */
export async function raceRelease(one: Store, other: Store): Promise<void> {
  const { user, connection } = await addLink(one)
  const { id } = await addEndpoint(one, user.id)
  const accepted: EventId[] = []
  const sent: EventId[] = []
  const accepting = (async () => {
    for (let round = 0; round < 6; round += 1)
      accepted.push(...(await acceptChunks(other, user.id, connection.id, 1 + (round % 2))))
  })()
  const sending = (async () => {
    for (let round = 0; round < 6; round += 1) sent.push(...(await deliverAll(one, id)))
  })()
  await Promise.all([accepting, sending])
  // What the last release did not send must be due now, without anything else happening.
  sent.push(...(await deliverAll(other, id)))
  assert.deepEqual(sent, accepted)
}

/** One shreds while the other replays: the event is kept for the replay, or the replay is refused. */
export async function raceShred(one: Store, other: Store): Promise<void> {
  const { user, connection } = await addLink(one)
  const { id } = await addEndpoint(one, user.id)
  const [event] = await acceptChunks(one, user.id, connection.id, 1)
  await deliverAll(one, id)
  const [delivery] = await one.deliveries.list(id, { after: null, limit: 1 })
  assert.ok(event && delivery)
  const range = { from: now, to: now + 1, at: now, limit: 10 }
  const bounds = { acceptedBefore: now + 1, now, limit: 500 }
  const [, replay, ranged] = await Promise.all([
    one.events.shred(bounds),
    other.deliveries.replay(delivery.id, now),
    other.deliveries.replayRange(id, range),
  ])
  const isKept = (await other.events.open(event)) !== null
  assert.equal(isKept, replay !== null || ranged.replayed > 0)
  assert.equal(ranged.replayed + ranged.shredded, 1)
  const again = (replay === null ? 0 : 1) + ranged.replayed
  assert.deepEqual(await deliverAll(other, id), Array(again).fill(event))
  await one.events.shred(bounds)
  assert.equal(await one.events.open(event), null)
}

/** One ends a ledger while the other's run writes to it: no month is left without its key. */
export async function raceLedger(one: Store, other: Store): Promise<void> {
  const { user, connection } = await addLink(one)
  const [account] = await replaceAccounts(one, connection.id, [newAccount()])
  assert.ok(account)
  await one.ledgers.begin(user.id)
  const run = other.transact(async (tx) => {
    if ((await tx.ledgers.readKey(user.id)) === null) return
    const entries = Buffer.from('fingerprints')
    await tx.ledgers.write([{ accountId: account.id, month: 1, entries }])
  })
  await Promise.all([run, one.ledgers.end(user.id)])
  assert.equal(await other.ledgers.readKey(user.id), null)
  assert.deepEqual(await other.ledgers.read([account.id]), [])
}

/**
 * One begins a deletion while the other accepts, enrols and begins a ledger: nothing can be sent afterwards.
 */
export async function raceRiverDeletion(one: Store, other: Store): Promise<void> {
  const { user, connection } = await addLink(one)
  await addEndpoint(one, user.id)
  await Promise.allSettled([
    one.users.disarm(user.id, now),
    acceptChunks(other, user.id, connection.id, 2),
    addEndpoint(other, user.id),
    other.ledgers.begin(user.id),
    other.syncs.request(connection.id, { at: now, reason: 'operator' }),
  ])
  assert.deepEqual(await one.endpoints.list(user.id), [])
  const claimed = await one.syncs.claim(connection.id, { now, leaseMs: 1, reason: 'operator' })
  assert.equal(claimed, null)
  await one.users.delete(user.id)
  assert.equal(await one.ledgers.readKey(user.id), null)
}
