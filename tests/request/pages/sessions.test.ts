/** Home and sign-out, and what becomes of sessions. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { type Person, password, signIn, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

test('200: signed out, the home page says what this is and where to sign in', async () => {
  const { status, text } = await world.jar().get('/')
  assert.equal(status, 200)
  assert.match(text, /href="\/sign-in"/)
  assert.match(text, /href="\/sign-up"/)
})

test('200: signed in, the home page shows whose account it is and the first steps', async () => {
  const person = await world.addPerson()
  const { text } = await (await world.enter(person)).get('/')
  assert.match(text, /<span class="foreign">Emma<\/span>/)
  assert.match(text, /First steps/)
})

test('303: sign-out ends the session at the server, not only in this browser', async () => {
  const jar = await world.enter(await world.addPerson())
  const kept = jar.cookies.get('tributary') ?? ''
  const { hidden } = await jar.get('/')
  const answer = await jar.post('/sign-out', hidden)
  assert.deepEqual([answer.status, answer.location], [303, '/'])
  assert.equal(jar.cookies.has('tributary'), false)
  const thief = world.jar()
  thief.cookies.set('tributary', kept)
  assert.equal((await thief.get('/agents')).status, 303)
})

test('303: sign-out in one browser leaves the other signed in', async () => {
  const person = await world.addPerson()
  const [desk, phone] = [await world.enter(person), await world.enter(person)]
  await desk.post('/sign-out', (await desk.get('/')).hidden)
  assert.equal((await phone.get('/agents')).status, 200)
})

test('303: sign-up, sign-in and sign-out each leave one audit row, and a sign-in once more its own', async () => {
  const { store } = world.service.app
  const jar = world.jar()
  const given = { name: 'Emma', email: 'trail@example.test', password }
  await jar.post('/sign-up', { ...(await jar.get('/sign-up')).hidden, ...given })
  const { id: userId } = (await store.users.find(given.email)) ?? assert.fail('nobody signed up')
  await jar.post('/sign-out', (await jar.get('/')).hidden)
  for (const wrong of ['a wrong password', password]) {
    world.service.clock.advance(1)
    await signIn(jar, { ...given, password: wrong })
  }
  world.service.clock.advance(11 * 60_000)
  assert.equal((await signIn(jar, given)).status, 303)
  const rows = await store.auditLog.list({ userId, after: null, limit: 10 })
  const of = (action: string) => rows.filter((row) => row.action === action)
  assert.deepEqual(
    rows.map(({ actor, action }) => `${actor} ${action}`).sort(),
    [
      '127.0.0.1 account.sign-in-refused',
      '127.0.0.1 account.signed-in',
      '127.0.0.1 account.signed-in',
      '127.0.0.1 account.signed-in',
      '127.0.0.1 account.signed-up',
      'user account.signed-out',
    ],
    'giving the password again replaces the session of this browser',
  )
  const [out] = of('account.signed-out')
  assert.equal(out?.subject, 'account')
})

test('303: a sign-in ends another person’s session in that browser, with an audit row for each', async () => {
  const { store } = world.service.app
  const [leaver, comer] = [await world.addPerson(), await world.addPerson()]
  const jar = await world.enter(leaver)
  world.service.clock.advance(11 * 60_000)
  assert.equal((await signIn(jar, { email: comer.email, password })).status, 303)
  const actionsOf = async ({ id: userId }: Person) =>
    (await store.auditLog.list({ userId, after: null, limit: 10 })).map(({ action }) => action)
  assert.deepEqual(await actionsOf(leaver), ['account.signed-out', 'account.signed-in'])
  assert.deepEqual(await actionsOf(comer), ['account.signed-in'])
})

test('a session ends idle after 14 days, and a form posted afterwards leads to the sign-in', async () => {
  const jar = await world.enter(await world.addPerson())
  const { hidden } = await jar.get('/agents')
  world.service.clock.advance(14 * 86_400_000)
  const posted = await jar.post('/agents/disconnect', { ...hidden, grant: 'x' })
  assert.equal(posted.location, '/sign-in?return=%2Fagents')
  assert.equal((await jar.get('/agents')).location, '/sign-in?return=%2Fagents')
})

test('a deleted user is signed in nowhere', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  assert.equal(await world.service.app.connections.deleteUser(byOperator, person.id), true)
  assert.equal((await jar.get('/agents')).status, 303)
  assert.equal((await signIn(world.jar(), { email: person.email, password })).status, 401)
})

test('a user’s own name is shown as text, whatever it is', async () => {
  const jar = world.jar()
  const { hidden } = await jar.get('/sign-up')
  const name = `<img src=x onerror='alert(1)'>"&`
  await jar.post('/sign-up', { ...hidden, name, email: 'x@html.test', password })
  const { text } = await jar.get('/')
  // The name is cut to what the menu has room for.
  assert.ok(text.includes('>&lt;img src=x onerror=&#39;alert(1)&#39;…</span>'))
  assert.ok(!text.includes('<img src=x'))
})
