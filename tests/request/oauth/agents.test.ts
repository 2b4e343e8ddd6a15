import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { connect, getCode, redeem, refresh, registerClient } from './dance.ts'
import { startWorld } from './world.ts'

const world = await startWorld()
after(async () => {
  await world.close()
  assert.deepEqual(world.failures, [])
})

test('a connected agent is listed with what it was called and allowed', async () => {
  const person = await world.addPerson()
  const at = world.clock.now()
  const tokens = await connect(world, person, { scopes: ['mcp:read'] })
  const facts = await world.oauth.tokens.find(tokens.access_token)
  assert.deepEqual(await world.oauth.agents.list(person), [
    {
      grantId: facts?.grantId,
      clientId: facts?.clientId,
      clientName: 'Probe',
      redirectHost: '127.0.0.1',
      scopes: ['mcp:read'],
      connections: null,
      connectedAt: at,
      lastUsedAt: null,
    },
  ])
})

test('a grant whose code was never redeemed is not an agent for long', async () => {
  const person = await world.addPerson()
  await getCode(world, person)
  assert.equal((await world.oauth.agents.list(person)).length, 1)
  world.clock.advance(60_000)
  assert.deepEqual(await world.oauth.agents.list(person), [])
})

test('R27: disconnecting takes effect at the next call and the next refresh', async () => {
  const person = await world.addPerson()
  const tokens = await connect(world, person)
  const [agent] = await world.oauth.agents.list(person)
  assert.ok(agent)
  assert.equal(
    await world.oauth.agents.disconnect(byOperator, person, { grantId: agent.grantId }),
    true,
  )
  assert.equal(await world.oauth.tokens.find(tokens.access_token), null)
  assert.equal((await refresh(world, tokens)).status, 400)
  assert.deepEqual(await world.oauth.agents.list(person), [])
  assert.equal(
    await world.oauth.agents.disconnect(byOperator, person, { grantId: agent.grantId }),
    false,
  )
})

test('a user can neither see nor disconnect the agents of another user', async () => {
  const [mine, theirs] = [await world.addPerson(), await world.addPerson()]
  const tokens = await connect(world, theirs)
  const [agent] = await world.oauth.agents.list(theirs)
  assert.ok(agent)
  assert.deepEqual(await world.oauth.agents.list(mine), [])
  assert.equal(
    await world.oauth.agents.disconnect(byOperator, mine, { grantId: agent.grantId }),
    false,
  )
  assert.equal(await world.oauth.agents.disconnect(byOperator, mine, { grantId: 'unknown' }), false)
  assert.notEqual(await world.oauth.tokens.find(tokens.access_token), null)
})

test('a code that is unredeemed when the agent is disconnected is invalid', async () => {
  const person = await world.addPerson()
  const code = await getCode(world, person)
  const [agent] = await world.oauth.agents.list(person)
  await world.oauth.agents.disconnect(byOperator, person, { grantId: agent?.grantId ?? '' })
  assert.equal((await redeem(world, code)).status, 400)
})

test('a new decision for a client replaces the former one: its former tokens are revoked', async () => {
  const person = await world.addPerson()
  const clientId = await registerClient(world)
  const wide = await connect(world, person, { clientId })
  const narrow = await connect(world, person, { clientId, scopes: ['mcp:read'] })
  assert.equal(await world.oauth.tokens.find(wide.access_token), null)
  assert.equal((await refresh(world, wide)).status, 400)
  assert.notEqual(await world.oauth.tokens.find(narrow.access_token), null)
  const [agent, ...others] = await world.oauth.agents.list(person)
  assert.deepEqual(agent?.scopes, ['mcp:read'])
  assert.deepEqual(others, [])
})

test('two people who use one client do not touch each other', async () => {
  const [one, two] = [await world.addPerson(), await world.addPerson()]
  const clientId = await registerClient(world)
  const first = await connect(world, one, { clientId })
  const second = await connect(world, two, { clientId })
  assert.equal((await world.oauth.tokens.find(first.access_token))?.userId, one)
  assert.equal((await world.oauth.tokens.find(second.access_token))?.userId, two)
})

test('the sweep leaves nothing of what is over, and everything that is not', async () => {
  const swept = await startWorld()
  const person = await swept.addPerson()
  const old = await connect(swept, person)
  swept.clock.advance(29 * 86_400_000)
  const fresh = await connect(swept, person)
  swept.clock.advance(2 * 86_400_000)
  await swept.sweep()
  assert.equal((await refresh(swept, old)).status, 401)
  assert.equal((await refresh(swept, fresh)).status, 200)
  assert.equal(await swept.store.oauth.sweep(swept.clock.now(), 1000), 0)
  await swept.close()
})
