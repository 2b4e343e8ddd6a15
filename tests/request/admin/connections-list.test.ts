/** The list of a user's connections for operators: the public fields, and how their syncs stand. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Connection } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { fiskil, link } from './credentials.ts'
import { makeWorld } from './world.ts'

test('200: the list says when the consent ends, when the next sync is, and why the last one failed', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, fiskil)
  assert.ok(connection)
  const { connections, syncs } = world.store
  const own = connection.id as ConnectionId
  const now = world.clock.now()
  await connections.setConsentExpiry(own, now + 5000)
  const claimed = await syncs.claim(own, { now, leaseMs: 60_000, reason: 'operator' })
  assert(claimed?.kind === 'claimed')
  const outcome = { kind: 'failed', code: 'throttled', message: 'The provider limits us' } as const
  await syncs.finish(claimed.sync.runId, { outcome, endedAt: now, nextDueAt: now + 1000 })
  const { status, body } = await world.ask('GET', `/admin/users/${id}/connections`)
  assert.equal(status, 200)
  const { data } = body as { data: Record<string, unknown>[] }
  const listed = data.find((one) => one.id === own)
  const at = (ms: number) => new Date(ms).toISOString()
  assert.deepEqual(listed, {
    ...connection,
    consentExpiresAt: at(now + 5000),
    lastSuccessAt: null,
    nextSyncAt: at(now + 1000),
    lastErrorAt: at(now),
    lastErrorCode: 'throttled',
    lastError: 'The provider limits us',
  })
  const other = data.find((one) => one.id !== own)
  assert.equal(other?.lastError, null)
})

test('the public form of a connection has none of it', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, fiskil)
  const { freshness, consentExpiresAt, ...plain } = Connection.shape
  assert.ok(freshness.isOptional() && consentExpiresAt.isOptional())
  assert.deepEqual(Object.keys(connection ?? {}), Object.keys(plain))
})
