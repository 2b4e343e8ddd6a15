/**
 * Webhooks of a provider that reach several processes: one is heeded, the newest status holds, whichever
 * process has it.
 */
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { demoCredentials } from '#sandbox/snaptrade/index.ts'
import { type Fleet, startFleet, until } from './fleet.ts'
import type { ServerProcess } from './server-process.ts'

let fleet: Fleet
before(async () => {
  fleet = await startFleet({ env: { LOG_LEVEL: 'debug' } })
})
after(() => fleet?.close())

/** A user with SnapTrade's healthy person, and one of their connections. */
async function addBroker() {
  const user = await fleet.createUser()
  const { userId, userSecret, connections } = fleet.sandbox.snaptrade.people.healthy
  const body = { provider: 'snaptrade', snaptradeUserId: userId, userSecret }
  await fleet.one.admin('POST', `/users/${user.id}/connections`, body)
  const [held] = connections
  assert.ok(held !== undefined)
  const listed = await fleet.one.admin('GET', `/users/${user.id}/connections`)
  assert.equal(listed.body.data.length, connections.length)
  const statuses = async (server: ServerProcess): Promise<string[]> => {
    const { body: shown } = await server.get('/v1/connections', user.key)
    return shown.data.map((row: { status: string }) => row.status).sort()
  }
  return { userId, brokerageAuthorizationId: held.id, statuses }
}

async function send(server: ServerProcess, fields: object): Promise<number> {
  const body = JSON.stringify({
    webhookId: randomUUID(),
    eventTimestamp: new Date().toISOString(),
    ...fields,
  })
  return sendBody(server, body)
}

async function sendBody(server: ServerProcess, body: string): Promise<number> {
  const signature = createHmac('sha256', demoCredentials.consumerKey).update(body).digest('base64')
  const answer = await request(`${server.baseUrl}/providers/snaptrade/webhook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', signature },
    body,
  })
  await answer.body.dump()
  return answer.statusCode
}

/** How many lines of the processes' logs say so. */
function countOf(outcome: string): number {
  const lines = [fleet.one, fleet.two].flatMap(({ output }) => output)
  return lines.filter((line) => line.includes(`"outcome":"${outcome}"`)).length
}

test('the same webhook at both processes, many times at once, is applied once', async () => {
  const { userId, brokerageAuthorizationId } = await addBroker()
  const body = JSON.stringify({
    webhookId: randomUUID(),
    eventTimestamp: new Date().toISOString(),
    userId,
    brokerageAuthorizationId,
    eventType: 'ACCOUNT_HOLDINGS_UPDATED',
  })
  const sendAll = () =>
    Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        sendBody(index % 2 === 0 ? fleet.one : fleet.two, body),
      ),
    )
  const outcomes = ['done', 'repeated', 'under_way']
  const countAll = () => outcomes.reduce((sum, outcome) => sum + countOf(outcome), 0)
  // Until the first one is stored the others are asked to come again.
  const statuses = await sendAll()
  assert.ok(statuses.includes(200))
  await until('all are in the logs', () => countAll() === 20)
  assert.equal(statuses.filter((status) => status === 503).length, countOf('under_way'))
  assert.deepEqual(new Set(await sendAll()), new Set([200]))
  await until('the repeated ones are too', () => countAll() === 40)
  assert.equal(countOf('done'), 1)
})

test('a status that one process receives is shown by the other, and an older one that the other receives changes nothing', async () => {
  const { userId, brokerageAuthorizationId, statuses } = await addBroker()
  const now = Date.now()
  const tell = (server: ServerProcess, eventType: string, at: number) => {
    const eventTimestamp = new Date(at).toISOString()
    return send(server, { userId, brokerageAuthorizationId, eventType, eventTimestamp })
  }
  assert.equal(await tell(fleet.one, 'CONNECTION_BROKEN', now + 10_000), 200)
  await until('the other process shows it', async () =>
    (await statuses(fleet.two)).includes('invalidated'),
  )
  assert.equal(await tell(fleet.two, 'CONNECTION_FIXED', now + 30_000), 200)
  await until('the first process shows it', async () =>
    (await statuses(fleet.one)).every((status) => status === 'active'),
  )
  assert.equal(await tell(fleet.one, 'CONNECTION_BROKEN', now + 20_000), 200)
  for (const server of [fleet.one, fleet.two]) {
    assert.ok((await statuses(server)).every((status) => status === 'active'))
  }
})
