/**
 * What the pages show a person, asked for by an operator: requests, limits, agents, signed-in browsers,
 * accounts.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import { connectAgent, startPages } from '#tests/request/pages/world.ts'
import { post, toolCall } from '#tests/support/agent.ts'
import type { Answer } from '#tests/support/service.ts'

const world = await startPages({ env: { RATE_LIMIT_CHEAP: '60' } })
after(() => world.close())

/** One request with the admin token. */
async function ask(
  method: 'GET' | 'DELETE',
  path: string,
): Promise<Pick<Answer, 'status' | 'body'>> {
  const { adminUrl, adminToken } = world.service
  const answer = await request(`${adminUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}` },
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, body: text === '' ? null : JSON.parse(text) }
}

test('usage: the requests of a user by day and by operation', async () => {
  const user = await world.service.createUser({ timezone: 'Pacific/Auckland' })
  await world.service.get('/v1/categories', user)
  const { status, body } = await ask('GET', `/admin/users/${user.id}/usage?days=2`)
  assert.equal(status, 200)
  assert.equal(body.timezone, 'Pacific/Auckland')
  assert.equal(body.requests, 1)
  assert.equal(body.days.length, 2)
  assert.deepEqual(
    body.operations.map((one: { operation: string }) => one.operation),
    ['list_categories'],
  )
  assert.equal((await ask('GET', `/admin/users/${user.id}/usage?days=0`)).status, 400)
})

test('limits: what is left of the limits of each key, and of providers, without counting the question', async () => {
  const { service } = world
  const user = await service.createUser()
  await service.link(user, 'healthy', 'snaptrade')
  await service.get('/v1/categories', user)
  const path = `/admin/users/${user.id}/limits`
  await ask('GET', path)
  const { status, body } = await ask('GET', path)
  assert.equal(status, 200)
  assert.equal(body.perMinute.cheap, 60)
  assert.equal(body.atOnce, 4)
  const [reader] = body.readers
  assert.equal(reader.kind, 'key')
  assert.equal(reader.left.cheap.limit, 60)
  assert.equal(reader.left.cheap.remaining, 59)
  assert.deepEqual(
    body.providers.map((one: { provider: string }) => one.provider),
    ['snaptrade'],
  )
  assert.equal((await ask('GET', '/admin/users/nobody@example.test/limits')).status, 404)
})

test('agents: an operator lists and disconnects an agent, whose token is then refused', async () => {
  const person = await world.addPerson()
  const other = await world.addPerson()
  const { access_token: accessToken } = await connectAgent(
    world.service,
    await world.enter(person),
    {
      name: 'Claude',
    },
  )
  const call = async () =>
    (await post(world.service, toolCall('list_connections'), { as: `Bearer ${accessToken}` }))
      .status
  assert.equal(await call(), 200)
  const { body } = await ask('GET', `/admin/users/${person.email}/agents`)
  const [agent] = body.data
  assert.equal(agent.name, 'Claude')
  assert.deepEqual(agent.scopes, ['mcp:read', 'brokerage:read'])
  const strange = await ask('DELETE', `/admin/users/${other.id}/agents/${agent.id}`)
  assert.deepEqual([strange.status, strange.body.error.code], [404, 'agent_not_found'])
  assert.equal((await ask('DELETE', `/admin/users/${person.id}/agents/${agent.id}`)).status, 204)
  assert.equal(await call(), 401)
  assert.equal((await ask('DELETE', `/admin/users/${person.id}/agents/${agent.id}`)).status, 404)
  assert.deepEqual((await ask('GET', `/admin/users/${person.id}/agents`)).body, { data: [] })
  const { body: audit } = await ask('GET', `/admin/audit?user=${person.id}`)
  const entries = audit.data.filter((one: { actor: string }) => one.actor === 'admin')
  assert.deepEqual(
    entries.map((one: { action: string }) => one.action),
    ['agent.disconnected'],
  )
})

test('sessions: an operator lists the signed-in browsers of a user and signs out of one', async () => {
  const person = await world.addPerson()
  const other = await world.addPerson()
  const [first, second] = [await world.enter(person), await world.enter(person)]
  const { body } = await ask('GET', `/admin/users/${person.id}/sessions`)
  assert.equal(body.data.length, 2)
  const [{ id, address }] = body.data
  assert.equal(address, '127.0.0.1')
  const strange = await ask('DELETE', `/admin/users/${other.id}/sessions/${id}`)
  assert.deepEqual([strange.status, strange.body.error.code], [404, 'session_not_found'])
  assert.equal((await ask('DELETE', `/admin/users/${person.id}/sessions/x`)).status, 404)
  assert.equal((await ask('DELETE', `/admin/users/${person.id}/sessions/${id}`)).status, 204)
  const statuses = [(await first.get('/keys')).status, (await second.get('/keys')).status]
  assert.deepEqual(statuses.sort(), [200, 303])
})

test('a user asked for alone says how they sign in', async () => {
  const person = await world.addPerson()
  const { body } = await ask('GET', `/admin/users/${person.id}`)
  assert.equal(body.hasPassword, true)
  assert.equal(body.hasSecondFactor, false)
  assert.equal(body.recoveryCodesLeft, 0)
  assert.deepEqual([body.secondFactors, body.passkeys], [[], 0])
  assert.equal(body.emailConfirmedAt, null)
  const keyOnly = await world.service.createUser()
  assert.equal((await ask('GET', `/admin/users/${keyOnly.id}`)).body.hasPassword, false)
})

test('accounts: those of the user, by name, with masked numbers', async () => {
  const user = await world.service.createUser()
  await world.service.link(user, 'healthy', 'fiskil')
  const { body } = await ask('GET', `/admin/users/${user.id}/accounts`)
  assert.ok(body.data.length > 1)
  for (const { accountNumber } of body.data) assert.match(accountNumber, /^xxxx.{1,4}$/)
  const { body: rest } = await world.service.get('/v1/accounts', user)
  assert.deepEqual(body.data, rest.data)
  assert.equal((await ask('GET', '/admin/users/nobody@example.test/accounts')).status, 404)
})

test('service: the version, the mode and the public addresses', async () => {
  const { baseUrl } = world.service
  const { status, body } = await ask('GET', '/admin/service')
  assert.equal(status, 200)
  assert.match(body.version, /^\d+\.\d+\.\d+/)
  assert.deepEqual([body.baseUrl, body.mcpUrl], [baseUrl, baseUrl])
  assert.ok(['live', 'sandbox'].includes(body.mode))
})
