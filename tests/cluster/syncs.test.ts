/**
 * Syncs of several processes on one PostgreSQL: each connection is read by one of them at a time, and
 * announced once.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { type Fleet, startFleet, until } from './fleet.ts'

interface Received {
  readonly syncRunId: string
  readonly newCount: number
  /** Of its objects. */
  readonly ids: readonly string[]
}

const received: Received[] = []
const receiver = createServer(async (request, response) => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  const { data, metadata } = JSON.parse(Buffer.concat(parts).toString('utf8'))
  received.push({
    syncRunId: metadata.sync_run_id,
    newCount: metadata.new_count,
    ids: data.new.map(({ id }: { readonly id: string }) => id),
  })
  response.end()
})

let fleet: Fleet
before(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  fleet = await startFleet({ env: { ROLE: 'all', WEBHOOK_ALLOW_PRIVATE: 'true' } })
})
after(async () => {
  receiver.close()
  await fleet.close()
})

/** A user with an endpoint at the receiver, then linked: to the two banks of the healthy person at Fiskil. */
async function linkWatched() {
  const { one, sandbox } = fleet
  const { id } = await fleet.createUser()
  const { port } = receiver.address() as AddressInfo
  await one.admin('POST', `/users/${id}/webhooks`, { url: `http://127.0.0.1:${port}/` })
  const credentials = sandbox.person('healthy').find(({ provider }) => provider === 'fiskil')
  const { body } = await one.admin('POST', `/users/${id}/connections`, credentials)
  return body.connections as readonly { readonly id: string }[]
}

/** The events of a run are complete when they have as many objects as the run counted. */
function listComplete(): readonly (readonly [string, readonly string[]])[] {
  const runs = Map.groupBy(received, ({ syncRunId }) => syncRunId)
  return [...runs].flatMap(([id, events]) => {
    const ids = events.flatMap((event) => event.ids)
    return ids.length === events[0]?.newCount ? [[id, ids] as const] : []
  })
}

test('R34a: every connection that is linked is synced by one of the processes, and each row arrives once', async () => {
  const linked = await Promise.all([linkWatched(), linkWatched(), linkWatched()])
  const { length } = linked.flat()
  assert.equal(length, 6)
  await until('all are announced', () => listComplete().length >= length, 60_000)
  assert.equal(listComplete().length, length)
  for (const [, ids] of listComplete()) assert.equal(new Set(ids).size, ids.length)
})

test('two processes that are asked for a sync of one connection at once run it once and answer alike', async () => {
  const [connection = assert.fail()] = await linkWatched()
  const { one, two, sandbox } = fleet
  // So slow that both ask while it is under way.
  sandbox.fiskil.latencyMs = 200
  const path = `/connections/${connection.id}/sync`
  const answers = await Promise.all([
    one.admin('POST', path),
    two.admin('POST', path),
    one.admin('POST', path),
  ])
  sandbox.fiskil.latencyMs = 0
  const runs = new Set(answers.map(({ body }) => body.syncRunId))
  // The run after linking may have been under way, and have ended before one of them asked.
  assert.ok(runs.size <= 2, `${runs.size} runs`)
  for (const { body } of answers) assert.ok(body.chunks >= 1)
})
