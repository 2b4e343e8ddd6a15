/** A process that is killed between a change of a connection and its event (reading R41). */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { EventEnvelope } from '#contract/events.ts'
import type { Store } from '#store/ports/store.ts'
import { makeSqlitePlace } from '#tests/contract/store/place.ts'
import { makeConnectionEvents } from '#webhooks/accept-connection-events.ts'
import type { Moment } from './killed-changes/change-process.ts'

const program = fileURLToPath(new URL('./killed-changes/change-process.ts', import.meta.url))
const never = new AbortController().signal
const hour = 3_600_000

function die(dataDir: string, moment: Moment): void {
  const { signal, stderr } = spawnSync(process.execPath, [program, dataDir, moment], {
    env: { NODE_ENV: 'test', PATH: process.env.PATH ?? '' },
    encoding: 'utf8',
    timeout: 60_000,
  })
  assert.equal(signal, 'SIGKILL', stderr)
}

/** The events at the only endpoint, as they would be sent. */
async function listEvents(store: Store): Promise<readonly EventEnvelope[]> {
  const claimed = await store.deliveries.claimEndpoints({
    now: Date.now() + hour,
    leaseMs: hour,
    limit: 10,
    unhealthy: false,
  })
  const envelopes: EventEnvelope[] = []
  for (const { endpoint } of claimed) {
    for (const { eventId } of await store.deliveries.list(endpoint.id, { after: null, limit: 9 })) {
      const body = Buffer.from((await store.events.open(eventId)) ?? '').toString('utf8')
      envelopes.push(EventEnvelope.parse(JSON.parse(body)))
    }
  }
  return envelopes
}

for (const moment of ['changed', 'sealed', 'accepted'] as const) {
  test(`R41: a process that is killed once it has ${moment === 'changed' ? 'changed a connection' : `${moment} the event of a change`} loses no event, and the next one makes no second`, async (t) => {
    const place = makeSqlitePlace()
    t.after(() => place.remove())
    die(place.dataDir, moment)
    const store = await place.open()
    t.after(() => store.close())
    const waiting = await store.connectionEvents.listWaiting(10)
    assert.equal(waiting.length, moment === 'accepted' ? 0 : 1)
    for (let round = 0; round < 3; round += 1) await makeConnectionEvents(store).run(never)
    assert.deepEqual(await store.connectionEvents.listWaiting(10), [])
    const events = await listEvents(store)
    assert.deepEqual(
      events.map(({ type }) => type),
      ['connection.revoked'],
    )
    // The key of the event that was sealed and never accepted is swept.
    assert.equal((await place.listKeys()).length, moment === 'sealed' ? 2 : 1)
    await store.events.sweepKeys({ before: Date.now() + hour, limit: 10 })
    assert.equal((await place.listKeys()).length, 1)
  })
}
