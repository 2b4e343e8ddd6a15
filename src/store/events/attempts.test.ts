import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import {
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  disabled,
  resultAs,
} from '#tests/contract/store/event-rows.ts'
import { makeMigratedPlace } from '#tests/contract/store/place.ts'
import { addLink, now } from '#tests/contract/store/rows.ts'
import { openSqlite } from '../engine/sqlite-engine.ts'

const place = makeMigratedPlace()
const store = await place.open()
after(() => place.remove())

test('of an event that was shredded during the attempt no answer is stored, although its key is still in memory', async () => {
  const link = await addLink(store)
  const endpoint = await addEndpoint(store, link.user.id)
  await acceptChunks(store, link.user.id, link.connection.id, 1)
  const claimed = await claimEndpoint(store, endpoint.id)
  const [due] = await store.deliveries.listDue(endpoint.id, { now, limit: 1 })
  assert.ok(claimed && due)
  const body = (await store.events.readBodies([due.eventId])).get(due.eventId)
  await store.endpoints.setHealth(endpoint.id, disabled)
  assert.equal(await store.events.shred({ acceptedBefore: now + 1, now, limit: 1 }), 1)
  const attempt = { response: Buffer.from('what was sent') }
  const result = resultAs(claimed.lease, due.id, { attempt, health: disabled })
  await store.deliveries.record([{ ...result, body }])
  await store.close()
  const engine = openSqlite(place.dataDir, () => {})
  const { rows } = await sql`select number, response from attempts`.execute(engine.db)
  await engine.close()
  assert.deepEqual(rows, [{ number: 1, response: null }])
})
