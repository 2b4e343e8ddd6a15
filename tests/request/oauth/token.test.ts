import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  connect,
  getCode,
  loopback,
  makePkce,
  type Reply,
  redeem,
  refresh,
  registerClient,
  revoke,
  sendForm,
} from './dance.ts'
import { startWorld } from './world.ts'

const world = await startWorld()
const person = await world.addPerson()
after(async () => {
  await world.close()
  assert.deepEqual(world.failures, [])
})

const find = (token: string) => world.oauth.tokens.find(token)

function refused(reply: Reply, error: string, status = 400): void {
  assert.equal(reply.status, status, reply.text)
  assert.equal(reply.body.error, error)
  assert.equal(reply.headers['cache-control'], 'no-store')
  assert.equal(reply.headers['access-control-allow-origin'], '*')
}

test('a token answer is JSON with no-store', async () => {
  const reply = await redeem(world, await getCode(world, person))
  assert.equal(reply.status, 200)
  assert.match(String(reply.headers['content-type']), /^application\/json/)
  assert.equal(reply.headers['cache-control'], 'no-store')
  assert.equal(reply.body.token_type, 'Bearer')
  assert.deepEqual(Object.keys(reply.body).sort(), [
    'access_token',
    'expires_in',
    'refresh_token',
    'scope',
    'token_type',
  ])
})

test('a wrong, missing or foreign verifier is invalid_grant, and the code stays good for its owner', async () => {
  const code = await getCode(world, person)
  const foreign = makePkce().verifier
  refused(await redeem(world, { ...code, verifier: foreign }), 'invalid_grant')
  refused(await redeem(world, code, { code_verifier: undefined }), 'invalid_grant')
  assert.equal((await redeem(world, code)).status, 200)
})

test('a code that comes twice is refused, and everything of its grant is revoked', async () => {
  const code = await getCode(world, person)
  const first = await redeem(world, code)
  const { access_token, refresh_token } = first.body
  assert.notEqual(await find(access_token), null)
  refused(await redeem(world, code), 'invalid_grant')
  assert.equal(await find(access_token), null)
  refused(await refresh(world, { refresh_token, clientId: code.clientId }), 'invalid_grant')
  assert.ok(world.reused.includes(code.clientId))
})

test('four redemptions of one code at once: one 200, three 400, and then no token is valid', async () => {
  for (let round = 0; round < 5; round += 1) {
    const code = await getCode(world, person)
    const replies = await Promise.all(Array.from({ length: 4 }, () => redeem(world, code)))
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 400, 400, 400])
    for (const { status, body } of replies) {
      if (status === 400) assert.equal(body.error, 'invalid_grant')
      else assert.equal(await find(body.access_token), null)
    }
  }
})

test('a code of a minute ago is expired', async () => {
  const code = await getCode(world, person)
  world.clock.advance(59_000)
  const young = await getCode(world, person)
  world.clock.advance(1000)
  refused(await redeem(world, code), 'invalid_grant')
  assert.equal((await redeem(world, young)).status, 200)
})

test('a code serves only the client that it was made for, and only its redirect address', async () => {
  const code = await getCode(world, person)
  const other = await registerClient(world)
  refused(await redeem(world, { ...code, clientId: other }), 'invalid_grant')
  refused(
    await redeem(world, code, { redirect_uri: 'http://127.0.0.1:1/callback' }),
    'invalid_grant',
  )
  refused(await redeem(world, { ...code, clientId: 'nobody' }), 'invalid_client', 401)
  assert.equal((await redeem(world, code)).status, 200)
})

test('naming another resource costs neither the code nor the refresh token', async () => {
  const code = await getCode(world, person)
  const elsewhere = { resource: 'https://other.test/mcp' }
  refused(await redeem(world, code, elsewhere), 'invalid_target')
  const reply = await redeem(world, code, { resource: `${world.origins.mcp}/mcp/` })
  assert.equal(reply.status, 200)
  const tokens = { ...reply.body, clientId: code.clientId }
  refused(await refresh(world, tokens, elsewhere), 'invalid_target')
  const slashed = await refresh(world, tokens, { resource: `${world.origins.mcp}/mcp/` })
  assert.equal(slashed.status, 200)
})

test('client_credentials, password, implicit, device and unknown grants are refused', async () => {
  const clientId = await registerClient(world)
  for (const grant of [
    'client_credentials',
    'password',
    'implicit',
    'urn:ietf:params:oauth:grant-type:device_code',
    'x',
  ]) {
    const reply = await sendForm(`${world.url}/token`, { grant_type: grant, client_id: clientId })
    refused(reply, 'unsupported_grant_type')
  }
})

test('parameters count in the body alone', async () => {
  const { clientId, verifier, code } = await getCode(world, person)
  const query = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: verifier,
    redirect_uri: loopback,
  })
  const reply = await sendForm(`${world.url}/token?${query}`, {})
  assert.ok([400, 401].includes(reply.status))
  assert.equal(reply.body.access_token, undefined)
})

test('an access token lives for a quarter of an hour, to the millisecond', async () => {
  const { access_token } = await connect(world, person)
  world.clock.advance(900_000 - 1)
  assert.notEqual(await find(access_token), null)
  world.clock.advance(1)
  assert.equal(await find(access_token), null)
})

test('what is no token of ours is unknown', async () => {
  const { access_token, refresh_token } = await connect(world, person)
  for (const token of [
    '',
    'x',
    refresh_token,
    `${access_token}x`,
    access_token.slice(1),
    access_token.toLowerCase(),
    'a'.repeat(100_000),
  ])
    assert.equal(await find(token), null)
})

