/** A forgotten password: the page that asks for a link, and what the link does. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { totpOf } from '#tests/support/totp.ts'
import { pathIn, startMailed } from './mailed.ts'
import { type Person, password, signIn, startPages } from './world.ts'

const newPassword = 'staple correct battery'

const world = await startMailed()
after(() => world?.close())

/** A person whose address was proven before: what a first proof ends is in first-proof.test.ts. */
async function addConfirmed(): Promise<Person> {
  const person = await world.addPerson()
  await world.service.app.store.users.confirmEmail(person.id, world.service.clock.now())
  return person
}

/** Asks for a link as a person does. */
async function ask(email: string, jar = world.jar()) {
  const page = await jar.get('/forgot-password')
  assert.equal(page.status, 200)
  return jar.post('/forgot-password', { ...page.hidden, email })
}

test('the sign-in leads to a page that mails a link; the link sets a password once and ends all sessions', async () => {
  const person = await addConfirmed()
  const signedIn = await world.enter(person)
  assert.match((await world.jar().get('/sign-in')).text, /href="\/forgot-password"/)
  const jar = world.jar()
  const asked = await ask(person.email.toUpperCase(), jar)
  assert.deepEqual([asked.status, asked.location], [303, '/forgot-password?done=asked'])
  assert.match((await jar.get('/forgot-password?done=asked')).text, /mail with a link/)
  const path = pathIn(await world.mailTo(person.email))
  const page = await jar.get(path)
  assert.match(page.text, new RegExp(person.email))
  const short = await jar.post(path, { ...page.hidden, newPassword: 'short' })
  assert.equal(short.status, 400)
  assert.match(short.text, /<small class="problem" id="newPassword-problem">/)
  const done = await jar.post(path, { ...short.hidden, newPassword })
  assert.deepEqual([done.status, done.location], [303, '/password-changed'])
  assert.equal((await jar.get('/password-changed')).status, 200)
  assert.equal((await signedIn.get('/agents')).location, '/sign-in?return=%2Fagents')
  assert.equal((await signIn(world.jar(), { email: person.email, password })).status, 401)
  const entered = await signIn(world.jar(), { email: person.email, password: newPassword })
  assert.equal(entered.status, 303)
  assert.equal((await jar.get(path)).status, 410)
  assert.equal((await jar.post(path, { ...page.hidden, newPassword })).status, 410)
  const { store } = world.service.app
  const entries = await store.auditLog.list({ userId: person.id, after: null, limit: 20 })
  for (const action of ['account.asked-for-password', 'users.set-password'])
    assert.equal(entries.filter((entry) => entry.action === action).length, 1, action)
})

test('an hour later the link is too old, and a newer one replaces it', async () => {
  const person = await world.addPerson()
  await ask(person.email)
  const first = pathIn(await world.mailTo(person.email))
  await ask(person.email)
  const second = pathIn(await world.mailTo(person.email, 2))
  assert.match((await world.jar().get(first)).text, /A newer one was sent/)
  const jar = world.jar()
  const page = await jar.get(second)
  world.service.clock.advance(3_600_000)
  assert.match((await world.jar().get(second)).text, /too old.*Ask for a new link/s)
  assert.equal((await jar.post(second, { ...page.hidden, newPassword })).status, 410)
})

test('whether there is an account shows neither in the answer nor in its time', async () => {
  const person = await world.addPerson()
  const times: Record<string, number[]> = { known: [], unknown: [] }
  const answers = new Set<string>()
  for (let round = 0; round < 5; round += 1) {
    for (const kind of ['known', 'unknown'] as const) {
      const jar = world.jar()
      const page = await jar.get('/forgot-password')
      const from = performance.now()
      const email = kind === 'known' ? person.email : `nobody-${round}@example.test`
      const answer = await jar.post('/forgot-password', { ...page.hidden, email })
      times[kind]?.push(performance.now() - from)
      answers.add(`${answer.status} ${answer.location} ${answer.text}`)
    }
  }
  assert.equal(answers.size, 1)
  const median = (kind: string) => times[kind]?.toSorted((a, b) => a - b)[2] ?? 0
  assert.ok(median('known') >= 390 && median('unknown') >= 390)
  assert.ok(Math.abs(median('known') - median('unknown')) < 60, JSON.stringify(times))
  assert.equal(
    world.server.received.some(({ to }) => to[0]?.startsWith('nobody')),
    false,
  )
})

test('one account gets five links an hour, and the answer stays the same', async () => {
  const person = await world.addPerson()
  for (let count = 0; count < 7; count += 1)
    assert.equal((await ask(person.email)).location, '/forgot-password?done=asked')
  await world.mailTo(person.email, 5)
  world.service.clock.advance(3_600_001)
  await ask(person.email)
  await world.mailTo(person.email, 6)
})

