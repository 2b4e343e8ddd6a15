/** The sign-up page, status by status. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { signIn, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const good = { name: 'Emma', email: 'emma@example.test', password: 'long enough it is' }

test('303: a sign-up signs in and continues to the requested page, and a later sign-in works', async () => {
  const jar = world.jar()
  const page = await jar.get('/sign-up?return=/agents')
  assert.match(page.text, /autocomplete="new-password"/)
  const answer = await jar.post('/sign-up', { ...page.hidden, ...good })
  assert.deepEqual([answer.status, answer.location], [303, '/agents'])
  assert.match(
    (await jar.get('/')).text,
    /<summary>.*<span class="foreign">Emma<\/span><\/summary>/,
  )
  const { email, password } = good
  assert.equal((await signIn(world.jar(), { email, password })).status, 303)
})

test('303: a sign-up that led nowhere else ends with what comes next', async () => {
  const jar = world.jar()
  const { hidden } = await jar.get('/sign-up')
  const answer = await jar.post('/sign-up', { ...hidden, ...good, email: 'next@example.test' })
  assert.deepEqual([answer.status, answer.location], [303, '/welcome'])
  const { status, text } = await jar.get('/welcome')
  assert.equal(status, 200)
  assert.match(text, /Your account is ready.*next@example\.test.*First steps/s)
  assert.equal((await world.jar().get('/welcome')).location, '/sign-in?return=%2Fwelcome')
})

test('400: every wrong field says what to do beside itself, keeps what was typed, but for the password', async () => {
  const jar = world.jar()
  const { hidden } = await jar.get('/sign-up')
  const bad = { name: '<b>'.repeat(40), email: 'nobody', password: 'too short' }
  const { status, text } = await jar.post('/sign-up', { ...hidden, ...bad })
  assert.equal(status, 400)
  for (const name of ['name', 'email', 'password']) {
    const described = new RegExp(
      `id="${name}"[^>]* aria-describedby="${name}-problem" aria-invalid="true"`,
    )
    assert.match(text, described)
    assert.match(text, new RegExp(`<small class="problem" id="${name}-problem">`))
  }
  assert.deepEqual(text.match(/id="\w+"[^>]* autofocus/g)?.length, 1)
  assert.match(text, /id="name"[^>]* autofocus/)
  assert.match(text, /value="&lt;b&gt;/)
  assert.ok(!text.includes('too short'))
  assert.equal(
    (await world.service.app.store.users.list()).some((row) => row.email === 'nobody'),
    false,
  )
})

test('400: an address that has an account is sent to the sign-in, and the account is left as it was', async () => {
  const person = await world.addPerson()
  const jar = world.jar()
  const { hidden } = await jar.get('/sign-up')
  const form = { ...hidden, ...good, email: person.email.toUpperCase() }
  const answer = await jar.post('/sign-up', form)
  assert.equal(answer.status, 400)
  assert.match(answer.text, /There is an account with this address; sign in instead/)
  assert.equal(jar.cookies.has('tributary'), false)
  const entered = await signIn(world.jar(), { email: person.email, password: good.password })
  assert.equal(entered.status, 401)
})

test('403: where the operator creates the accounts, the page says so and no user is created', async () => {
  const closed = await startPages({ env: { SIGN_UP: 'invite' } })
  try {
    const jar = closed.jar()
    const page = await jar.get('/sign-up')
    assert.equal(page.status, 403)
    assert.match(page.text, /Accounts are created by the operator/)
    const arrival = await jar.get('/sign-in')
    assert.match(arrival.text, /Accounts are created by the operator of this server/)
    assert.doesNotMatch(arrival.text, /href="\/sign-up/)
    const posted = await jar.post('/sign-up', { ...arrival.hidden, ...good })
    assert.equal(posted.status, 403)
    assert.deepEqual(await closed.service.app.store.users.list(), [])
    const invited = await closed.addPerson()
    await closed.enter(invited)
  } finally {
    await closed.close()
  }
})

test('429: sign-ups of one address are counted', async () => {
  const narrow = await startPages({ env: { RATE_LIMIT_SIGNIN: '1' } })
  try {
    const jar = narrow.jar()
    const { hidden } = await jar.get('/sign-up')
    assert.equal((await jar.post('/sign-up', { ...hidden, ...good, name: '' })).status, 400)
    const refused = await jar.post('/sign-up', { ...hidden, ...good })
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['retry-after'], '60')
    assert.deepEqual(await narrow.service.app.store.users.list(), [])
  } finally {
    await narrow.close()
  }
})

test('a sign-up ends whatever session the browser had before', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const before = jar.cookies.get('tributary') ?? ''
  const { hidden } = await jar.get('/sign-up')
  const answer = await jar.post('/sign-up', { ...hidden, ...good, email: 'other@example.test' })
  assert.equal(answer.status, 303)
  const thief = world.jar()
  thief.cookies.set('tributary', before)
  assert.ok(!(await thief.get('/settings')).text.includes(person.email))
})

test('F8: the zone of the browser is that of the account; without a script, or with nonsense, the default holds', async () => {
  for (const [told, kept] of [
    ['America/Toronto', 'America/Toronto'],
    ['', null],
    ['Mars/Olympus', null],
  ] as const) {
    const jar = world.jar()
    const page = await jar.get('/sign-up')
    assert.match(page.text, /<input type="hidden" name="timezone" value="" data-fill="timezone">/)
    const email = `zone-${told.length}@example.test`
    const form = { ...page.hidden, timezone: told, name: 'Zoe', email, password: 'a long password' }
    assert.equal((await jar.post('/sign-up', form)).status, 303)
    const user = await world.service.app.store.users.find(email)
    assert.equal(user?.timezone, kept)
  }
})
