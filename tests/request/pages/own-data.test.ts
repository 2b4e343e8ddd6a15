/** What a person takes with them: everything about them as JSON, and the activity as CSV. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { connectAgent, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

test('303: a visitor downloads nothing', async () => {
  for (const path of ['/settings/download', '/activity/download'])
    assert.equal((await world.jar().get(path)).status, 303, path)
})

test('everything about a person is one JSON file, without a secret, and without anything of another person', async () => {
  const { service } = world
  const person = await world.addPerson()
  const other = await world.addPerson()
  const jar = await world.enter(person)
  for (const one of [person, other]) {
    const user = { id: one.id } as Parameters<typeof service.link>[0]
    await service.link(user, 'healthy', 'akahu')
  }
  const { key } = await service.app.actions.createKey(byOperator, person.id, { name: 'laptop' })
  const secret = 'whsec_dGhpcyBpcyBhIHNlY3JldCBvZiBhIHRlc3Q='
  const endpoint = { url: 'https://consumer.example/events', skipEmpty: false, secret }
  await service.app.store.endpoints.create(
    {
      ...endpoint,
      userId: person.id,
      events: ['transactions.synced'],
      createdAt: service.clock.now(),
    },
    20,
  )
  await connectAgent(service, jar, { name: 'Claude' })
  const answer = await jar.get('/settings/download')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.match(
    String(answer.headers['content-disposition']),
    /attachment; filename="tributary_data\.json"/,
  )
  const data = JSON.parse(answer.text)
  assert.deepEqual(Object.keys(data), [
    'account',
    'connections',
    'keys',
    'programs',
    'endpoints',
    'consumers',
    'agents',
    'agentsAreWhole',
    'activity',
    'activityIsWhole',
  ])
  assert.equal(data.account.email, person.email)
  assert.ok(data.connections.length > 0 && data.connections[0].accounts.length > 0)
  assert.deepEqual(
    [data.keys[0].name, data.endpoints[0].url, data.agents.length, data.activityIsWhole],
    ['laptop', 'https://consumer.example/events', 1, true],
  )
  const logins = await service.app.store.logins.list(person.id)
  const secrets = [key, secret, ...logins.map(({ secret }) => secret ?? '')]
  for (const text of secrets) assert.ok(text.length > 8 && !answer.text.includes(text))
  assert.doesNotMatch(answer.text, /hash|password"|secret"|whsec_/i)
  for (const text of [other.id, other.email]) assert.ok(!answer.text.includes(text))
})

test('the activity is a file for a spreadsheet in the words of the page, and no cell of it is a formula', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  await world.service.app.actions.createKey(byOperator, person.id, { name: '=1+1' })
  const answer = await jar.get('/activity/download')
  assert.equal(answer.status, 200)
  const [head] = answer.text.split('\r\n')
  assert.equal(head, 'when,what,who,from,action,about')
  assert.match(answer.text, /,Created the API key “=1\+1”,The operator,,keys\.create,/)
  assert.match(answer.text, /,Signed in,/)
  assert.match((await jar.get('/activity')).text, /href="\/activity\/download"/)
  assert.match((await jar.get('/settings')).text, /href="\/settings\/download"/)
})
