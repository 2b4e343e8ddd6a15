/**
 * The page after a sign-up and the first steps: each is offered until it is done, and made-up data links in
 * sandbox mode only.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { connectAgent, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

test('303: a visitor is redirected to the sign-in and back', async () => {
  assert.equal((await world.jar().get('/welcome')).location, '/sign-in?return=%2Fwelcome')
})

test('the first steps are on the overview and after a sign-up, and go one by one as they are done', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  for (const path of ['/', '/welcome']) {
    const { status, text } = await jar.get(path)
    assert.equal(status, 200)
    assert.match(text, /<a href="\/connections\/new" class="button">Link a bank or broker</)
    assert.match(text, /<a href="\/keys" class="button secondary outline">Create a key/)
    assert.doesNotMatch(text, /class="tick"/)
  }
  await world.service.app.actions.createKey(byOperator, person.id, {})
  const half = (await jar.get('/')).text
  assert.match(half, /Create a key or connect an agent <span class="tick">done/)
  assert.match(half, /href="\/connections\/new" class="button"/)
  for (const credentials of world.service.sandbox.person('healthy')) {
    await world.service.app.connections.linkConnections(byOperator, person.id, credentials)
  }
  assert.doesNotMatch((await jar.get('/')).text, /First steps/)
  assert.match((await jar.get('/welcome')).text, /Everything is set up/)
})

test('F27: every page of the sandbox says that all data is made up, and has its icons and colours', async () => {
  const jar = await world.enter(await world.addPerson())
  for (const path of ['/', '/money', '/keys', '/settings']) {
    const { text } = await jar.get(path)
    assert.match(text, /<strong>Sandbox<\/strong> <span>all data is made up</, path)
    assert.match(text, /<meta name="theme-color"/)
    assert.match(text, /<link rel="apple-touch-icon" href="\/assets\/touch-icon-/)
  }
  assert.match(
    (await world.jar().get('/sign-in')).text,
    /This is the sandbox: at its start the server printed/,
  )
  const icon = await jar.get('/favicon.ico')
  assert.deepEqual([icon.status, icon.location?.endsWith('.svg')], [302, true])
})

test('a connected agent takes the place of a key; a revoked key does not', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { row } = await world.service.app.actions.createKey(byOperator, person.id, {})
  await world.service.app.actions.revokeKey(byOperator, row.id)
  assert.doesNotMatch((await jar.get('/')).text, /class="tick"/)
  await connectAgent(world.service, jar)
  assert.match((await jar.get('/')).text, /connect an agent <span class="tick">done/)
})

test('made-up data: one button links a person at every provider, again changes nothing, and the page says what was done', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const page = await jar.get('/welcome')
  for (const _ of [1, 2]) {
    const answer = await jar.post('/welcome/made-up-data', page.hidden)
    assert.deepEqual([answer.status, answer.location], [303, '/welcome?done=linked'])
  }
  const rows = await world.service.app.store.connections.list(person.id)
  const providers = [...new Set(rows.map(({ provider }) => provider))].sort()
  assert.deepEqual(providers, ['akahu', 'enablebanking', 'fiskil', 'simplefin', 'snaptrade', 'up'])
  const again = new Set(rows.map(({ provider, upstreamId }) => `${provider} ${upstreamId}`))
  assert.equal(again.size, rows.length)
  const shown = await jar.get('/welcome?done=linked')
  assert.match(shown.text, /role="status">Made-up banks and a broker are linked/)
  assert.match(shown.text, /Link a bank or broker <span class="tick">done/)
  const audited = await world.service.app.store.auditLog.list({
    userId: person.id,
    after: null,
    limit: 50,
  })
  const links = audited.filter(({ action }) => action === 'connections.link')
  assert.deepEqual([...new Set(links.map(({ actor }) => actor))], ['user'])
})

test('made-up data that one person removes stays with the others who link it', async () => {
  const [first, second] = [await world.addPerson(), await world.addPerson()]
  for (const person of [first, second]) {
    const jar = await world.enter(person)
    await jar.post('/welcome/made-up-data', (await jar.get('/welcome')).hidden)
  }
  const { app } = world.service
  for (const { id } of await app.store.connections.list(first.id))
    await app.connections.removeConnection(byOperator, id)
  assert.deepEqual(await app.store.connections.list(first.id), [])
  const kept = await app.store.connections.list(second.id)
  for (const { id } of kept)
    await app.connections.refreshConnection(byOperator, id, { priority: 'user' })
  const states = (await app.store.connections.list(second.id)).map(({ status }) => status)
  assert.deepEqual(new Set(states), new Set(['active']))
})

test('403: a form from elsewhere links nothing', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get('/welcome')
  const foreign = { origin: 'https://evil.example' }
  assert.equal((await jar.post('/welcome/made-up-data', hidden, foreign)).status, 403)
  assert.deepEqual(await world.service.app.store.connections.list(person.id), [])
})

test('a section of the navigation is marked on its own page and on the pages below it; the plan is not in it where none are sold', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { row } = await world.service.app.actions.createKey(byOperator, person.id, {})
  const current = (text: string) =>
    [...text.matchAll(/<a href="([^"]*)" aria-current="(\w+)">/g)].map(([, path, how]) => [
      path,
      how,
    ])
  assert.deepEqual(current((await jar.get('/')).text), [['/', 'page']])
  assert.deepEqual(current((await jar.get('/keys')).text), [['/keys', 'page']])
  assert.deepEqual(current((await jar.get('/keys?done=revoked')).text), [['/keys', 'page']])
  assert.deepEqual(current((await jar.get(`/keys/${row.id}/revoke`)).text), [['/keys', 'true']])
  assert.deepEqual(current((await jar.get('/welcome')).text), [])
  assert.ok(!(await jar.get('/')).text.includes('/plan"'))
})

test('the first key is made by one press, shown once with its request and the answer to it, and can be used', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  await jar.post('/welcome/made-up-data', (await jar.get('/welcome')).hidden)
  const { text, hidden } = await jar.get('/welcome')
  assert.match(text, /action="\/welcome\/first-key".*See the first answer/)
  const made = await jar.post('/welcome/first-key', hidden)
  assert.deepEqual([made.status, made.location], [303, '/welcome'])
  const shown = (await jar.get('/welcome')).text
  const key = /data-copy="the key">([^<]*)</.exec(shown)?.[1] ?? ''
  const url = /Bearer [^']*' '([^']*)'/.exec(shown)?.[1] ?? ''
  const { origin, pathname, search } = new URL(url.replaceAll('&amp;', '&'))
  assert.equal(origin, world.service.baseUrl)
  const answer = await world.service.get(`${pathname}${search}`, `Bearer ${key}`)
  assert.equal(answer.status, 200)
  const json = /<pre class="answer" tabindex="0"><code>(.*?)<\/code>/s.exec(shown)?.[1] ?? ''
  const unescaped = json
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
  assert.deepEqual(JSON.parse(unescaped), answer.body)
  const again = (await jar.get('/welcome')).text
  assert.ok(!again.includes(key))
  assert.doesNotMatch(again, /See the first answer/)
})

test('a link that looks like a button stays a link: it has a class and no other role, and the style sheet knows the class', async () => {
  const visitor = world.jar()
  const start = (await visitor.get('/')).text
  assert.match(start, /<a href="\/sign-in" class="button[^"]*">Sign in</)
  const [sheet = ''] = start.match(/\/assets\/pico-[^"]+/) ?? []
  const pico = (await visitor.get(sheet)).text
  assert.match(pico, /[},]a\.button\{/)
  assert.doesNotMatch(pico, /role="?button/)
  const jar = await world.enter(await world.addPerson())
  for (const path of ['/', '/connections', '/usage', '/settings', '/webhooks']) {
    assert.doesNotMatch((await jar.get(path)).text, /<a [^>]*role="button"/, path)
  }
})
