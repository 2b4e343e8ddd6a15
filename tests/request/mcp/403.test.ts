/** What a plan allows an agent (readings R25 to R28). Scopes are tested with the tokens that carry them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { callTool, modern, post, rpc, toolCall } from '#tests/support/agent.ts'
import { type ServiceUser, specified, startService } from '#tests/support/service.ts'

const service = await startService({ env: specified })
after(() => service.close())

const unknownId = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'
const noPlan = { error: { message: 'API access requires a Developer or Professional plan' } }

const everyMethod = () => {
  const discover = modern('server/discover')
  const call = modern('tools/call', { name: 'list_connections', arguments: {} })
  return [
    [rpc('ping'), {}],
    [rpc('tools/list'), {}],
    [toolCall('list_connections'), {}],
    [toolCall('list_holdings', { connectionId: unknownId }), {}],
    [{ jsonrpc: '2.0', method: 'notifications/initialized' }, {}],
    [[rpc('ping', {}, 1), toolCall('list_accounts', {}, 2)], {}],
    [discover.payload, discover.headers],
    [call.payload, call.headers],
  ] as const
}

for (const plan of [
  { plan: 'none' },
  { plan: 'developer', status: 'canceled' },
  { plan: 'professional', status: 'canceled' },
] as const) {
  test(`R28: ${JSON.stringify(plan)} is HTTP 403 for every method, and costs nothing`, async () => {
    const user = await service.createUser(plan)
    for (const [payload, headers] of everyMethod()) {
      const answer = await post(service, payload, { as: user, headers })
      assert.equal(answer.status, 403)
      assert.deepEqual(answer.body, noPlan)
      const { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': left } = answer.headers
      assert.equal(left, limit, 'nothing was charged')
      assert.equal(answer.headers['www-authenticate'], undefined, 'no other token would help')
    }
  })
}

async function assertBrokerageRefused(user: ServiceUser): Promise<void> {
  for (const name of ['list_holdings', 'list_trades'] as const) {
    const answer = await post(service, toolCall(name, { connectionId: unknownId }), { as: user })
    assert.equal(answer.status, 403)
    assert.equal(answer.body.error.code, 'professional_required')
    assert.equal(answer.headers['www-authenticate'], undefined, 'no other token would help')
    assert.equal(answer.headers['x-ratelimit-limit'], '30')
  }
}

test('R28: brokerage tools of a Developer are HTTP 403 professional_required, in both eras', async () => {
  const user = await service.createUser({ plan: 'developer' })
  await assertBrokerageRefused(user)
  const call = modern('tools/call', {
    name: 'list_holdings',
    arguments: { connectionId: unknownId },
  })
  const answer = await post(service, call.payload, { as: user, headers: call.headers })
  assert.equal(answer.status, 403)
  assert.equal(answer.body.error.code, 'professional_required')
  assert.equal((await callTool(service, user, 'list_connections')).result.isError, undefined)
})

test('R26: a trialing Professional has no brokerage tools', async () => {
  await assertBrokerageRefused(await service.createUser({ status: 'trialing' }))
})

test('R28: in a batch it is that entry’s error, and the others still run', async () => {
  const user = await service.createUser({ plan: 'developer' })
  const answer = await post(
    service,
    [
      toolCall('list_holdings', { connectionId: unknownId }, 1),
      toolCall('list_connections', {}, 2),
      toolCall('list_trades', { connectionId: unknownId }, 3),
    ],
    { as: user },
  )
  assert.equal(answer.status, 200)
  const [first, second, third] = answer.body
  for (const entry of [first, third]) {
    assert.equal(entry.result.isError, true)
    assert.equal(entry.result.structuredContent.error.code, 'professional_required')
  }
  assert.deepEqual(second.result.structuredContent, { data: [] })
})

test('R29: all six tools are listed for every caller, in one order', async () => {
  const developer = await service.createUser({ plan: 'developer' })
  const professional = await service.createUser()
  const lists = await Promise.all(
    [developer, professional].map((as) => post(service, rpc('tools/list'), { as })),
  )
  assert.equal(lists[0]?.text, lists[1]?.text)
  assert.deepEqual(
    lists[0]?.body.result.tools.map((tool: { name: string }) => tool.name),
    [
      'list_connections',
      'list_accounts',
      'list_balances',
      'list_transactions',
      'list_holdings',
      'list_trades',
    ],
  )
})

test('R27: a change of plan counts on the next call', async () => {
  const user = await service.createUser({ plan: 'developer' })
  await assertBrokerageRefused(user)
  const plan = { status: 'active', legacyUntil: null, grandfathered: false } as const
  await service.app.store.users.setPlan(user.id, { plan: 'professional', ...plan })
  const asked = await callTool(service, user, 'list_holdings', { connectionId: unknownId })
  assert.equal(asked.result.structuredContent.error.code, 'connection_not_found')
  await service.app.store.users.setPlan(user.id, { plan: 'none', ...plan })
  assert.equal((await post(service, rpc('ping'), { as: user })).status, 403)
})
