/** What the port promises of turns: endpoints that always have more to send leave places to the others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndpointId } from '#kernel/ids.ts'
import { accept, addEndpoint, hour, minute, newEvent, recordAs } from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, now } from './rows.ts'

/** Long before everything else in the store is due. */
const begin = now - 2000 * hour
const places = 2
/** A claim of a slow endpoint lasts so long, and delivers so many. */
const turnMs = 20_000
const deliveredInTurn = 2

export function testTurns(store: StoreOf): void {
  const deliveries = () => store().deliveries

  async function addBacklog(at: number, count: number): Promise<EndpointId> {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    const events = Array.from({ length: count }, (_, index) =>
      newEvent(user.id, connection.id, { createdAt: at, chunk: index + 1, totalChunks: count }),
    )
    await accept(store(), events)
    // Each in a lane of its own, so that it is due since this moment and not since the one before it was
    // delivered.
    const range = { from: at, to: at + 1, at, limit: count }
    if (count > 1) await deliveries().replayRange(id, range)
    return id
  }

  /**
   * Whom the places are given to at this moment; each delivers a little and is released at the end of the
   * turn.
   */
  async function takeTurn(at: number): Promise<readonly EndpointId[]> {
    const options = { now: at, leaseMs: minute, limit: places, unhealthy: false }
    const claimed = await deliveries().claimEndpoints(options)
    for (const { lease, endpoint } of claimed) {
      const due = await deliveries().listDue(endpoint.id, { now: at, limit: deliveredInTurn })
      for (const { id } of due) await recordAs(store(), lease, id, { attempt: { at } })
      await deliveries().release(lease, { now: at + turnMs, notBefore: 0 })
    }
    return claimed.map(({ endpoint }) => endpoint.id)
  }

  test('more slow endpoints with a backlog than there are places delay an event by one turn of each', async () => {
    const slow: EndpointId[] = []
    for (let count = 0; count < 6; count += 1) slow.push(await addBacklog(begin + count, 40))
    let at = begin + minute
    const served: EndpointId[] = []
    for (let turn = 0; turn < 6; turn += 1, at += turnMs) served.push(...(await takeTurn(at)))
    for (const id of slow) assert.equal(served.filter((one) => one === id).length, 2)
    const healthy = await addBacklog(at, 1)
    let turns = 0
    for (; turns < 10; turns += 1, at += turnMs) if ((await takeTurn(at)).includes(healthy)) break
    // All six have waited longer; two are served at once.
    assert.ok(turns <= slow.length / places, `it waited ${turns} turns`)
    // The clock is set back: nobody waits until it has caught up.
    const after = await takeTurn(begin + minute)
    assert.equal(after.length, places)
    for (const id of slow) await store().endpoints.delete(id)
  })
}
