/** The sign-in page, status by status. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { makeJar } from '#tests/support/jar.ts'
import { type PagesWorld, password, signIn, startPages } from './world.ts'

let world: PagesWorld
before(async () => {
  world = await startPages()
})
after(() => world.close())

test('200: a form with the fields email and password, each with its label, ready for password stores', async () => {
  const { text } = await world.jar().get('/sign-in')
  assert.match(text, /<form method="post" action="\/sign-in">/)
  assert.match(text, /<label for="email">E-mail address<\/label>\s*<input id="email" name="email"/)
  assert.match(text, /<label for="password">Password<\/label>\s*<input id="password"/)
  assert.match(text, /type="email" autocomplete="username"/)
  assert.match(text, /type="password" autocomplete="current-password"/)
  assert.doesNotMatch(text, /aria-invalid/)
})

test('303: the right password opens a session in a cookie that scripts cannot read', async () => {
  const person = await world.addPerson()
  const jar = world.jar()
  const answer = await signIn(jar, { email: person.email, password })
  assert.equal(answer.status, 303)
  assert.equal(answer.location, '/')
  const line = jar.setCookies.find((text) => text.startsWith('tributary='))
  assert.match(
    line ?? '',
    /^tributary=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000$/,
  )
  assert.ok((await jar.get('/')).text.includes(person.email))
})

test('303: after the sign-in one goes on to where one was going', async () => {
  const person = await world.addPerson()
  const jar = world.jar()
  assert.equal((await jar.get('/agents')).location, '/sign-in?return=%2Fagents')
  const given = { email: person.email, password }
  assert.equal((await signIn(jar, given, '/sign-in?return=%2Fagents')).location, '/agents')
})

test('401: a wrong password and an unknown address read the same, tied to both fields', async () => {
  const person = await world.addPerson()
  const wrong = await signIn(world.jar(), { email: person.email, password: 'a wrong password' })
  const unknown = await signIn(world.jar(), { email: 'no@body.test', password: 'a wrong password' })
  assert.deepEqual([wrong.status, unknown.status], [401, 401])
  const plain = (text: string, email: string) =>
    text.replaceAll(email, 'E').replace(/name="token" value="[^"]*"/g, '')
  assert.equal(plain(wrong.text, person.email), plain(unknown.text, 'no@body.test'))
  for (const name of ['email', 'password']) {
    const input = new RegExp(
      `id="${name}"[^>]* aria-describedby="${name}-problem" aria-invalid="true"`,
    )
    assert.match(wrong.text, input)
    assert.match(wrong.text, new RegExp(`id="${name}-problem"`))
  }
  assert.match(wrong.text, /role="alert">The e-mail address or the password is wrong/)
  assert.ok(!wrong.text.includes('a wrong password'), 'a password is never sent back')
})

test('401: fields that are missing, doubled or far too long are a wrong password', async () => {
  const person = await world.addPerson()
  const jar = world.jar()
  const { hidden } = await jar.get('/sign-in')
  const cases = [
    {},
    { email: person.email },
    { password },
    { email: `${person.email}\u0000`, password },
    { email: ['x@y.example', person.email], password },
    { email: person.email, password: 'x'.repeat(9000) },
    { email: '"><script>alert(1)</script>', password },
  ]
  for (const fields of cases) {
    const answer = await jar.post('/sign-in', { ...hidden, ...fields })
    assert.equal(answer.status, 401, JSON.stringify(fields).slice(0, 80))
  }
})

test('429: the attempt too many is told how long to wait, and no field is called wrong', async () => {
  const narrow = await startPages({ env: { RATE_LIMIT_SIGNIN: '2' } })
  try {
    const person = await narrow.addPerson()
    const jar = narrow.jar()
    const wrong = { email: person.email, password: 'a wrong password' }
    for (let tries = 0; tries < 2; tries += 1) assert.equal((await signIn(jar, wrong)).status, 401)
    const refused = await signIn(jar, { email: person.email, password })
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['retry-after'], '60')
    assert.match(refused.text, /Too many attempts\. Try again in 60 seconds/)
    assert.doesNotMatch(refused.text, /aria-invalid/)
    narrow.service.clock.advance(60_000)
    assert.equal((await signIn(jar, { email: person.email, password })).status, 303)
  } finally {
    await narrow.close()
  }
})

test('a session that somebody planted before the sign-in is not the one after it', async () => {
  const [person, attacker] = [await world.addPerson(), await world.addPerson()]
  const known = (await world.enter(attacker)).cookies.get('tributary') ?? ''
  for (const planted of [known, 'A'.repeat(43)]) {
    const jar = world.jar()
    jar.cookies.set('tributary', planted)
    const page = await jar.get('/sign-in?return=/agents')
    // The attacker's own session is fresh, and so goes on at once; the form is sent nevertheless.
    const { hidden } = page.status === 200 ? page : await jar.get('/')
    const answer = await jar.post('/sign-in', { ...hidden, email: person.email, password })
    assert.equal(answer.status, 303)
    assert.notEqual(jar.cookies.get('tributary'), planted)
    const thief = world.jar()
    thief.cookies.set('tributary', planted)
    assert.ok(!(await thief.get('/')).text.includes(person.email))
    // Where it was a session, it ended with the sign-in.
    assert.ok(!(await thief.get('/')).text.includes(attacker.email))
  }
})

test('who is signed in of late goes on at once, after ten minutes the password is asked again', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  assert.equal((await jar.get('/sign-in?return=/agents')).location, '/agents')
  world.service.clock.advance(10 * 60_000)
  const page = await jar.get('/sign-in?return=/agents')
  assert.equal(page.status, 200)
  assert.match(page.text, /<h1>Confirm it is you<\/h1>/)
  assert.ok(page.text.includes(`value="${person.email}"`))
  const before = jar.cookies.get('tributary')
  const given = { ...page.hidden, email: person.email, password }
  assert.equal((await jar.post('/sign-in', given)).location, '/agents')
  assert.notEqual(jar.cookies.get('tributary'), before, 'the session is a new one')
})

test('nobody is sent to another place: only a path of this server is followed', async () => {
  const person = await world.addPerson()
  const outside = [
    'https://evil.test/',
    '//evil.test',
    '/\\evil.test',
    '\\\\evil.test',
    '/\t/evil.test',
    '/\n//evil.test',
    'javascript:alert(1)',
    ' /agents',
    'agents',
    '',
    `/${'a'.repeat(3000)}`,
    '/agents\r\nSet-Cookie: x=y',
  ]
  const entered = await world.enter(person)
  for (const target of outside) {
    const path = `/sign-in?return=${encodeURIComponent(target)}`
    assert.equal((await entered.get(path)).location, '/', JSON.stringify(target))
    const jar = world.jar()
    const page = await jar.get(path)
    assert.equal(page.hidden.return, '/')
    const form = { ...page.hidden, return: target, email: person.email, password }
    assert.equal((await jar.post('/sign-in', form)).location, '/', JSON.stringify(target))
  }
  assert.equal((await entered.get('/sign-in?return=/agents&return=/doc')).location, '/')
})

test('two pages opened before the sign-in: the second form still works after the first', async () => {
  const person = await world.addPerson()
  const jar = world.jar()
  const [first, second] = [await jar.get('/sign-in'), await jar.get('/sign-in')]
  const given = { email: person.email, password }
  assert.equal((await jar.post('/sign-in', { ...first.hidden, ...given })).status, 303)
  assert.equal((await jar.post('/sign-in', { ...second.hidden, ...given })).status, 303)
})

test('a script without Origin and Sec-Fetch-Site signs in with the token of the form', async () => {
  const person = await world.addPerson()
  const jar = makeJar(world.service.baseUrl)
  const page = await jar.get('/sign-in')
  const form = { ...page.hidden, email: person.email, password }
  assert.equal((await jar.post('/sign-in', form, { origin: '' })).status, 303)
})
