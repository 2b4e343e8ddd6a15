import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newToken, toTokenDigest } from '#auth/sign-in/sessions.ts'
import { addGrant, addUser, somePassword } from '#tests/contract/store/rows.ts'
import { startService } from '#tests/support/service.ts'
import { loopback, makePkce, type Reply, register, send, sendForm, toParams } from './dance.ts'

const resourcePath = '/.well-known/oauth-protected-resource'
const aliasPath = `${resourcePath}/mcp`
const serverPath = '/.well-known/oauth-authorization-server'
const documents = [resourcePath, aliasPath, serverPath]

const service = await startService({
  env: {
    MCP_URL: 'https://mcp.example.test',
    AUTH_URL: 'https://auth.example.test',
    RATE_LIMIT_REGISTER: '0',
    RATE_LIMIT_TOKEN: '0',
  },
})
after(() => service.close())

// The public origins are elsewhere; requests go to the listener as a proxy would send them.
const listener = () => service.baseUrl
const at = () => ({ url: listener() })

test('R2: the documents speak of the configured origins, each of its own', async () => {
  const { status, body, headers } = await send(listener() + serverPath)
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(body.issuer, 'https://auth.example.test')
  for (const name of ['authorization', 'token', 'registration', 'revocation'])
    assert.match(body[`${name}_endpoint`], /^https:\/\/auth\.example\.test\/\w+$/)
  assert.deepEqual(body.code_challenge_methods_supported, ['S256'])
  assert.deepEqual(body.response_types_supported, ['code'])
  assert.deepEqual(body.grant_types_supported, ['authorization_code', 'refresh_token'])
  assert.deepEqual(body.token_endpoint_auth_methods_supported, ['none'])
  assert.deepEqual(body.scopes_supported, ['mcp:read', 'brokerage:read', 'offline_access'])
  assert.equal(body.client_id_metadata_document_supported, true)
  assert.equal(body.authorization_response_iss_parameter_supported, true)
  const resource = await send(listener() + resourcePath)
  assert.equal(resource.body.resource, 'https://mcp.example.test/mcp')
  assert.deepEqual(resource.body.authorization_servers, ['https://auth.example.test'])
  assert.deepEqual(resource.body.scopes_supported, ['mcp:read', 'brokerage:read'])
  assert.deepEqual(resource.body.bearer_methods_supported, ['header'])
})

test('the alias of the resource document is the same, byte for byte', async () => {
  const [one, other] = await Promise.all([
    send(listener() + resourcePath),
    send(listener() + aliasPath),
  ])
  assert.equal(one.text, other.text)
  assert.equal(one.headers['content-type'], other.headers['content-type'])
})

test('pages of any origin may read the documents and use the endpoints for agents', async () => {
  const origin = { origin: 'https://inspector.example' }
  for (const path of documents) {
    const reply = await send(listener() + path, { headers: origin })
    assert.equal(reply.headers['access-control-allow-origin'], '*')
  }
  for (const path of ['/register', '/token', '/revoke']) {
    const reply = await sendForm(listener() + path, {}, origin)
    assert.equal(reply.headers['access-control-allow-origin'], '*', path)
    assert.equal(reply.headers['access-control-allow-credentials'], undefined)
  }
  const page = await send(`${listener()}/authorize`, { headers: origin })
  assert.equal(page.headers['access-control-allow-origin'], undefined)
})

test('a preflight is answered where a browser’s agent asks, and nowhere else', async () => {
  const headers = {
    origin: 'https://inspector.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type, mcp-protocol-version',
  }
  for (const path of [...documents, '/register', '/token', '/revoke']) {
    const reply = await send(listener() + path, { method: 'OPTIONS', headers })
    assert.equal(reply.status, 204, path)
    assert.equal(reply.headers['access-control-allow-origin'], '*')
    assert.equal(reply.headers['access-control-allow-headers'], '*, Authorization')
    const method = path.startsWith('/.well-known') ? 'GET' : 'POST'
    assert.equal(reply.headers['access-control-allow-methods'], method)
  }
  for (const path of ['/authorize', '/authorize/x', '/v1/accounts', '/nowhere'])
    assert.equal((await send(listener() + path, { method: 'OPTIONS', headers })).status, 404, path)
})

test('R4: other methods and paths are unknown', async () => {
  for (const [method, path] of [
    ['POST', resourcePath],
    ['HEAD', serverPath],
    ['GET', `${serverPath}/`],
    ['GET', '/.well-known/openid-configuration'],
    ['GET', '/token'],
    ['GET', '/register'],
    ['DELETE', '/register'],
    ['GET', '/register/someone'],
    ['POST', '/authorize'],
    ['GET', '/jwks'],
    ['GET', '/me'],
    ['POST', '/token/introspection'],
    ['POST', '/session/end/confirm'],
    ['POST', '/request'],
  ] as const) {
    const reply = await send(listener() + path, { method })
    assert.equal(reply.status, 404, `${method} ${path}`)
    assert.equal(reply.headers['x-cache'], 'BYPASS', `${method} ${path}`)
    if (method !== 'HEAD') assert.equal(reply.body.error.code, 'not_found')
  }
})

