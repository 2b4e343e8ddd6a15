/**
 * The consent page with the real authorization server: who sees it, what it offers, what becomes of each
 * answer.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { callTool } from '#tests/support/agent.ts'
import { askForConsent, connectAgent, followOut, password, redeem, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const boxes = (text: string) =>
  [...text.matchAll(/<input type="checkbox"[^>]* name="scope" value="([^"]+)" checked/g)].map(
    ([, scope]) => scope,
  )

test('303: a visitor signs in first and returns to the same request', async () => {
  const person = await world.addPerson()
  const jar = world.jar()
  const { path } = await askForConsent(world.service, jar)
  const away = await jar.get(path)
  assert.equal(away.status, 303)
  const page = await jar.get(away.location ?? '')
  const entered = await jar.post('/sign-in', { ...page.hidden, email: person.email, password })
  assert.equal(entered.location, path)
  assert.equal((await jar.get(path)).status, 200)
})

test('200: the page names the agent, where the answer goes, who is signed in, and a box per scope', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { path } = await askForConsent(world.service, jar, {
    name: '<b>Bank\u202eknaB</b>',
    redirect: 'https://agent.example/cb',
  })
  const { text, headers } = await jar.get(path)
  assert.match(text, /&lt;b&gt;Bank knaB&lt;\/b&gt;/)
  assert.ok(text.includes('agent.example'))
  assert.ok(text.includes(person.email))
  assert.deepEqual(boxes(text), ['mcp:read', 'brokerage:read'])
  assert.match(text, /<legend>/)
  for (const [, id] of text.matchAll(/type="checkbox" id="([^"]+)"/g)) {
    assert.ok(text.includes(`<label for="${id}">`))
    assert.ok(text.includes(`id="${id}-hint"`))
  }
  assert.match(text, /name="decision" value="allow"[^>]*>Allow</)
  assert.match(text, /name="decision" value="deny"[^>]*>Deny</)
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /form-action 'self' https:\/\/agent\.example;/)
})

test('303: allow leads back to the agent with a code for what was left ticked', async () => {
  const jar = await world.enter(await world.addPerson())
  const asked = await askForConsent(world.service, jar)
  const { hidden } = await jar.get(asked.path)
  const answer = await jar.post(asked.path, { ...hidden, scope: 'mcp:read', decision: 'allow' })
  const { url } = await followOut(world.service, jar, answer)
  assert.equal(url.origin + url.pathname, asked.redirect)
  assert.equal(url.searchParams.get('state'), 'a state')
  const tokens = await redeem(world.service, asked, url.searchParams.get('code') ?? '')
  assert.equal(tokens.scope, 'mcp:read')
})

test('303: deny, an unknown decision and allow with nothing ticked all say access_denied', async () => {
  const jar = await world.enter(await world.addPerson())
  for (const fields of [
    { decision: 'deny', scope: 'mcp:read' },
    { decision: 'maybe', scope: 'mcp:read' },
    { scope: 'mcp:read' },
    { decision: 'allow' },
    { decision: 'allow', scope: 'admin:write' },
  ]) {
    const asked = await askForConsent(world.service, jar)
    const { hidden } = await jar.get(asked.path)
    const answer = await jar.post(asked.path, { ...hidden, ...fields })
    const { url } = await followOut(world.service, jar, answer)
    assert.equal(url.origin + url.pathname, asked.redirect)
    assert.equal(url.searchParams.get('error'), 'access_denied', JSON.stringify(fields))
    assert.equal(url.searchParams.has('code'), false)
  }
})

test('nothing is granted beyond what was asked, whatever the form says', async () => {
  const jar = await world.enter(await world.addPerson())
  const granted = await connectAgent(world.service, jar, {
    scope: 'mcp:read',
    ticked: ['mcp:read', 'brokerage:read', 'openid'],
  })
  assert.equal(granted.scope, 'mcp:read')
})

test('without the plan brokerage is not offered, the page says why, and a forged box grants nothing', async () => {
  for (const plan of [
    { plan: 'developer' } as const,
    { plan: 'professional', status: 'trialing' } as const,
  ]) {
    const jar = await world.enter(await world.addPerson(plan))
    const { path } = await askForConsent(world.service, jar)
    const { text } = await jar.get(path)
    assert.deepEqual(boxes(text), ['mcp:read'])
    assert.match(
      text,
      /holdings and trades were asked for too, but your plan does not include them/,
    )
    const granted = await connectAgent(world.service, jar)
    assert.equal(granted.scope, 'mcp:read')
  }
})

test('an agent that asks for brokerage alone can only be denied without the plan', async () => {
  const jar = await world.enter(await world.addPerson({ plan: 'developer' }))
  const { path } = await askForConsent(world.service, jar, { scope: 'brokerage:read' })
  const { text } = await jar.get(path)
  assert.deepEqual(boxes(text), [])
  assert.doesNotMatch(text, /value="allow"/)
  assert.match(text, /value="deny"/)
})

test('a plan without access is shown before the agent is refused for it', async () => {
  const jar = await world.enter(await world.addPerson({ plan: 'none' }))
  const { path } = await askForConsent(world.service, jar)
  assert.match((await jar.get(path)).text, /Your plan does not include access for programs/)
  const paid = await world.enter(await world.addPerson())
  const asked = await askForConsent(world.service, paid)
  assert.doesNotMatch((await paid.get(asked.path)).text, /Your plan does not include/)
})

test('303: ten minutes after the sign-in the password is asked again, for the page and for its form', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  world.service.clock.advance(9 * 60_000)
  const { path } = await askForConsent(world.service, jar)
  const { hidden } = await jar.get(path)
  world.service.clock.advance(60_000)
  const again = `/sign-in?return=${encodeURIComponent(path)}`
  const form = { ...hidden, scope: 'mcp:read', decision: 'allow' }
  assert.equal((await jar.post(path, form)).location, again)
  assert.equal((await jar.get(path)).location, again)
  const page = await jar.get(again)
  assert.match(page.text, /Confirm it is you/)
  await jar.post('/sign-in', { ...page.hidden, email: person.email, password })
  const fresh = await jar.get(path)
  const answer = await jar.post(path, { ...fresh.hidden, scope: 'mcp:read', decision: 'allow' })
  const { url } = await followOut(world.service, jar, answer)
  assert.equal(url.searchParams.has('code'), true)
})

test('400: a request that is unknown, expired or of another browser shows no form and decides nothing', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  assert.equal((await jar.get('/consent/unknown')).status, 400)
  const { path } = await askForConsent(world.service, jar)
  const other = await world.enter(person)
  const stranger = await other.get(path)
  assert.equal(stranger.status, 400)
  assert.match(stranger.text, /This request has expired/)
  assert.doesNotMatch(stranger.text, /name="decision"/)
  const { hidden } = await other.get('/')
  const forged = { ...hidden, scope: 'mcp:read', decision: 'allow' }
  assert.equal((await other.post(path, forged)).status, 400)
  world.service.clock.advance(2 * 3_600_000)
  assert.equal((await jar.get(path)).status, 400)
})

test('403: another site cannot press Allow for the person', async () => {
  const jar = await world.enter(await world.addPerson())
  const { path } = await askForConsent(world.service, jar)
  const { hidden } = await jar.get(path)
  const form = { ...hidden, scope: 'mcp:read', decision: 'allow' }
  assert.equal((await jar.post(path, form, { origin: 'https://evil.test' })).status, 403)
  assert.equal((await jar.post(path, { ...form, token: '' })).status, 403)
  assert.deepEqual(await (await jar.get('/agents')).text.match(/<tbody>/g), null)
})

test('a request is decided once: its form sent a second time decides nothing', async () => {
  const jar = await world.enter(await world.addPerson())
  const { path } = await askForConsent(world.service, jar)
  const { hidden } = await jar.get(path)
  const form = { ...hidden, scope: 'mcp:read', decision: 'allow' }
  await followOut(world.service, jar, await jar.post(path, form))
  assert.equal((await jar.post(path, form)).status, 400)
})

test('the token that came of a consent reads the person’s data', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { access_token } = await connectAgent(world.service, jar)
  const answer = await callTool(world.service, `Bearer ${access_token}`, 'list_connections')
  assert.deepEqual(answer.result.structuredContent, { data: [] })
})
