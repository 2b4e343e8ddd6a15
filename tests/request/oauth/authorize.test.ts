import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { UserId } from '#kernel/ids.ts'
import {
  approve,
  authorize,
  connect,
  decide,
  type Fields,
  getCode,
  Jar,
  loopback,
  makePkce,
  redeem,
  registerClient,
  send,
  sendForm,
} from './dance.ts'
import { startWorld } from './world.ts'

const world = await startWorld()
const person = await world.addPerson()
const clientId = await registerClient(world)
after(async () => {
  await world.close()
  assert.deepEqual(world.failures, [])
})

const ask = (over: Fields = {}) =>
  authorize(world, {
    ...{ clientId, challenge: makePkce().challenge, over },
    headers: { cookie: `person=${person}` },
  })

/** The error is sent to the client's redirect address. */
async function refusedAtClient(over: Fields, error: string) {
  const reply = await ask(over)
  assert.equal(reply.status, 303, reply.text)
  const url = new URL(String(reply.headers.location))
  assert.equal(url.origin + url.pathname, loopback)
  // What was asked for in the fragment is refused there.
  const answer = url.hash === '' ? url.searchParams : new URLSearchParams(url.hash.slice(1))
  assert.equal(answer.get('error'), error)
  assert.equal(answer.get('state'), 'a state')
  assert.equal(answer.get('iss'), world.origins.auth)
}

/** Nobody is redirected; a person reads a page. */
async function refusedOnPage(over: Fields, error: string) {
  const reply = await ask(over)
  assert.equal(reply.status, 400)
  assert.equal(reply.headers.location, undefined)
  assert.match(String(reply.headers['content-type']), /^text\/html/)
  assert.ok(reply.text.includes(`<code>${error}</code>`), reply.text)
  return reply
}

test('the complete flow gives a token for the scopes that were allowed', async () => {
  const tokens = await connect(world, person, { clientId })
  assert.equal(tokens.scope, 'mcp:read brokerage:read')
  assert.equal(tokens.expires_in, 900)
  const facts = await world.oauth.tokens.find(tokens.access_token)
  assert.equal(facts?.userId, person)
  assert.equal(facts?.clientId, clientId)
  assert.deepEqual(facts?.scopes, ['mcp:read', 'brokerage:read'])
  assert.equal(facts?.expiresAt, world.clock.now() + 900_000)
})

test('the answer carries code, state and issuer, and nothing else', async () => {
  const answer = await approve(world, { clientId, challenge: makePkce().challenge }, { person })
  assert.deepEqual([...answer.keys()].sort(), ['code', 'iss', 'state'])
  assert.equal(answer.get('iss'), world.origins.auth)
  assert.equal(answer.get('state'), 'a state')
})

test('a request without PKCE is refused', async () => {
  await refusedAtClient(
    { code_challenge: undefined, code_challenge_method: undefined },
    'invalid_request',
  )
})

test('the plain challenge method is refused, named or meant', async () => {
  await refusedAtClient({ code_challenge_method: 'plain' }, 'invalid_request')
  await refusedAtClient({ code_challenge_method: undefined }, 'invalid_request')
})

test('a challenge that is no SHA-256 is refused', async () => {
  await refusedAtClient({ code_challenge: 'short' }, 'invalid_request')
})

test('implicit and hybrid responses are refused', async () => {
  for (const type of ['token', 'id_token', 'code token', 'none'])
    await refusedAtClient({ response_type: type }, 'unsupported_response_type')
})

