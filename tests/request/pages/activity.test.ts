/** The activity page: what is shown of the audit, to whom, in which order, and from where it came. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { connectAgent, type Person, signIn, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

/** The cells of each row, without markup. */
function readRows(text: string): string[][] {
  const rows = text.split('<tr role="row">').slice(2)
  return rows.map((row) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) =>
      cell.replace(/<[^>]*>/g, '').trim(),
    ),
  )
}

const write = (person: Person, action: string, subject: string) =>
  world.service.app.store.auditExtension({
    at: world.service.clock.now(),
    actor: byOperator.actor,
    action,
    userId: person.id,
    subject,
    details: {},
  })

test('303: a visitor is redirected to the sign-in and back', async () => {
  assert.equal((await world.jar().get('/activity')).location, '/sign-in?return=%2Factivity')
})

test('what a person did is said in plain words, newest first, with the moment, who and from where', async () => {
  const person = await world.addPerson()
  await signIn(world.jar(), { email: person.email, password: 'a wrong password' })
  world.service.clock.advance(1000)
  const jar = await world.enter(person)
  world.service.clock.advance(60_000)
  const { hidden } = await jar.get('/keys')
  await jar.post('/keys', { ...hidden, name: 'budget <b>', expires: '' })
  world.service.clock.advance(60_000)
  await world.service.app.actions.setPlan(byOperator, person.id, {
    plan: 'developer',
    status: 'active',
  })
  const page = await jar.get('/activity')
  assert.deepEqual(
    readRows(page.text).map(([, ...cells]) => cells),
    [
      ['Set the plan: developer, active', 'The operator', '—'],
      ['Created the API key “budget &lt;b&gt;”', 'You', '127.0.0.1'],
      ['Signed in', 'You', '127.0.0.1'],
      ['Gave a wrong password, and was refused', 'Somebody', '127.0.0.1'],
    ],
  )
  assert.match(page.text, /<time datetime="2026-11-21T02:0\d:\d\d\.000Z" title="2026-11-21T02:/)
})

test('connections are named as long as they exist, agents also when they are disconnected', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { service } = world
  const user = { id: person.id, key: '', keyId: '' } as unknown as Parameters<
    typeof service.link
  >[0]
  const [connection] = await service.link(user, 'healthy', 'fiskil')
  assert(connection !== undefined)
  await connectAgent(service, jar, { name: 'Claude' })
  const lines = async () => readRows((await jar.get('/activity')).text).map(([, what]) => what)
  const known = await lines()
  assert.ok(known.includes('Allowed the agent Claude to read banks and brokers'), known.join('\n'))
  const linked = known.find((line) => line?.startsWith('Linked '))
  assert.ok(linked?.includes(connection.institutionName), known.join('\n'))
  await service.app.connections.removeConnection(byOperator, connection.id)
  const gone = await lines()
  assert.ok(gone.includes('Removed a connection'), gone.join('\n'))
  const { hidden, text } = await jar.get('/agents')
  const grant = /grant=([\w-]+)/.exec(text)?.[1] ?? /name="grant" value="([^"]+)"/.exec(text)?.[1]
  await jar.post('/agents/disconnect', { ...hidden, grant: grant ?? '', decision: 'confirm' })
  const after = await lines()
  assert.ok(after.includes('Disconnected the agent Claude'), after.join('\n'))
  assert.ok(after.includes('Allowed the agent Claude to read banks and brokers'), after.join('\n'))
  await service.app.store.audit({
    at: service.clock.now(),
    actor: byOperator.actor,
    userId: person.id,
    action: 'agent.disconnected',
    details: { clientId: 'a-client-of-before', clientName: null },
  })
  assert.ok((await lines()).includes('Disconnected an agent'))
})

test('an action of another version is shown as it was written, and nothing in it is markup', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  await write(person, 'future.action', '<script>x')
  await write(person, 'constructor', 'y')
  const { text } = await jar.get('/activity')
  assert.match(text, /future\.action: &lt;script&gt;x/)
  assert.match(text, /constructor: y/)
})

test('fifty entries a page, each exactly once, to the end; what is no place is the first page', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  for (let count = 0; count < 119; count += 1) await write(person, 'future.action', `no-${count}.`)
  const seen: string[] = []
  let place = '/activity'
  for (let pages = 1; pages <= 3; pages += 1) {
    const { text } = await jar.get(place)
    const rows = readRows(text)
    assert.equal(rows.length, pages < 3 ? 50 : 20)
    seen.push(...rows.map(([, what = '']) => what))
    place = /<a href="([^"]+)">Older<\/a>/.exec(text)?.[1] ?? ''
    assert.equal(place === '', pages === 3)
  }
  assert.equal(new Set(seen).size, 120)
  for (const odd of ['x', '1.2', '99999999999999999999.x']) {
    assert.equal(readRows((await jar.get(`/activity?before=${odd}`)).text).length, 50)
  }
})

test('nobody sees what another person did', async () => {
  const other = await world.addPerson()
  await write(other, 'future.action', 'not-yours')
  const jar = await world.enter(await world.addPerson())
  assert.ok(!(await jar.get('/activity')).text.includes('not-yours'))
})

test('F30: what is looked for is shown alone, page by page, and test events bury no sign-in', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  world.service.clock.advance(1000)
  for (let count = 0; count < 60; count += 1) await write(person, 'webhooks.future', `no-${count}.`)
  assert.ok(!(await jar.get('/activity')).text.includes('>Signed in<'))
  const account = readRows((await jar.get('/activity?about=account')).text)
  assert.deepEqual(
    account.map(([, what, who]) => [what, who]),
    [['Signed in', 'You']],
  )
  const { text } = await jar.get('/activity?about=webhooks')
  assert.match(text, /<option value="webhooks" selected>/)
  const older = /<a href="([^"]+)">Older<\/a>/.exec(text)?.[1]?.replace('&amp;', '&') ?? ''
  assert.match(older, /about=webhooks/)
  const rest = await jar.get(older)
  assert.equal(readRows(text).length + readRows(rest.text).length, 60)
  assert.match(rest.text, /<a href="\/activity\?about=webhooks">Newest</)
  assert.equal(readRows((await jar.get('/activity?about=x')).text).length, 50)
  assert.match((await jar.get('/activity?about=keys')).text, /Nothing of this kind has happened/)
})
