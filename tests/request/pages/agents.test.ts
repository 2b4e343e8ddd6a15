/** The page of connected agents: what it lists, disconnecting one, and that no user sees another user's. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { toRowId } from '#auth/oauth/row-id.ts'
import type { UserId } from '#kernel/ids.ts'
import { agentsListed } from '#store/ports/oauth.ts'
import { addGrant, addOAuthRow } from '#tests/contract/store/rows.ts'
import { post, toolCall } from '#tests/support/agent.ts'
import { connectAgent, type Person, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

/** The status of a call with this access token. */
const call = async (accessToken: string) =>
  (await post(world.service, toolCall('list_connections'), { as: `Bearer ${accessToken}` })).status

const names = (text: string) =>
  [...text.matchAll(/<th role="rowheader" scope="row"><span class="foreign">([^<]*)</g)].map(
    ([, name]) => name,
  )

test('303: a visitor is redirected to the sign-in and back', async () => {
  assert.equal((await world.jar().get('/agents')).location, '/sign-in?return=%2Fagents')
})

test('200: without agents the page says how to connect one', async () => {
  const { status, text } = await (await world.enter(await world.addPerson())).get('/agents')
  assert.equal(status, 200)
  assert.match(text, /No agent is connected/)
  const url = `${world.service.baseUrl}/mcp`
  assert.ok(text.includes(`<code data-copy="the address">${url}</code>`))
  const commands = [...text.matchAll(/<pre><code data-copy="the text">([^<]*)</g)].map(
    ([, one = '']) => one.replaceAll('&quot;', '"').replaceAll('&#39;', "'"),
  )
  assert.ok(commands.includes(`claude mcp add --transport http tributary ${url}`))
  assert.ok(commands.includes(`codex mcp add tributary --url ${url}`))
  for (const json of commands.filter((one) => one.startsWith('{'))) {
    assert.ok(JSON.stringify(JSON.parse(json)).includes(url))
  }
  const [, added = ''] =
    /--add-mcp '(.*)'$/.exec(commands.find((one) => one.startsWith('code ')) ?? '') ?? []
  assert.deepEqual(JSON.parse(added), { name: 'tributary', type: 'http', url })
  assert.doesNotMatch(text, /<table/)
})

test('200: each agent is a row of a real table: name, place, what it may read, since when, a button', async () => {
  const jar = await world.enter(await world.addPerson())
  await connectAgent(world.service, jar, { name: 'Claude <x>', redirect: 'https://claude.test/cb' })
  await connectAgent(world.service, jar, { name: 'Cursor', ticked: ['mcp:read'] })
  const { text } = await jar.get('/agents')
  assert.deepEqual(names(text).sort(), ['Claude &lt;x&gt;', 'Cursor'])
  assert.equal(text.match(/<th role="columnheader" scope="col">/g)?.length, 5)
  assert.match(text, /claude\.test/)
  assert.match(text, /Banks and brokers/)
  const day = new Date(world.service.clock.now()).toISOString().slice(0, 10)
  assert.match(text, new RegExp(`<time datetime="${day}T`))
  assert.match(text, /aria-label="Disconnect Claude &lt;x&gt;"/)
})

test('the last use of an agent is shown, and stored at most once a minute', async () => {
  const jar = await world.enter(await world.addPerson())
  const agent = await connectAgent(world.service, jar, { name: 'Used' })
  const lastUse = async () =>
    /data-label="Last used">(?:<time datetime="([^"]*)"|(never))/.exec(
      (await jar.get('/agents')).text,
    )
  assert.equal((await lastUse())?.[2], 'never')
  const first = new Date(world.service.clock.now()).toISOString()
  await call(agent.access_token)
  assert.equal((await lastUse())?.[1], first)
  world.service.clock.advance(59_000)
  await call(agent.access_token)
  assert.equal((await lastUse())?.[1], first)
  world.service.clock.advance(1000)
  await call(agent.access_token)
  assert.equal((await lastUse())?.[1], new Date(world.service.clock.now()).toISOString())
})

test('disconnecting asks once, names the agent, and cancel leaves it as it was', async () => {
  const jar = await world.enter(await world.addPerson())
  const agent = await connectAgent(world.service, jar, { name: 'Asked <b>', ticked: ['mcp:read'] })
  const page = await jar.get('/agents')
  const grant = grantOf(page.text, 'Asked &lt;b&gt;')
  const asking = await jar.post('/agents/disconnect', { ...page.hidden, grant })
  assert.equal(asking.status, 303)
  assert.equal(await call(agent.access_token), 200, 'nothing has happened yet')
  const question = await jar.get(asking.location ?? '')
  assert.equal(question.status, 200)
  assert.match(question.text, /<h1>Disconnect this agent\?<\/h1>/)
  assert.match(question.text, /Asked &lt;b&gt;.*127\.0\.0\.1/s)
  assert.deepEqual(
    [...question.text.matchAll(/name="decision" value="(\w+)"/g)].map(([, value]) => value),
    ['cancel', 'confirm'],
  )
  for (const decision of ['cancel', 'anything'])
    assert.equal(
      (await jar.post('/agents/disconnect', { ...question.hidden, decision })).location,
      '/agents',
    )
  assert.equal(await call(agent.access_token), 200)
  assert.doesNotMatch((await jar.get('/agents')).text, /role="status"/)
  const stranger = await world.jar().get(asking.location ?? '')
  assert.match(stranger.location ?? '', /^\/sign-in\?return=%2Fagents%2Fdisconnect/)
})

