/** OAuth tokens at `/mcp`: scopes, limits per grant, and their end (readings R27, R28). */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { callTool, modern, post, rpc, toolCall } from '#tests/support/agent.ts'
import { type Person, signUp } from '#tests/support/person.ts'
import { specified, startService } from '#tests/support/service.ts'
import { connectAgent, refresh, revoke } from '#tests/support/token.ts'

let person: Person
const service = await startService({ env: specified })
beforeEach(async () => {
  service.clock.advance(60_000)
  person = await signUp(service)
})
after(() => service.close())

const unknownId = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'
const holdings = (id: number | string = 1) =>
  toolCall('list_holdings', { connectionId: unknownId }, id)
const bearer = ({ accessToken }: { readonly accessToken: string }) => `Bearer ${accessToken}`

test('R28: a token with both scopes reaches both kinds of tools', async () => {
  const as = bearer(await connectAgent(service, person))
  assert.deepEqual((await callTool(service, as, 'list_connections')).result.structuredContent, {
    data: [],
  })
  const { result } = await callTool(service, as, 'list_holdings', { connectionId: unknownId })
  assert.equal(result.structuredContent.error.code, 'connection_not_found')
})

test('R28: a missing scope is HTTP 403 insufficient_scope, and the challenge names both', async () => {
  const as = bearer(await connectAgent(service, person, { scopes: ['mcp:read'] }))
  const call = modern('tools/call', {
    name: 'list_trades',
    arguments: { connectionId: unknownId },
  })
  for (const [payload, headers] of [
    [holdings(), {}],
    [call.payload, call.headers],
  ] as const) {
    const answer = await post(service, payload, { as, headers })
    assert.equal(answer.status, 403)
    assert.equal(answer.body.error.code, 'insufficient_scope')
    assert.match(answer.body.error.message, /brokerage:read/)
    assert.equal(
      answer.headers['www-authenticate'],
      `Bearer error="insufficient_scope", resource_metadata="${service.baseUrl}/.well-known/oauth-protected-resource/mcp", scope="mcp:read brokerage:read"`,
    )
    assert.equal(answer.headers['x-ratelimit-limit'], '30')
  }
  assert.equal((await post(service, toolCall('list_accounts'), { as })).status, 200)
})

test('R28: brokerage:read alone does not open the other tools', async () => {
  const as = bearer(await connectAgent(service, person, { scopes: ['brokerage:read'] }))
  const answer = await post(service, toolCall('list_connections'), { as })
  assert.equal(answer.status, 403)
  assert.equal(answer.body.error.code, 'insufficient_scope')
  assert.equal((await post(service, holdings(), { as })).status, 200)
})

test('R28: in a batch a missing scope is that entry’s error, and the others still run', async () => {
  const as = bearer(await connectAgent(service, person, { scopes: ['mcp:read'] }))
  const answer = await post(service, [holdings(1), toolCall('list_connections', {}, 2)], { as })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['www-authenticate'], undefined)
  const [first, second] = answer.body
  assert.equal(first.result.isError, true)
  assert.equal(first.result.structuredContent.error.code, 'insufficient_scope')
  assert.deepEqual(second.result.structuredContent, { data: [] })
})

test('R28: the plan is judged before the scope', async () => {
  const as = bearer(await connectAgent(service, person, { scopes: ['mcp:read'] }))
  const rest = { status: 'active', legacyUntil: null, grandfathered: false } as const
  await service.app.store.users.setPlan(person.id, { plan: 'developer', ...rest })
  const answer = await post(service, holdings(), { as })
  assert.equal(answer.body.error.code, 'professional_required')
  await service.app.store.users.setPlan(person.id, { plan: 'none', ...rest })
  const refused = await post(service, rpc('tools/list'), { as })
  assert.equal(refused.status, 403)
  assert.equal(refused.body.error.code, undefined)
})

test('R28: limits are those of a grant: of its tokens together, of no other agent and no key', async () => {
  const tokens = await connectAgent(service, person)
  const left = async (as: string) =>
    Number(
      (await post(service, toolCall('list_connections'), { as })).headers['x-ratelimit-remaining'],
    )
  assert.equal(await left(bearer(tokens)), 59)
  assert.equal(await left(bearer(await refresh(service, tokens))), 58)
  assert.equal(await left(bearer(await connectAgent(service, person))), 59)
})

test('R27: an expired token is refused with the challenge', async () => {
  const as = bearer(await connectAgent(service, person))
  assert.equal((await post(service, rpc('ping'), { as })).status, 200)
  service.clock.advance(15 * 60_000)
  const answer = await post(service, rpc('ping'), { as })
  assert.equal(answer.status, 401)
  assert.equal(answer.body.error.code, 'invalid_token')
  assert.match(
    String(answer.headers['www-authenticate']),
    /^Bearer error="invalid_token", resource_/,
  )
})

test('R27: a revoked token is refused on the very next call', async () => {
  const tokens = await connectAgent(service, person)
  assert.equal((await post(service, rpc('ping'), { as: bearer(tokens) })).status, 200)
  await revoke(service, tokens)
  assert.equal((await post(service, rpc('ping'), { as: bearer(tokens) })).status, 401)
})

test('R27: the token of a deleted user is refused on the very next call', async () => {
  const as = bearer(await connectAgent(service, person))
  assert.equal((await post(service, rpc('ping'), { as })).status, 200)
  await service.app.connections.deleteUser(byOperator, person.id)
  assert.equal((await post(service, rpc('ping'), { as })).status, 401)
})

test('a refresh token is no access token', async () => {
  const { refreshToken } = await connectAgent(service, person)
  const answer = await post(service, rpc('ping'), { as: `Bearer ${refreshToken}` })
  assert.equal(answer.status, 401)
})

test('R5: an access token opens no REST path', async () => {
  const as = bearer(await connectAgent(service, person))
  const answer = await service.get('/v1/connections', as)
  assert.equal(answer.body.error.code, 'invalid_token')
})
