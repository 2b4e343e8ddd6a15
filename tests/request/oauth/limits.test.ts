import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorize, loopback, makePkce, register, send, sendForm } from './dance.ts'
import { startWorld } from './world.ts'

test('registrations are counted per address and minute, and the refusal says when to come back', async () => {
  const world = await startWorld({ limits: { register: 3, token: 0 } })
  const add = (address: string) =>
    register(world, { redirect_uris: [loopback] }, { 'x-test-address': address })
  for (let count = 0; count < 3; count += 1) assert.equal((await add('192.0.2.1')).status, 201)
  const refused = await add('192.0.2.1')
  assert.equal(refused.status, 429)
  assert.equal(refused.headers['retry-after'], '60')
  assert.equal(refused.body.error, 'temporarily_unavailable')
  assert.equal(refused.headers['access-control-allow-origin'], '*')
  assert.equal((await add('192.0.2.2')).status, 201)
  world.clock.advance(60_000)
  assert.equal((await add('192.0.2.1')).status, 201)
  await world.close()
})

test('a network of IPv6 counts as one address', async () => {
  const world = await startWorld({ limits: { register: 2, token: 0 } })
  const add = (address: string) =>
    register(world, { redirect_uris: [loopback] }, { 'x-test-address': address })
  assert.equal((await add('2a00:1450:1:2::1')).status, 201)
  assert.equal((await add('2a00:1450:1:2:ffff::2')).status, 201)
  assert.equal((await add('2a00:1450:1:2:aaaa::3')).status, 429)
  assert.equal((await add('2a00:1450:1:3::1')).status, 201)
  await world.close()
})

test('token, revocation and authorization requests are counted, each apart', async () => {
  const world = await startWorld({ limits: { register: 0, token: 2 } })
  const token = () => sendForm(`${world.url}/token`, { grant_type: 'x' })
  const revocation = () => sendForm(`${world.url}/revoke`, { token: 'x' })
  const authorization = () => authorize(world, { clientId: 'x', challenge: makePkce().challenge })
  for (const ask of [token, revocation, authorization]) {
    assert.notEqual((await ask()).status, 429)
    assert.notEqual((await ask()).status, 429)
    const refused = await ask()
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['retry-after'], '60')
  }
  const page = await authorization()
  assert.match(String(page.headers['content-type']), /^text\/html/)
  await world.close()
})

test('discovery costs nothing', async () => {
  const world = await startWorld({ limits: { register: 1, token: 1 } })
  for (let count = 0; count < 5; count += 1)
    assert.equal((await send(`${world.url}/.well-known/oauth-authorization-server`)).status, 200)
  await world.close()
})
