/** From a bank to a receiver: what a sync finds arrives as signed events in the form of the contract. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import { startService } from '#tests/support/service.ts'
import { parseEvent } from '#tests/support/synced-event.ts'
import { until } from '#tests/support/until.ts'
import { findForgery } from '#webhooks/sign.ts'
import { startReceiver, withStatus } from './stage.ts'

const canary = 'Walrus Sanctuary 4711'

async function start(t: TestContext) {
  const service = await startService({ env: { ROLE: 'all' } })
  t.after(() => service.close())
  const user = await service.createUser()
  const ask = async (path: string, body?: object) => {
    const response = await request(`${service.adminUrl}/admin${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service.adminToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const answer = (await response.body.json()) as Record<string, unknown>
    assert.ok(response.statusCode < 300, `${path}: ${JSON.stringify(answer)}`)
    return answer
  }
  return { service, user, ask }
}

test('R34b: the first endpoint gets the rows of the last 90 days, later only new ones, each event signed and valid', async (t) => {
  const { service, user, ask } = await start(t)
  const [connection, ...others] = await service.link(user, 'twins', 'fiskil')
  assert.ok(connection)
  assert.deepEqual(others, [])
  const receiver = await startReceiver(t, withStatus(200))
  const { secret } = await ask(`/users/${user.id}/webhooks`, { url: receiver.url })
  const envelopes = () => receiver.received.map(({ body }) => parseEvent(body))
  await until('the first run is told in full', () => {
    const last = envelopes().at(-1)?.metadata
    return last !== undefined && last.chunk === last.total_chunks
  })
  const [first] = envelopes()
  assert.ok(first)
  assert.equal(first.type, 'transactions.synced')
  const count = first.metadata.new_count
  assert.ok(count > 0)
  const told = envelopes().flatMap(({ data }): readonly { id: string }[] => data.new)
  assert.equal(told.length, count)
  const shown = await service.get(`/v1/transactions?connectionId=${connection.id}&limit=500`, user)
  const ids = new Set(told.map((row) => row.id))
  for (const row of shown.body.data) assert.ok(ids.has(row.id), row.id)
  // A sync without changes sends an event without objects.
  const before = receiver.received.length
  const quiet = await ask(`/connections/${connection.id}/sync`)
  assert.deepEqual([quiet.newCount, quiet.updatedCount, quiet.chunks], [0, 0, 1])
  await until('it arrived', () => receiver.received.length === before + 1)
  await ask('/sandbox/people/twins/rows', { amount: '-4.50', description: canary })
  service.clock.advance(60_000)
  const loud = await ask(`/connections/${connection.id}/sync`)
  assert.deepEqual([loud.newCount, loud.chunks], [1, 1])
  await until('it arrived', () => receiver.received.length === before + 2)
  const last = envelopes().at(-1)
  assert.equal(last?.metadata.sync_run_id, loud.syncRunId)
  const [row] = last?.data.new ?? []
  assert.ok(row?.object === 'transaction')
  assert.equal(row.amount, -450)
  assert.equal(row.description, canary)
  for (const { headers, body } of receiver.received) {
    const at = Number(headers['webhook-timestamp'])
    assert.equal(findForgery({ headers, body: Buffer.from(body) }, String(secret), at), null)
  }
  assert.equal(new Set(receiver.received.map((one) => one.id)).size, receiver.received.length)
  assert.ok(!service.logLines.join('').includes(canary))
  assert.ok(!service.logLines.join('').includes(String(secret)))
})
