/**
 * A connection whose accounts were not there when it was read last: what is asked of it is not answered as
 * empty (reading R20b).
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { activity, linkBroker, position } from '#tests/support/broker.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())
// Another minute for the budget of calls, another ten for the cache.
beforeEach(() => service.clock.advance(660_000))

const refresh = (id: ConnectionId) =>
  service.app.connections.refreshConnection(byOperator, id, { priority: 'user' })

/** The accounts of the connection, and how many rows an operation shows. */
async function count(path: string, id: ConnectionId): Promise<[number, number]> {
  const answer = await service.get(`${path}?connectionId=${id}`, user)
  assert.equal(answer.status, 200, answer.text)
  const accounts = await service.accounts(user)
  const own = accounts.filter(({ connectionId }) => connectionId === id)
  return [own.length, answer.body.data.length]
}

test('R20b: after one empty list of accounts at a broker, trades and holdings are read as soon as it lists them', async () => {
  const { snaptrade } = service.sandbox
  for (const path of ['/v1/trades', '/v1/holdings']) {
    const rows = { positions: [position(), position()], activities: [activity(), activity()] }
    const { connection } = await linkBroker(service, user, [rows, {}])
    const before = await count(path, connection.id)
    assert.deepEqual(before, [2, 2])
    snaptrade.addFault({
      when: ({ path }) => path === '/accounts',
      does: { kind: 'edit', edit: (reply) => ({ ...reply, body: [] }) },
    })
    service.clock.advance(660_000)
    await refresh(connection.id)
    assert.deepEqual(await count(path, connection.id), [0, 0])
    snaptrade.clearFaults()
    service.clock.advance(660_000)
    assert.deepEqual(await count(path, connection.id), before)
  }
})

test('R20b: a bank that lists its accounts after the link is read without another refresh', async () => {
  const { up } = service.sandbox
  up.addFault({
    when: ({ path }) => path.endsWith('/accounts'),
    does: {
      kind: 'edit',
      edit: (reply) => ({ ...reply, body: { data: [], links: { prev: null, next: null } } }),
    },
  })
  const [row] = await service.link(user, 'healthy', 'up')
  assert(row !== undefined)
  assert.deepEqual(await count('/v1/transactions', row.id), [0, 0])
  up.clearFaults()
  // Answers about transactions are kept for half an hour.
  service.clock.advance(1_860_000)
  const [accounts, rows] = await count('/v1/transactions', row.id)
  assert.ok(accounts > 0 && rows > 0, `${accounts} accounts, ${rows} rows`)
})