test('303: a disconnected agent is refused at its next call, the page says so, and the others stay', async () => {
  const jar = await world.enter(await world.addPerson())
  const kept = await connectAgent(world.service, jar, { name: 'Kept' })
  const cut = await connectAgent(world.service, jar, { name: 'Cut' })
  assert.deepEqual([await call(kept.access_token), await call(cut.access_token)], [200, 200])
  const page = await jar.get('/agents')
  const answer = await jar.post('/agents/disconnect', {
    ...page.hidden,
    grant: grantOf(page.text, 'Cut'),
    decision: 'confirm',
  })
  assert.deepEqual([answer.status, answer.location], [303, '/agents?done=disconnected'])
  const done = await jar.get('/agents?done=disconnected')
  assert.match(done.text, /role="status">The agent is disconnected\./)
  assert.equal(await call(cut.access_token), 401)
  assert.equal(await call(kept.access_token), 200)
  assert.deepEqual(names((await jar.get('/agents')).text), ['Kept'])
})

test('another person’s agent is not found: neither shown nor disconnected, and the answer is the same', async () => {
  const owner = await world.enter(await world.addPerson())
  const stranger = await world.enter(await world.addPerson())
  const agent = await connectAgent(world.service, owner, { name: 'Private' })
  const grant = grantOf((await owner.get('/agents')).text, 'Private')
  const page = await stranger.get('/agents')
  assert.ok(!page.text.includes('Private'))
  const { token = '' } = page.hidden
  const decision = 'confirm'
  const theirs = await stranger.post('/agents/disconnect', { token, grant, decision })
  const nobodys = await stranger.post('/agents/disconnect', { token, grant: 'none', decision })
  assert.deepEqual([theirs.status, theirs.location], [nobodys.status, nobodys.location])
  assert.equal(theirs.text, nobodys.text)
  const question = await stranger.get(`/agents/disconnect?grant=${grant}`)
  const nothing = await stranger.get('/agents/disconnect?grant=none')
  assert.deepEqual([question.status, question.location], [303, '/agents?done=gone'])
  assert.deepEqual([question.status, question.location], [nothing.status, nothing.location])
  assert.equal(await call(agent.access_token), 200)
})

test('303: a second disconnect changes nothing, and malformed grant ids are harmless', async () => {
  const jar = await world.enter(await world.addPerson())
  await connectAgent(world.service, jar)
  const { hidden } = await jar.get('/agents')
  for (const grant of [
    '',
    '\u0000',
    "' or 1=1 --",
    'x'.repeat(5000),
    hidden.grant ?? '',
    hidden.grant ?? '',
  ]) {
    assert.equal(
      (await jar.post('/agents/disconnect', { ...hidden, grant, decision: 'confirm' })).status,
      303,
    )
  }
  assert.deepEqual(names((await jar.get('/agents')).text), [])
})

test('the page says when agents may be beyond its list, and they appear as others are disconnected', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const add = (at: number) => addStoredAgent(person, `Agent ${at}`, at)
  for (let at = 1; at < agentsListed; at += 1) await add(at)
  const note = /These are the newest 200\. Older ones, if there are any, may read your data too/
  assert.doesNotMatch((await jar.get('/agents')).text, note)
  for (const at of [agentsListed, agentsListed + 1]) await add(at)
  const page = await jar.get('/agents')
  assert.match(page.text, note)
  assert.ok(!names(page.text).includes('Agent 1'))
  assert.equal(JSON.parse((await jar.get('/settings/download')).text).agentsAreWhole, false)
  const grant = grantOf(page.text, 'Agent 7')
  await jar.post('/agents/disconnect', { ...page.hidden, grant, decision: 'confirm' })
  assert.ok(names((await jar.get('/agents')).text).includes('Agent 1'))
})

/** An agent as a consent leaves it, without the consent. */
async function addStoredAgent({ id }: Person, clientName: string, at: number): Promise<void> {
  const { store } = world.service.app
  const createdAt = world.service.clock.now() + at
  const life = { createdAt, expiresAt: createdAt + 86_400_000 }
  const facts = {
    grantId: clientName,
    clientName,
    redirectHost: 'agent.test',
    scopes: ['mcp:read'],
  }
  const grantId = toRowId('Grant', clientName)
  await addGrant(store, id as UserId, { id: grantId, ...life })
  await addOAuthRow(store, { model: 'Agent', grantId, payload: JSON.stringify(facts), ...life })
  await addOAuthRow(store, { model: 'RefreshToken', grantId, ...life })
}

/** The hidden grant in the row of this agent. */
function grantOf(text: string, name: string): string {
  const row = text.split('<tr ').find((part) => part.includes(`>${name}<`)) ?? ''
  const grant = /name="grant" value="([^"]+)"/.exec(row)?.[1]
  assert(grant !== undefined, `no row of ${name}`)
  return grant
}
