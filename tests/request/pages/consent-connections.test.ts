/** Reading R43: the consent page lets a person choose what an agent sees, and the grant keeps to it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import { byOperator } from '#contract/actor.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { callTool } from '#tests/support/agent.ts'
import { type AgentOptions, askForConsent, followOut, redeem, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

/** Somebody who is signed in, with connections at two providers. */
async function enter() {
  const person = await world.addPerson()
  const user = { id: person.id, key: '', keyId: '' as never }
  const { service } = world
  const connections: ConnectionRow[] = [
    ...(await service.link(user, 'healthy', 'fiskil')),
    ...(await service.link(user, 'healthy', 'akahu')),
  ]
  assert.ok(connections.length >= 2)
  return { person, user, connections, jar: await world.enter(person) }
}

type Entered = Awaited<ReturnType<typeof enter>>

const scopes = ['mcp:read', 'brokerage:read']

/** Opens the page, and sends its form with these boxes; `query`: what a browser adds to the address. */
async function allow(
  { jar }: Pick<Entered, 'jar'>,
  boxes: { readonly connection?: readonly string[] },
  { query = '', ...options }: AgentOptions & { readonly query?: string } = {},
) {
  const asked = await askForConsent(world.service, jar, options)
  const { hidden } = await jar.get(asked.path)
  const fields = { ...hidden, scope: scopes, ...boxes, decision: 'allow' }
  const answer = await jar.post(asked.path + query, fields)
  return { asked, answer }
}

async function connect(
  entered: Entered,
  boxes: { readonly connection?: readonly string[] },
  query = '',
) {
  const { asked, answer } = await allow(entered, boxes, { query })
  const { url } = await followOut(world.service, entered.jar, answer)
  const code = url.searchParams.get('code') ?? assert.fail(url.href)
  const tokens = await redeem(world.service, asked, code)
  return { ...tokens, clientId: asked.clientId }
}

async function seenBy(token: string): Promise<readonly string[]> {
  const { result } = await callTool(world.service, `Bearer ${token}`, 'list_connections')
  return (result.structuredContent.data as { id: string }[]).map(({ id }) => id).toSorted()
}

test('R43: the page has a ticked box for each connection, and the button says that a choice is made', async () => {
  const entered = await enter()
  const { path } = await askForConsent(world.service, entered.jar)
  const { text } = await entered.jar.get(path)
  const boxes = [
    ...text.matchAll(
      /<input type="checkbox" id="([^"]+)" name="connection" value="([^"]+)" checked/g,
    ),
  ]
  assert.deepEqual(
    boxes.map(([, , id]) => id).toSorted(),
    entered.connections.map(({ id }) => id).toSorted(),
  )
  for (const [, id] of boxes) assert.ok(text.includes(`<label for="${id}">`))
  assert.ok(text.includes(`formaction="${path}?choice=connections"`))
})

test('R43: without connections there is nothing to choose', async () => {
  const jar = await world.enter(await world.addPerson())
  const { path } = await askForConsent(world.service, jar)
  const { text } = await jar.get(path)
  assert.doesNotMatch(text, /name="connection"|formaction/)
  assert.equal((await allow({ jar }, {})).answer.status, 303)
})

