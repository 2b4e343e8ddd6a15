/** The sign-in page, status by status. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { makeJar } from '#tests/support/jar.ts'
import { askForConsent, password, signIn, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

test('200: a form with the fields email and password, each with its label, ready for password stores', async () => {
  const { text } = await world.jar().get('/sign-in')
  assert.match(text, /<form method="post" action="\/sign-in" novalidate>/)
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
  assert.ok((await jar.get('/settings')).text.includes(person.email))
})

test('303: an address that an operator or the sign-up accepted signs in, however it is spelled', async () => {
  for (const email of ['owner@localhost', 'Zo\u00eb@b\u00fccher.example']) {
    const jar = world.jar()
    const { hidden } = await jar.get('/sign-up')
    const made = await jar.post('/sign-up', { ...hidden, name: 'Zoe', email, password })
    assert.equal(made.status, 303, made.text)
    for (const spelled of [email, ` ${email.toUpperCase()} `, email.normalize('NFD')]) {
      assert.equal((await signIn(world.jar(), { email: spelled, password })).status, 303, spelled)
    }
  }
  const sent = { email: 'zo\u00eb@xn--bcher-kva.example', password }
  assert.equal((await signIn(world.jar(), sent)).status, 303, 'as a browser sends it')
})

test('303: after the sign-in the browser continues to the page that was requested', async () => {
  const person = await world.addPerson()
  const jar = world.jar()
  assert.equal((await jar.get('/agents')).location, '/sign-in?return=%2Fagents')
  const given = { email: person.email, password }
  assert.equal((await signIn(jar, given, '/sign-in?return=%2Fagents')).location, '/agents')
})

test('200: sign-in and sign-up name the agent that is waiting, in its own words and escaped', async () => {
  const person = await world.addPerson()
  const jar = world.jar()
  const { path } = await askForConsent(world.service, jar, { name: 'Claude <b>\u202e' })
  const there = (await jar.get(path)).location ?? ''
  assert.equal(there, `/sign-in?return=${encodeURIComponent(path)}`)
  const waits = /<span class="foreign">Claude &lt;b&gt;[^<]*<\/span> is waiting to read your data\./
  const page = await jar.get(there)
  assert.match(page.text, waits)
  assert.match((await jar.get(there.replace('sign-in', 'sign-up'))).text, waits)
  const wrong = { ...page.hidden, email: person.email, password: 'a wrong password' }
  assert.match((await jar.post('/sign-in', wrong)).text, waits)
  // Only the request that waits in this browser is named, and only when the sign-in leads to it.
  for (const other of ['/sign-in', '/sign-in?return=%2Fagents', '/sign-in?return=%2Fconsent%2Fx'])
    assert.doesNotMatch((await jar.get(other)).text, /is waiting/)
  assert.doesNotMatch((await world.jar().get(there)).text, /is waiting/)
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
    const input = new RegExp(`id="${name}"[^>]* aria-describedby="refused" aria-invalid="true"`)
    assert.match(wrong.text, input)
  }
  assert.match(wrong.text, /id="refused" role="alert">The e-mail address or the password is wrong/)
  assert.doesNotMatch(wrong.text, /class="problem"/, 'one error is told once')
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

test('429: above the limit of an address the page says how long to wait, and marks no field as wrong', async () => {
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

test('429: after ten wrong passwords an account waits, the browser of its owner does not', async () => {
  const env = { RATE_LIMIT_SIGNIN: '100', TRUST_PROXY: '127.0.0.1' }
  const guarded = await startPages({ env })
  try {
    const person = await guarded.addPerson()
    const own = await guarded.enter(person)
    const mark = own.setCookies.find((line) => line.startsWith('tributary-browser='))
    assert.match(
      mark ?? '',
      /^tributary-browser=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=31536000$/,
    )
    const thief = guarded.jar()
    const { hidden } = await thief.get('/sign-in')
    const guess = (address: string, given = 'a wrong password') =>
      thief.post(
        '/sign-in',
        { ...hidden, email: person.email, password: given },
        { 'x-forwarded-for': address },
      )
    for (let host = 1; host <= 10; host += 1) {
      assert.equal((await guess(`198.51.100.${host}`)).status, 401)
    }
    const refused = await guess('198.51.100.11', password)
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '60'])

    const page = await own.get('/')
    assert.equal((await own.post('/sign-out', { ...page.hidden })).status, 303)
    assert.equal((await signIn(own, { email: person.email, password })).status, 303)
    assert.equal((await guess('198.51.100.12', password)).status, 429, 'others wait still')

    for (let minute = 0; minute < 90; minute += 1) {
      guarded.service.clock.advance(60_000)
      assert.equal((await guess(`203.0.113.${minute}`)).status, 401)
    }
    guarded.service.clock.advance(60_000)
    const spent = await guess('203.0.113.200')
    assert.equal(spent.status, 429)
    assert.match(spent.text, /Too many attempts\. Try again in 23 hours/)
    assert.equal(Number(spent.headers['retry-after']), 86_400 - 91 * 60)
  } finally {
    await guarded.close()
  }
})

test('303: 150 sign-ins at once from 150 addresses do not prevent another one', async () => {
  const env = { RATE_LIMIT_SIGNIN: '30', TRUST_PROXY: '127.0.0.1' }
  const crowded = await startPages({ env })
  try {
    const [owner, newcomer] = [await crowded.addPerson(), await crowded.addPerson()]
    const own = await crowded.enter(owner)
    const elsewhere = crowded.jar()
    const crowd = crowded.jar()
    const [{ hidden }, ...pages] = await Promise.all([
      crowd.get('/sign-in'),
      own.get('/'),
      elsewhere.get('/sign-in'),
    ])
    const wrong = { ...hidden, password: 'a wrong password' }
    const flood = Array.from({ length: 150 }, (_, index) => {
      const from = { 'x-forwarded-for': `198.51.${100 + (index >> 7)}.${index & 127}` }
      return crowd.post('/sign-in', { ...wrong, email: `guess-${index}@example.test` }, from)
    })
    const [known, unknown] = await Promise.all([
      own.post('/sign-in', { ...pages[0]?.hidden, email: owner.email, password }),
      elsewhere.post('/sign-in', { ...pages[1]?.hidden, email: newcomer.email, password }),
    ])
    assert.deepEqual([known.status, unknown.status], [303, 303])
    const statuses = new Set((await Promise.all(flood)).map(({ status }) => status))
    assert.deepEqual(statuses, new Set([401]))
  } finally {
    await crowded.close()
  }
})

test('a session cookie that an attacker set before the sign-in is replaced by it', async () => {
  const [person, attacker] = [await world.addPerson(), await world.addPerson()]
  const known = (await world.enter(attacker)).cookies.get('tributary') ?? ''
  for (const planted of [known, 'A'.repeat(43)]) {
    const jar = world.jar()
    jar.cookies.set('tributary', planted)
    const page = await jar.get('/sign-in?return=/agents')
    // The attacker's session is recent, so the page redirects at once; the form is sent anyway.
    const { hidden } = page.status === 200 ? page : await jar.get('/')
    const answer = await jar.post('/sign-in', { ...hidden, email: person.email, password })
    assert.equal(answer.status, 303)
    assert.notEqual(jar.cookies.get('tributary'), planted)
    const thief = world.jar()
    thief.cookies.set('tributary', planted)
    assert.ok(!(await thief.get('/settings')).text.includes(person.email))
    // Where it was a session, it ended with the sign-in.
    assert.ok(!(await thief.get('/settings')).text.includes(attacker.email))
  }
})

test('after a recent sign-in no password is needed; after ten minutes it is requested again', async () => {
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

test('after the sign-in only a path of this server is followed', async () => {
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
