/** Passkeys: used to sign in and as second step, and every answer that is refused. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Lies, makeSoftPasskey } from '#tests/support/authenticator.ts'
import type { Jar } from '#tests/support/jar.ts'
import {
  addPasskey,
  addSafePerson,
  arriveAtStep,
  givePasskey,
  homeOf,
  mustAsk,
  namedJar,
  passkeysPath,
  readAsked,
  readCodes,
  readTrail,
  signInPath,
} from './passkey-world.ts'
import { startPages } from './world.ts'

const world = await startPages({ env: { RATE_LIMIT_SIGNIN: '100000' } })
after(() => world.close())

const store = () => world.service.app.store

const isIn = async (jar: Jar) => (await jar.get('/keys')).status === 200

test('a person adds a passkey, gets recovery codes with the first one, and signs in with it alone', async () => {
  const { person, jar, passkey, codes } = await addSafePerson(world)
  assert.equal(codes.length, 10)
  const second = await addPasskey(world, jar, { name: 'phone' })
  assert.equal(second.answer.location, '/settings?done=passkey')
  assert.deepEqual(await readCodes(jar), [])
  const listed = (await jar.get('/settings')).text
  for (const name of ['laptop', 'phone']) assert.match(listed, new RegExp(`>${name}<`))
  assert.match(listed, /never/)
  const { jar: fresh, answer } = await givePasskey(world, passkey)
  assert.deepEqual([answer.status, answer.location], [303, '/keys'], answer.text)
  assert.ok(await isIn(fresh))
  const rows = await store().passkeys.list(person.id)
  assert.deepEqual(
    new Map(rows.map(({ name, lastUsedAt }) => [name, lastUsedAt])),
    new Map([
      ['laptop', world.service.clock.now()],
      ['phone', null],
    ]),
  )
  const entries = await readTrail(world, person)
  assert.ok(entries.includes('account.signed-in {"passkey":true}'), entries.join('\n'))
  for (const { id } of rows) {
    assert.ok(entries.includes(`account.add-passkey {"passkeyId":"${id}"}`))
  }
})

test('the sign-in page asks every visitor for the same: it names no passkey and no person', async () => {
  const { person, passkey } = await addSafePerson(world)
  const [one, other] = [
    await namedJar(world).get('/sign-in'),
    await namedJar(world).get('/sign-in'),
  ]
  for (const page of [one, other]) {
    const { publicKey, fields } = mustAsk(page)
    const { challenge, ...rest } = publicKey
    assert.equal(Buffer.from(challenge, 'base64url').length, 32)
    assert.deepEqual(rest, {
      timeout: 300_000,
      rpId: 'localhost',
      allowCredentials: [],
      userVerification: 'required',
    })
    assert.deepEqual(Object.keys(fields), ['token', 'return', 'challenge'])
    for (const secret of [person.id, passkey.id]) assert.ok(!page.text.includes(secret))
  }
  assert.notEqual(mustAsk(one).publicKey.challenge, mustAsk(other).publicKey.challenge)
  // The form of those who do not use one is the only form, and has its fields in their order.
  assert.deepEqual(
    [...one.text.matchAll(/<input [^>]*name="([^"]+)"/g)].map(([, name]) => name),
    ['token', 'return', 'email', 'password'],
  )
  assert.equal(one.text.match(/<form /g)?.length, 1)
})

test('under an address that passkeys do not belong to, no page offers one', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  assert.equal(readAsked(await world.jar().get('/sign-in')), null)
  const page = await jar.get(passkeysPath)
  assert.equal(readAsked(page), null)
  assert.ok(page.text.includes(`${homeOf(world)}${passkeysPath}`))
})

const refused: Readonly<Record<string, Lies>> = {
  'signed by another key': { isForged: true },
  'for another site': { origin: 'http://localhost:9' },
  'for a site with a longer name': { origin: 'http://localhost.evil.test' },
  'for another name': { rpId: 'evil.test' },
  'without the person’s presence': { isPresent: false },
  'without unlocking it': { isVerified: false },
  'that makes a passkey': { type: 'webauthn.create' },
  'to another challenge': { challenge: Buffer.alloc(32).toString('base64url') },
  'that names nobody': { userHandle: null },
  'that names somebody else': { userHandle: Buffer.from('x').toString('base64url') },
  'of a passkey that is not known': { id: 'A'.repeat(43) },
}

for (const [what, lies] of Object.entries(refused)) {
  test(`401: an answer ${what} signs nobody in, and reads like every refusal`, async () => {
    const { passkey, person } = await addSafePerson(world)
    const { jar, answer } = await givePasskey(world, passkey, lies)
    assert.equal(answer.status, 401)
    assert.match(answer.text, /That passkey was not accepted\. Try again, or sign in another way\./)
    assert.ok(!answer.text.includes(person.email))
    assert.equal(await isIn(jar), false)
    if (lies.id === undefined) {
      assert.ok(
        (await readTrail(world, person)).includes('account.sign-in-refused {"refused":"passkey"}'),
      )
    }
  })
}

test('401: what is no answer at all signs nobody in', async () => {
  const { fields } = mustAsk(await namedJar(world).get('/sign-in'))
  const jar = namedJar(world)
  const page = mustAsk(await jar.get('/sign-in'))
  for (const credential of ['', 'null', '{', '[]', '{"id":"x"}', '{"id":"/","response":{}}']) {
    const answer = await jar.post(signInPath, { ...page.fields, credential })
    assert.equal(answer.status, 401, credential)
  }
  // A form of another browser.
  assert.equal((await jar.post(signInPath, { ...fields, credential: '{}' })).status, 403)
})

test('an answer counts once, also in another browser and after signing out', async () => {
  for (const counts of [true, false]) {
    const { passkey } = await addSafePerson(world, { counts })
    const { jar, form, answer } = await givePasskey(world, passkey)
    assert.equal(answer.status, 303, answer.text)
    const { hidden } = await jar.get('/keys')
    await jar.post('/sign-out', { token: hidden.token ?? '' })
    assert.equal(await isIn(jar), false)
    const again = await jar.post(signInPath, form)
    assert.equal(again.status, 401, again.text)
    assert.equal(await isIn(jar), false)
    const other = namedJar(world)
    const { fields } = mustAsk(await other.get('/sign-in'))
    const stolen = { ...form, token: fields.token ?? '' }
    assert.equal((await other.post(signInPath, stolen)).status, 400)
    assert.equal(await isIn(other), false)
  }
})

test('of two that give the same answer at once, one signs in', async () => {
  const { passkey } = await addSafePerson(world)
  const jar = namedJar(world)
  const { publicKey, fields } = mustAsk(await jar.get('/sign-in'))
  const form = { ...fields, credential: passkey.answer(publicKey) }
  const answers = await Promise.all([1, 2, 3, 4].map(() => jar.post(signInPath, form)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 401, 401, 401])
})

test('400: a page of ten minutes ago is refused with what to do, and the answer is not used up', async () => {
  const { passkey } = await addSafePerson(world)
  const jar = namedJar(world)
  const { publicKey, fields } = mustAsk(await jar.get('/sign-in'))
  world.service.clock.advance(10 * 60_000)
  const form = { ...fields, credential: passkey.answer(publicKey) }
  const late = await jar.post(signInPath, form)
  assert.equal(late.status, 400)
  assert.match(late.text, /This page was open for too long\. Press the button once more\./)
  const again = mustAsk(late)
  const next = { ...again.fields, credential: passkey.answer(again.publicKey) }
  assert.equal((await jar.post(signInPath, next)).status, 303)
})

test('a challenge of one purpose is of no use for another', async () => {
  const { person, passkey, jar } = await addSafePerson(world)
  const step = await arriveAtStep(world, person)
  const asked = mustAsk(step.page)
  const credential = passkey.answer(asked.publicKey)
  const wrong = await step.jar.post(signInPath, { ...asked.fields, credential })
  assert.equal(wrong.status, 400)
  const page = mustAsk(await jar.get(passkeysPath))
  const made = makeSoftPasskey(page.publicKey, homeOf(world))
  const form = { ...page.fields, name: 'x', challenge: asked.fields.challenge ?? '' }
  const answer = await jar.post(passkeysPath, { ...form, credential: made.attestation })
  assert.equal(answer.status, 400)
})

test('a count that does not grow shows a copy of the passkey, which is refused', async () => {
  const { passkey, person } = await addSafePerson(world, { counts: true })
  assert.equal((await givePasskey(world, passkey, { signCount: 40 })).answer.status, 303)
  for (const signCount of [0, 39, 40]) {
    assert.equal(
      (await givePasskey(world, passkey, { signCount })).answer.status,
      401,
      `${signCount}`,
    )
  }
  assert.equal((await givePasskey(world, passkey, { signCount: 4_294_967_295 })).answer.status, 303)
  const [row] = await store().passkeys.list(person.id)
  assert.equal(row?.signCount, 4_294_967_295)
})

test('with a passkey the password leads to a second step, which takes the passkey or a recovery code', async () => {
  const { person, passkey, codes } = await addSafePerson(world)
  const { jar, page } = await arriveAtStep(world, person)
  assert.match(page.text, /<h1>Use your passkey<\/h1>/)
  assert.equal(await isIn(jar), false)
  const { publicKey, fields } = mustAsk(page)
  assert.deepEqual(publicKey.allowCredentials, [
    { type: 'public-key', id: passkey.id, transports: ['internal'] },
  ])
  // The password was given: the passkey need not be unlocked.
  const credential = passkey.answer(publicKey, { isVerified: false, userHandle: null })
  const answer = await jar.post('/sign-in/code', { ...fields, credential })
  assert.deepEqual([answer.status, answer.location], [303, '/keys'], answer.text)
  assert.ok(await isIn(jar))
  const other = await arriveAtStep(world, person)
  const [code = ''] = codes
  const byCode = await other.jar.post('/sign-in/code', { ...other.page.hidden, code })
  assert.equal(byCode.status, 303, byCode.text)
  assert.ok((await readTrail(world, person)).includes('account.used-recovery-code {}'))
})

test('401: the passkey of somebody else is no second step', async () => {
  const { person } = await addSafePerson(world)
  const other = await addSafePerson(world)
  const { jar, page } = await arriveAtStep(world, person)
  const { publicKey, fields } = mustAsk(page)
  for (const lies of [{}, { userHandle: null }]) {
    const credential = other.passkey.answer(publicKey, lies)
    const answer = await jar.post('/sign-in/code', { ...fields, credential })
    assert.equal(answer.status, 401, answer.text)
    assert.match(answer.text, /That passkey was not accepted/)
  }
  assert.equal(await isIn(jar), false)
})

test('429: passkeys count as sign-ins of their address', async () => {
  const limited = await startPages({ env: { RATE_LIMIT_SIGNIN: '3' } })
  try {
    const jar = namedJar(limited)
    const { fields } = mustAsk(await jar.get('/sign-in'))
    const statuses: number[] = []
    for (let tried = 0; tried < 4; tried += 1) {
      statuses.push((await jar.post(signInPath, { ...fields, credential: '{}' })).status)
    }
    assert.deepEqual(statuses, [401, 401, 401, 429])
  } finally {
    await limited.close()
  }
})

test('ten forged answers for a passkey from elsewhere do not keep its owner out in a browser of theirs', async () => {
  const { jar, passkey } = await addSafePerson(world)
  const give = async (browser: Jar, lies: Lies = {}) => {
    const { publicKey, fields } = mustAsk(await browser.get('/sign-in'))
    return browser.post(signInPath, { ...fields, credential: passkey.answer(publicKey, lies) })
  }
  for (let tried = 0; tried < 10; tried += 1) {
    assert.equal((await give(namedJar(world), { isForged: true })).status, 401)
  }
  assert.equal((await give(namedJar(world))).status, 429)
  const known = namedJar(world)
  known.cookies.set('tributary-browser', jar.cookies.get('tributary-browser') ?? '')
  assert.equal((await give(known)).status, 303)
})