test('rotation: the new refresh token works, the access token before it stays good', async () => {
  const tokens = await connect(world, person)
  const next = await refresh(world, tokens)
  assert.equal(next.status, 200)
  assert.notEqual(next.body.refresh_token, tokens.refresh_token)
  assert.notEqual(await find(tokens.access_token), null)
  assert.notEqual(await find(next.body.access_token), null)
  assert.equal((await refresh(world, { ...next.body, clientId: tokens.clientId })).status, 200)
})

test('an old refresh token revokes its grant, the valid access token included', async () => {
  const tokens = await connect(world, person)
  const next = (await refresh(world, tokens)).body
  refused(await refresh(world, tokens), 'invalid_grant')
  assert.equal(await find(next.access_token), null)
  refused(await refresh(world, { ...next, clientId: tokens.clientId }), 'invalid_grant')
  assert.ok(world.reused.includes(tokens.clientId))
})

test('five refreshes at once are reuse: one 200 at most, and then no token is valid', async () => {
  for (let round = 0; round < 5; round += 1) {
    const tokens = await connect(world, person)
    const replies = await Promise.all(Array.from({ length: 5 }, () => refresh(world, tokens)))
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 400, 400, 400, 400])
    for (const { status, body } of replies) {
      if (status === 400) assert.equal(body.error, 'invalid_grant')
      else assert.equal(await find(body.access_token), null)
    }
    assert.equal(await find(tokens.access_token), null)
  }
})

test('a refresh may ask for less, never for more', async () => {
  const tokens = await connect(world, person, { scopes: ['mcp:read'] })
  refused(await refresh(world, tokens, { scope: 'mcp:read brokerage:read' }), 'invalid_scope')
  const wide = await connect(world, person)
  const less = await refresh(world, wide, { scope: 'mcp:read' })
  assert.equal(less.body.scope, 'mcp:read')
  assert.deepEqual((await find(less.body.access_token))?.scopes, ['mcp:read'])
})

test('a refresh token of another client is refused and stays good for its own', async () => {
  const tokens = await connect(world, person)
  const other = await registerClient(world)
  refused(await refresh(world, { ...tokens, clientId: other }), 'invalid_grant')
  assert.equal((await refresh(world, tokens)).status, 200)
})

test('thirty days after the consent the person is asked again, however often it was refreshed', async () => {
  const late = await startWorld()
  let tokens = await connect(late, await late.addPerson())
  for (let day = 0; day < 29; day += 1) {
    late.clock.advance(86_400_000)
    const reply = await refresh(late, tokens)
    assert.equal(reply.status, 200, `day ${day}: ${reply.text}`)
    tokens = { ...reply.body, clientId: tokens.clientId }
  }
  late.clock.advance(86_400_000)
  refused(await refresh(late, tokens), 'invalid_grant')
  await late.close()
})

test('R27: revoking an access token takes effect at its next use, and ends the connection', async () => {
  const tokens = await connect(world, person)
  assert.equal((await revoke(world, tokens.clientId, tokens.access_token)).status, 200)
  assert.equal(await find(tokens.access_token), null)
  refused(await refresh(world, tokens), 'invalid_grant')
})

test('R27: revoking a refresh token revokes its access tokens', async () => {
  const tokens = await connect(world, person)
  assert.equal((await revoke(world, tokens.clientId, tokens.refresh_token)).status, 200)
  assert.equal(await find(tokens.access_token), null)
})

test('revoking an unknown, revoked or foreign token answers 200 and changes nothing', async () => {
  const tokens = await connect(world, person)
  const other = await registerClient(world)
  for (const [clientId, token] of [
    [other, tokens.access_token],
    [other, tokens.refresh_token],
    [other, 'unknown'],
  ] as const)
    assert.equal((await revoke(world, clientId, token)).status, 200)
  assert.notEqual(await find(tokens.access_token), null)
  assert.equal((await refresh(world, tokens)).status, 200)
})

test('what a client revokes itself is not taken for reuse', async () => {
  const tokens = await connect(world, person)
  await revoke(world, tokens.clientId, tokens.refresh_token)
  assert.ok(!world.reused.includes(tokens.clientId))
})

test('every request is reported with endpoint, status and duration, and nothing else', async () => {
  world.events.length = 0
  const tokens = await connect(world, person)
  await revoke(world, tokens.clientId, tokens.access_token)
  const told = world.events.map(({ endpoint, status }) => `${endpoint} ${status}`)
  assert.deepEqual(told, [
    'register 201',
    'authorize 303',
    'authorize 303',
    'token 200',
    'revoke 200',
  ])
  for (const event of world.events)
    assert.deepEqual(Object.keys(event).sort(), ['door', 'durationMs', 'endpoint', 'status'])
})

test('deleting a user revokes everything that they allowed', async () => {
  const gone = await world.addPerson()
  const tokens = await connect(world, gone)
  await world.store.users.delete(gone)
  assert.equal(await find(tokens.access_token), null)
  refused(await refresh(world, tokens), 'invalid_grant')
})

test('R5: a token for another audience is unknown here', async () => {
  const origin = 'https://one.example.test'
  const origins = { base: origin, mcp: origin, auth: origin }
  const moving = await startWorld({ origins })
  const tokens = await connect(moving, await moving.addPerson())
  assert.notEqual(await moving.oauth.tokens.find(tokens.access_token), null)
  origins.mcp = 'https://two.example.test'
  assert.equal(await moving.oauth.tokens.find(tokens.access_token), null)
  await moving.close()
})
