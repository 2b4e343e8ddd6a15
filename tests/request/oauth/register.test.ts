import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { authorize, loopback, makePkce, register, registerClient, send } from './dance.ts'
import { startWorld } from './world.ts'

const world = await startWorld()
after(async () => {
  await world.close()
  assert.deepEqual(world.failures, [])
})

const withRedirect = (uri: string, over = {}) =>
  register(world, { client_name: 'Probe', redirect_uris: [uri], ...over })

test('a client of 2025 that names no type registers with its loopback address', async () => {
  for (const uri of [loopback, 'http://localhost:8080/cb', 'http://[::1]:8080/cb']) {
    const reply = await withRedirect(uri)
    assert.equal(reply.status, 201, reply.text)
    assert.deepEqual(reply.body.redirect_uris, [uri])
    assert.equal(reply.headers['access-control-allow-origin'], '*')
    assert.equal(reply.headers['cache-control'], 'no-store')
  }
})

test('every client is public: no secret is made up, whether it names the method or not', async () => {
  for (const over of [{}, { token_endpoint_auth_method: 'none' }]) {
    const { status, body } = await withRedirect(loopback, over)
    assert.equal(status, 201)
    assert.equal(body.token_endpoint_auth_method, 'none')
    assert.ok(!('client_secret' in body) && !('registration_access_token' in body))
    assert.deepEqual(body.grant_types, ['authorization_code', 'refresh_token'])
  }
})

test('schemes of applications and https are accepted', async () => {
  for (const uri of [
    'cursor://anysphere.cursor-retrieval/oauth/callback',
    'com.example.app:/callback',
    'https://claude.ai/api/mcp/auth_callback',
  ])
    assert.equal((await withRedirect(uri)).status, 201, uri)
  const web = { application_type: 'web' }
  assert.equal((await withRedirect('https://chatgpt.com/connector/oauth/x', web)).status, 201)
  assert.equal((await withRedirect('http://localhost:3000/cb', web)).status, 201)
})

test('redirect addresses that could run or leak are refused', async () => {
  for (const uri of [
    'javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'ftp://agent.test/cb',
    'ws://agent.test/cb',
    'wss://agent.test/cb',
    'view-source:https://agent.test/cb',
    'blob:https://agent.test/x',
    'about:blank',
    'chrome://settings',
    'intent://x#Intent;end',
    'file:///etc/passwd',
    'http://evil.test/cb',
    'http://10.0.0.1/cb',
    'https://x.test/#fragment',
    'https://*/cb',
    'https://*.agent.test/cb',
    'https://agent.test/cb\r\nx',
    'https://agent.test/c\0b',
    '/relative',
    '',
  ])
    for (const type of [{}, { application_type: 'web' }, { application_type: 'native' }]) {
      const reply = await withRedirect(uri, type)
      assert.equal(reply.status, 400, `${uri} ${JSON.stringify(type)}`)
      assert.match(reply.body.error, /^invalid_(?:client_metadata|redirect_uri)$/)
    }
})

test('confidential clients and other flows are refused', async () => {
  for (const over of [
    { token_endpoint_auth_method: 'client_secret_basic' },
    { token_endpoint_auth_method: 'client_secret_post' },
    { token_endpoint_auth_method: 'private_key_jwt' },
    { grant_types: ['implicit'], response_types: ['token'] },
    { grant_types: ['client_credentials'], response_types: [] },
    { grant_types: ['authorization_code', 'client_credentials'] },
    { response_types: ['code id_token'] },
  ]) {
    const reply = await withRedirect(loopback, over)
    assert.equal(reply.status, 400, JSON.stringify(over))
    assert.equal(reply.body.error, 'invalid_client_metadata')
  }
})

test('what we have no use for is left out: scopes, keys, secrets of its own', async () => {
  const { status, body } = await withRedirect(loopback, {
    scope: 'admin everything',
    jwks_uri: 'http://169.254.169.254/keys',
    sector_identifier_uri: 'https://169.254.169.254/x',
    default_max_age: 1,
    software_id: 'x',
    ['__proto__']: { polluted: true },
  })
  assert.equal(status, 201)
  for (const name of ['scope', 'jwks_uri', 'sector_identifier_uri', 'default_max_age'])
    assert.ok(!(name in body), name)
})

test('what is no registration is refused with 400, never more', async () => {
  for (const body of ['', '{', 'null', '[]', '"x"', '1', '{"redirect_uris":"x"}', '{}'])
    assert.equal((await register(world, body)).status, 400, body)
  for (const redirects of [null, [], [1], [{}], [[loopback]], { 0: loopback }])
    assert.equal((await register(world, { redirect_uris: redirects })).status, 400)
  const deep = `{"redirect_uris":${'['.repeat(5000)}${']'.repeat(5000)}}`
  assert.equal((await register(world, deep)).status, 400)
  const asForm = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.equal((await register(world, 'redirect_uris=x', asForm)).status, 400)
})

test('too many redirects, long texts and large bodies are refused', async () => {
  const many = Array.from({ length: 21 }, (_, index) => `http://127.0.0.1/${index}`)
  assert.equal((await register(world, { redirect_uris: many })).status, 400)
  assert.equal((await withRedirect(loopback, { client_name: 'x'.repeat(201) })).status, 400)
  assert.equal((await withRedirect(`https://x.test/${'x'.repeat(2048)}`)).status, 400)
  const large = await withRedirect(loopback, { client_uri: 'x'.repeat(17_000) })
  assert.equal(large.status, 413)
  assert.equal(large.headers.connection, 'close')
})

test('a body of unknown length is read no further than the bound', async () => {
  async function* endless() {
    for (let count = 0; count < 10_000; count += 1) yield Buffer.alloc(1024, 0x20)
  }
  const reply = await send(`${world.url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: endless() as never,
  }).catch((error: Error) => error)
  // The reset that ends the unread body may arrive before the refusal.
  assert.ok(reply instanceof Error || reply.status === 413)
})

test('a client that is not used for thirty days is deleted, one that is used stays', async () => {
  const late = await startWorld()
  const idle = await registerClient(late)
  const ask = async (clientId: string) => {
    const reply = await authorize(late, { clientId, challenge: makePkce().challenge })
    return reply.status
  }
  late.clock.advance(30 * 86_400_000 - 1)
  assert.equal(await ask(idle), 303)
  late.clock.advance(1)
  assert.equal(await ask(idle), 400)
  await late.sweep()
  assert.equal(await ask(idle), 400)
  await late.close()
})

test('one address cannot fill the store: its oldest unused clients make room', async () => {
  const first = await registerClient(world, { client_name: 'the first' })
  const elsewhere = { 'x-test-address': '198.51.100.77' }
  const kept = await register(world, { redirect_uris: [loopback] }, elsewhere)
  for (let count = 0; count < 101; count += 1) {
    world.clock.advance(1)
    await registerClient(world)
  }
  const ask = async (clientId: string) => {
    const reply = await authorize(world, { clientId, challenge: makePkce().challenge })
    return reply.status
  }
  assert.equal(await ask(first), 400)
  assert.equal(await ask(kept.body.client_id), 303)
})