test('RFC 8252: any port of a loopback address is the registered one', async () => {
  const reply = await ask({ redirect_uri: 'http://127.0.0.1:61000/callback' })
  assert.match(String(reply.headers.location), /^\/consent\//)
})

test('another host, path or scheme than registered is never redirected to', async () => {
  for (const uri of [
    'https://evil.test/callback',
    'http://127.0.0.1:53682/other',
    'http://127.0.0.2:53682/callback',
    'http://127.0.0.1.evil.test/callback',
    'javascript:alert(1)',
  ])
    await refusedOnPage({ redirect_uri: uri }, 'invalid_redirect_uri')
})

test('an unknown client is refused on a page, and its texts are escaped', async () => {
  const reply = await refusedOnPage(
    { client_id: '<script>x</script>', redirect_uri: 'https://evil.test/' },
    'invalid_client',
  )
  assert.ok(!reply.text.includes('<script'))
  assert.match(
    String(reply.headers['content-security-policy']),
    /default-src 'none'.*frame-ancestors 'none'/,
  )
  assert.equal(reply.headers['cache-control'], 'no-store')
  assert.equal(reply.headers['x-content-type-options'], 'nosniff')
  assert.equal(reply.headers['referrer-policy'], 'no-referrer')
})

test('an error is JSON where JSON is asked for', async () => {
  const reply = await send(`${world.url}/authorize?client_id=nobody`, {
    headers: { accept: 'application/json' },
  })
  assert.equal(reply.status, 400)
  assert.equal(reply.body.error, 'invalid_client')
})

test('a client with one redirect address need not name it', async () => {
  const jar = new Jar()
  const { challenge } = makePkce()
  const asked = { clientId, challenge, over: { redirect_uri: undefined } }
  const sent = await authorize(world, asked, jar)
  const url = await decide(world, String(sent.headers.location), jar, { person })
  assert.equal(url.origin + url.pathname, loopback)
  assert.ok(url.searchParams.get('code'))
})

test('another resource is refused as invalid_target', async () => {
  for (const resource of ['https://other.test/mcp', `${world.origins.mcp}/mcp/x`, 'no url'])
    await refusedAtClient({ resource }, 'invalid_target')
})

test('a trailing slash of the resource makes no difference', async () => {
  const over = { resource: `${world.origins.mcp}/mcp/` }
  const tokens = await connect(world, person, { clientId, over })
  assert.equal((await world.oauth.tokens.find(tokens.access_token))?.userId, person)
})

test('without a resource the token is for ours', async () => {
  const tokens = await connect(world, person, { clientId, over: { resource: undefined } })
  assert.equal((await world.oauth.tokens.find(tokens.access_token))?.userId, person)
})

test('without scope the request means mcp:read', async () => {
  const tokens = await connect(world, person, { clientId, over: { scope: undefined } })
  assert.equal(tokens.scope, 'mcp:read')
})

test('unknown scopes are left out, and the answer says what was granted', async () => {
  const tokens = await connect(world, person, {
    clientId,
    over: { scope: 'openid profile brokerage:read admin' },
  })
  assert.equal(tokens.scope, 'brokerage:read')
  const unknown = await connect(world, person, { clientId, over: { scope: 'admin' } })
  assert.equal(unknown.scope, 'mcp:read')
})

test('a scope that was not asked for is never granted, whatever the page sends', async () => {
  const scopes = ['mcp:read', 'brokerage:read', 'admin']
  const someone = await world.addPerson()
  const tokens = await connect(world, someone, { clientId, over: { scope: 'mcp:read' }, scopes })
  assert.equal(tokens.scope, 'mcp:read')
  const [agent] = await world.oauth.agents.list(someone)
  assert.deepEqual(agent?.scopes, ['mcp:read'])
})

test('a scope that the person leaves out is not granted', async () => {
  const tokens = await connect(world, person, { clientId, scopes: ['mcp:read'] })
  assert.equal(tokens.scope, 'mcp:read')
  const facts = await world.oauth.tokens.find(tokens.access_token)
  assert.deepEqual(facts?.scopes, ['mcp:read'])
})

test('step-up: a client may ask for more than it registered with', async () => {
  const narrow = await registerClient(world, { scope: 'mcp:read' })
  const first = await connect(world, person, { clientId: narrow, over: { scope: 'mcp:read' } })
  assert.equal(first.scope, 'mcp:read')
  const second = await connect(world, person, { clientId: narrow })
  assert.equal(second.scope, 'mcp:read brokerage:read')
})

test('refusing sends access_denied, and so does allowing nothing', async () => {
  const { challenge } = makePkce()
  for (const decision of [{ decision: 'deny' as const }, { scopes: [] }]) {
    const answer = await approve(world, { clientId, challenge }, { person, ...decision })
    assert.equal(answer.get('error'), 'access_denied')
    assert.equal(answer.get('code'), null)
    assert.equal(answer.get('iss'), world.origins.auth)
  }
})

test('prompt=none never answers without a person', async () => {
  await refusedAtClient({ prompt: 'none' }, 'consent_required')
})

test('parameters of OpenID Connect are ignored, prompts are understood', async () => {
  const over = { nonce: 'n', max_age: '0', acr_values: '2', prompt: 'login consent' }
  const tokens = await connect(world, person, { clientId, over })
  assert.equal(tokens.scope, 'mcp:read brokerage:read')
})

test('a request object, a pushed one and form_post are refused', async () => {
  await refusedAtClient({ request: 'a.b.c' }, 'request_not_supported')
  await refusedAtClient({ request_uri: 'urn:x' }, 'request_uri_not_supported')
  await refusedOnPage({ response_mode: 'form_post' }, 'invalid_request')
})

test('a parameter given twice is refused', async () => {
  await refusedAtClient({ scope: ['mcp:read', 'brokerage:read'] }, 'invalid_request')
})

test('the consent page gets the agent, the scopes and the redirect address', async () => {
  const jar = new Jar()
  const name = 'Bad\u202e\u0000 agent'
  const named = await registerClient(world, { client_name: name })
  const sent = await authorize(world, { clientId: named, challenge: makePkce().challenge }, jar)
  const consentUrl = world.url + String(sent.headers.location)
  const { body } = await send(consentUrl, { headers: jar.header(consentUrl) })
  assert.deepEqual(body, {
    uid: consentUrl.split('/').at(-1),
    clientName: 'Bad agent',
    redirectHost: '127.0.0.1',
    scopes: ['mcp:read', 'brokerage:read'],
    formAction: 'http://127.0.0.1:53682',
  })
})

test('a request can be decided only in its own browser', async () => {
  const sent = await ask()
  const consentUrl = world.url + String(sent.headers.location)
  const stranger = await sendForm(consentUrl, { decision: 'allow', scope: 'mcp:read' })
  assert.equal(stranger.status, 410)
})

test('a page that was overtaken by a second request does not decide for it', async () => {
  const jar = new Jar()
  const { challenge } = makePkce()
  const first = await authorize(world, { clientId, challenge }, jar)
  const second = await authorize(world, { clientId, challenge }, jar)
  const overtaken = world.url + String(first.headers.location)
  const reply = await sendForm(
    overtaken,
    { decision: 'allow', scope: 'mcp:read' },
    jar.header(overtaken),
  )
  assert.equal(reply.status, 410)
  const url = await decide(world, String(second.headers.location), jar, { person })
  assert.ok(url.searchParams.get('code'))
})

test('a request expires after an hour', async () => {
  const jar = new Jar()
  const late = await startWorld()
  const id = await registerClient(late)
  const sent = await authorize(late, { clientId: id, challenge: makePkce().challenge }, jar)
  late.clock.advance(3_600_000)
  const consentUrl = late.url + String(sent.headers.location)
  assert.equal((await send(consentUrl, { headers: jar.header(consentUrl) })).status, 410)
  await late.close()
})

test('a decision redirects once: a second one finds no request', async () => {
  const jar = new Jar()
  const sent = await authorize(world, { clientId, challenge: makePkce().challenge }, jar)
  const path = String(sent.headers.location)
  await decide(world, path, jar, { person })
  const again = await send(world.url + path, { headers: jar.header(world.url + path) })
  assert.equal(again.status, 410)
  const resume = world.url + path.replace('/consent/', '/authorize/')
  assert.equal((await send(resume, { headers: jar.header(resume) })).status, 400)
})

test('the next person in the same browser decides for themselves', async () => {
  const jar = new Jar()
  const other = await world.addPerson()
  const { verifier, challenge } = makePkce()
  const first = await authorize(world, { clientId, challenge }, jar)
  await decide(world, String(first.headers.location), jar, { person })
  const second = await authorize(world, { clientId, challenge }, jar)
  const url = await decide(world, String(second.headers.location), jar, { person: other })
  const code = url.searchParams.get('code') ?? ''
  const reply = await redeem(world, { clientId, verifier, code })
  assert.equal((await world.oauth.tokens.find(reply.body.access_token))?.userId, other)
})

test('cookies are out of reach of scripts and other sites; the engine keeps no session', async () => {
  const code = await getCode(world, person, { clientId })
  assert.ok(code)
  const sent = await ask()
  const cookies = [sent.headers['set-cookie'] ?? []].flat()
  assert.deepEqual(cookies.map((line) => line.split('=')[0]).sort(), [
    'oauth_request',
    'oauth_request.sig',
    'oauth_resume',
    'oauth_resume.sig',
  ])
  for (const line of cookies) assert.match(line, /; samesite=lax; httponly/)
})

test('over https cookies are Secure and bound to this host', async () => {
  const origin = 'https://auth.example.test'
  const secure = await startWorld({ origins: { base: origin, mcp: origin, auth: origin } })
  const id = await registerClient(secure)
  const sent = await authorize(secure, { clientId: id, challenge: makePkce().challenge })
  for (const line of [sent.headers['set-cookie'] ?? []].flat()) {
    assert.match(line, /^__(?:Host-oauth_request|Secure-oauth_resume)/)
    assert.match(line, /; secure/)
    assert.equal(/^__Host-/.test(line), /; path=\/;/.test(line))
    assert.doesNotMatch(line, /domain=/i)
  }
  await secure.close()
})

test('a deleted user or an ended session grants nothing, and the request still waits', async () => {
  const [gone, other] = [await world.addPerson(), await world.addPerson()]
  const jar = new Jar()
  const clientId = await registerClient(world)
  const sent = await authorize(world, { clientId, challenge: makePkce().challenge }, jar)
  const path = String(sent.headers.location)
  const decide409 = async (as: UserId) => {
    jar.set('person', as)
    const form = { scope: 'mcp:read', decision: 'allow' }
    const { status } = await sendForm(world.url + path, form, jar.header(world.url + path))
    assert.equal(status, 409)
    assert.equal(await world.store.oauth.hasGrant(as, clientId), false)
  }
  await world.store.users.delete(gone)
  await decide409(gone)
  await world.store.sessions.setPassword(other, '$argon2id$new')
  await decide409(other)
  const url = await decide(world, path, jar, { person })
  assert.ok(url.searchParams.get('code'))
})