test('a user without a password gets one by the link; a user who is being deleted gets no mail', async () => {
  const { store, actions } = world.service.app
  const email = 'keys-only@example.test'
  const user = await actions.createUser({ actor: { kind: 'operator' } }, { email })
  await ask(email)
  const path = pathIn(await world.mailTo(email))
  const jar = world.jar()
  const page = await jar.get(path)
  assert.equal((await jar.post(path, { ...page.hidden, newPassword })).status, 303)
  assert.equal((await signIn(world.jar(), { email, password: newPassword })).status, 303)
  await store.users.disarm(user.id, 1)
  await ask(email)
  await world.mailTo(email, 1)
})

test('what is no address gets the same answer', async () => {
  for (const email of ['', 'nobody', 'a@b\u0000c', `${'x'.repeat(5000)}@example.test`])
    assert.equal((await ask(email)).location, '/forgot-password?done=asked')
})

test('429: requests of one address are counted with its sign-ins', async () => {
  const narrow = await startPages({ env: { RATE_LIMIT_SIGNIN: '1' } })
  try {
    const jar = narrow.jar()
    const page = await jar.get('/forgot-password')
    const form = { ...page.hidden, email: 'emma@example.test' }
    assert.equal((await jar.post('/forgot-password', form)).status, 303)
    const refused = await jar.post('/forgot-password', form)
    assert.equal(refused.status, 429)
    assert.match(refused.text, /value="emma@example\.test"/)
    assert.equal((await jar.post(`/reset-password/${'A'.repeat(43)}`, form)).status, 429)
  } finally {
    await narrow.close()
  }
})

test('without a mail server the page says so, and the printed link works', async () => {
  const plain = await startPages()
  try {
    const person = await plain.addPerson()
    const jar = plain.jar()
    const { hidden } = await jar.get('/forgot-password')
    await jar.post('/forgot-password', { ...hidden, email: person.email })
    assert.match((await jar.get('/forgot-password?done=asked')).text, /sends no mail.*in the log/s)
    const lines = plain.service.logLines.filter((line) => line.includes('/reset-password/'))
    assert.equal(lines.length, 1)
    const path = /\/reset-password\/[\w-]{43}/.exec(lines[0] ?? '')?.[0] ?? ''
    const page = await jar.get(path)
    assert.equal((await jar.post(path, { ...page.hidden, newPassword })).status, 303)
    // A link of the log proves nothing about the address.
    const user = await plain.service.app.store.users.find(person.id)
    assert.equal(user?.emailConfirmedAt, null)
  } finally {
    await plain.close()
  }
})

/** Switches a second factor on; its present code. */
async function addFactor(person: Person): Promise<() => string> {
  const settings = await world.enter(person)
  const path = '/settings/second-factor'
  const shown = await settings.get(path)
  const [, secret = ''] = /<output name="secret"[^>]*>([^<]*)<\/output>/.exec(shown.text) ?? []
  const code = () => totpOf(secret, world.service.clock.now())
  const made = await settings.post(path, { ...shown.hidden, code: code() })
  assert.equal(made.status, 303, made.text)
  world.service.clock.advance(30_000)
  return code
}

/** Sets `newPassword` by a mailed link. */
async function reset({ email }: Person, jar = world.jar()): Promise<void> {
  await ask(email)
  const link = pathIn(await world.mailTo(email))
  const page = await jar.get(link)
  assert.equal((await jar.post(link, { ...page.hidden, newPassword })).status, 303)
}

test('a second factor outlives a new password, and the next sign-in asks for it', async () => {
  const person = await addConfirmed()
  const code = await addFactor(person)
  const jar = world.jar()
  await reset(person, jar)
  assert.equal(await world.service.app.store.secondFactors.has(person.id), true)
  const arrived = await signIn(jar, { email: person.email, password: newPassword })
  assert.match(arrived.location ?? '', /^\/sign-in\/code/)
  assert.equal((await jar.get('/keys')).status, 303)
  const { hidden } = await jar.get(arrived.location ?? '')
  assert.equal((await jar.post('/sign-in/code', { ...hidden, code: code() })).status, 303)
  assert.equal((await jar.get('/keys')).status, 200)
})

test('wrong codes are limited without a limit of sign-ins, and a new password allows no more of them', async () => {
  const person = await addConfirmed()
  const code = await addFactor(person)
  const give = async (given: { readonly password: string; readonly code: string }) => {
    const jar = world.jar()
    const arrived = await signIn(jar, { email: person.email, password: given.password })
    const { hidden } = await jar.get(arrived.location ?? '')
    return (await jar.post('/sign-in/code', { ...hidden, code: given.code })).status
  }
  for (let count = 0; count < 10; count += 1) {
    assert.equal(await give({ password, code: 'none' }), 401)
  }
  assert.equal(await give({ password, code: code() }), 429)
  await reset(person)
  assert.equal(await give({ password: newPassword, code: code() }), 429)
})