/** Every endpoint and document, asked under this name. */
async function askAll(host: string): Promise<readonly Reply[]> {
  const headers = { host }
  const replies = documents.map((path) => send(listener() + path, { headers }))
  const preflights = [...documents, '/register', '/token', '/revoke'].map((path) =>
    send(listener() + path, { method: 'OPTIONS', headers }),
  )
  const posts = ['/token', '/revoke'].map((path) => sendForm(listener() + path, {}, headers))
  return Promise.all([
    ...replies,
    ...preflights,
    ...posts,
    register(at(), { redirect_uris: [loopback] }, headers),
    send(`${listener()}/authorize?client_id=x`, { headers }),
    send(`${listener()}/authorize/some-uid`, { headers }),
  ])
}

test('a foreign Host is refused, as on /mcp, and the log has a line', async () => {
  for (const host of ['evil.test', 'auth.example.test.evil.test', '10.0.0.7:3000']) {
    const linesBefore = service.logLines.length
    for (const { status, body, text, headers } of await askAll(host)) {
      assert.equal(status, 403, text)
      assert.match(body.error.message, /does not answer to that Host/)
      assert.equal(headers['cache-control'], 'no-store')
      assert.ok(!`${text}${JSON.stringify(headers)}`.includes(host))
    }
    const lines = service.logLines
      .slice(linesBefore)
      .filter((line) => line.includes('"status":403'))
    assert.equal(lines.length, 14, 'one line each')
  }
})

test('R2: the names of all three origins and the listener’s own on loopback are answered', async () => {
  const { port } = new URL(listener())
  for (const host of [
    'auth.example.test',
    'AUTH.example.test:443',
    'mcp.example.test',
    `localhost:${port}`,
    `127.0.0.1:${port}`,
    `[::1]:${port}`,
  ]) {
    for (const { status, text } of await askAll(host)) assert.notEqual(status, 403, text)
  }
})

test('a person whose browser came under a foreign name reads a page', async () => {
  const headers = { host: 'evil.test', accept: 'text/html,*/*;q=0.8' }
  const reply = await send(`${listener()}/authorize?client_id=x`, { headers })
  assert.equal(reply.status, 403)
  assert.match(String(reply.headers['content-type']), /^text\/html/)
  assert.match(reply.text, /used an address that does not belong to this server/)
  assert.ok(!reply.text.includes('evil.test'))
})

test('no answer repeats an Origin or forwarding header', async () => {
  const spoofed = {
    origin: 'https://evil.test',
    forwarded: 'host=evil.test;proto=gopher',
    'x-forwarded-host': 'evil.test',
    'x-forwarded-proto': 'gopher',
    'x-original-url': 'https://evil.test/',
  }
  for (const path of documents) {
    const reply = await send(listener() + path, { headers: spoofed })
    assert.ok(!`${reply.text}${JSON.stringify(reply.headers)}`.includes('evil.test'), path)
  }
  const client = await register(at(), { redirect_uris: [loopback] }, spoofed)
  assert.equal(client.status, 201)
  const params = toParams({
    client_id: client.body.client_id,
    response_type: 'code',
    redirect_uri: loopback,
    code_challenge: makePkce().challenge,
    code_challenge_method: 'S256',
  })
  const asked = await send(`${listener()}/authorize?${params}`, { headers: spoofed })
  assert.match(String(asked.headers.location), /^\/consent\/[\w-]+$/)
  // Only a client that the browser's person has allowed gets an answer without their decision.
  const { store } = service.app
  const user = await addUser(store, { passwordHash: somePassword })
  await addGrant(store, user.id, { clientId: client.body.client_id })
  const session = newToken()
  const given = { userId: user.id, hash: toTokenDigest(session), at: service.clock.now() }
  await store.sessions.create({ ...given, passwordHash: somePassword })
  const headers = { ...spoofed, cookie: `tributary=${session}` }
  const denied = await send(`${listener()}/authorize?${params}&prompt=none`, { headers })
  const iss = new URL(String(denied.headers.location)).searchParams.get('iss')
  assert.equal(iss, 'https://auth.example.test')
  const token = await sendForm(`${listener()}/token`, { grant_type: 'x' }, spoofed)
  for (const reply of [client, asked, denied, token])
    assert.ok(!`${reply.text}${JSON.stringify(reply.headers)}`.includes('evil.test'))
})

test('behind https the cookies are Secure, whatever protocol the proxy uses to the service', async () => {
  const client = await register(at(), { redirect_uris: [loopback] })
  const params = toParams({
    client_id: client.body.client_id,
    response_type: 'code',
    redirect_uri: loopback,
    code_challenge: makePkce().challenge,
    code_challenge_method: 'S256',
  })
  const asked = await send(`${listener()}/authorize?${params}`)
  const lines = [asked.headers['set-cookie'] ?? []].flat()
  assert.ok(lines.length > 0)
  for (const line of lines) assert.match(line, /; secure/)
})