test('R43: an agent sees the chosen connections alone, also with a token that it renewed', async () => {
  const entered = await enter()
  const [one, other] = entered.connections
  assert(one !== undefined && other !== undefined)
  const agent = await connect(entered, { connection: [one.id] }, '?choice=connections')
  assert.deepEqual(await seenBy(agent.access_token), [one.id])
  const as = `Bearer ${agent.access_token}`
  const { result } = await callTool(world.service, as, 'list_accounts')
  const { data, pagination } = result.structuredContent
  assert.ok(data.every((row: { connectionId: string }) => row.connectionId === one.id))
  assert.equal(pagination.total, data.length)
  const hidden = await callTool(world.service, as, 'list_transactions', { connectionId: other.id })
  assert.equal(hidden.result.structuredContent.error.code, 'connection_not_found')
  const answer = await request(`${world.service.baseUrl}/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: agent.clientId,
      refresh_token: agent.refresh_token,
    }).toString(),
  })
  const renewed = (await answer.body.json()) as Readonly<Record<string, string>>
  assert.deepEqual(await seenBy(renewed.access_token ?? ''), [one.id])
  assert.deepEqual(
    Object.keys(renewed).filter((name) => /connection|extra/.test(name)),
    [],
  )
})

test('R43: all boxes, or a form without any, mean every connection, later ones too', async () => {
  for (const isTicked of [true, false]) {
    const entered = await enter()
    const ids = entered.connections.map(({ id }) => id)
    const agent = isTicked
      ? await connect(entered, { connection: ids }, '?choice=connections')
      : await connect(entered, {})
    assert.deepEqual(await seenBy(agent.access_token), ids.toSorted())
    const later = await world.service.link(entered.user, 'healthy', 'snaptrade')
    const all = [...ids, ...later.map(({ id }) => id)]
    assert.deepEqual(await seenBy(agent.access_token), all.toSorted())
  }
})

test('R43: a later connection is not seen through a choice, and a removed one leaves nothing', async () => {
  const entered = await enter()
  const [one] = entered.connections
  assert(one !== undefined)
  const agent = await connect(entered, { connection: [one.id] })
  await world.service.link(entered.user, 'healthy', 'snaptrade')
  assert.deepEqual(await seenBy(agent.access_token), [one.id])
  await world.service.app.connections.removeConnection(byOperator, one.id, {})
  assert.deepEqual(await seenBy(agent.access_token), [])
})

test('R43: a choice does not become everything when what was not chosen is removed meanwhile', async () => {
  const entered = await enter()
  const [one, ...others] = entered.connections
  assert(one !== undefined && others.length > 0)
  const asked = await askForConsent(world.service, entered.jar)
  const { text, hidden } = await entered.jar.get(asked.path)
  const offered = [...text.matchAll(/name="offered" value="([^"]+)"/g)].map(([, id]) => id ?? '')
  assert.deepEqual(offered.toSorted(), entered.connections.map(({ id }) => id).toSorted())
  for (const { id } of others) {
    await world.service.app.connections.removeConnection(byOperator, id, {})
  }
  const answer = await entered.jar.post(`${asked.path}?choice=connections`, {
    ...hidden,
    ...{ scope: ['mcp:read'], connection: [one.id], offered, decision: 'allow' },
  })
  const { url } = await followOut(world.service, entered.jar, answer)
  const tokens = await redeem(world.service, asked, url.searchParams.get('code') ?? '')
  await world.service.link(entered.user, 'healthy', 'snaptrade')
  assert.deepEqual(await seenBy(tokens.access_token), [one.id])
})

test('R43: with every box unticked nothing is granted, and the page says what to do', async () => {
  const entered = await enter()
  const stranger = await enter()
  for (const connection of [[], ['x'], [stranger.connections[0]?.id ?? '']]) {
    const { asked, answer } = await allow(entered, { connection }, { query: '?choice=connections' })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /Tick at least one connection/)
    const again = await entered.jar.post(asked.path, { ...answer.hidden, decision: 'deny' })
    const { url } = await followOut(world.service, entered.jar, again)
    assert.equal(url.searchParams.get('error'), 'access_denied')
  }
})

test('R43: what is not theirs adds nothing to a choice, and the list of agents tells how many were chosen', async () => {
  const entered = await enter()
  const stranger = await enter()
  const [one] = entered.connections
  assert(one !== undefined)
  const chosen = [one.id, stranger.connections[0]?.id ?? '']
  const agent = await connect(entered, { connection: chosen })
  assert.deepEqual(await seenBy(agent.access_token), [one.id])
  const { text } = await entered.jar.get('/agents')
  assert.match(text, /1 chosen connection</)
})
