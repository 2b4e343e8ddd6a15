/** The second factor: set up, asked for at the sign-in, recovery codes, switched off, and who is refused. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { Jar } from '#tests/support/jar.ts'
import { totpOf } from '#tests/support/totp.ts'
import { askForConsent, type Person, password, signIn, startPages } from './world.ts'

const path = '/settings/second-factor'
const stepMs = 30_000

const world = await startPages({ env: { RATE_LIMIT_SIGNIN: '100000' } })
after(() => world.close())

const secretOf = (text: string) =>
  /<output name="secret"[^>]*>([^<]*)<\/output>/.exec(text)?.[1] ?? ''
const codeNow = (secret: string) => totpOf(secret, world.service.clock.now())
const nextStep = () => world.service.clock.advance(stepMs)
const hasFactor = ({ id }: Person) => world.service.app.store.secondFactors.has(id)

/** A code that no step around the present one has. */
function wrongCode(secret: string): string {
  const now = world.service.clock.now()
  const right = [-1, 0, 1].map((steps) => totpOf(secret, now + steps * stepMs))
  return ['000000', '111111', '222222', '333333'].find((code) => !right.includes(code)) ?? ''
}

/** Sets the second factor up in this browser; the key and the recovery codes as shown. */
async function setUp(jar: Jar): Promise<{ secret: string; codes: readonly string[] }> {
  const page = await jar.get(path)
  const secret = secretOf(page.text)
  assert.match(secret, /^[A-Z2-7]{32}$/)
  const answer = await jar.post(path, { ...page.hidden, code: codeNow(secret) })
  assert.deepEqual([answer.status, answer.location], [303, path], answer.text)
  const codes = secretOf((await jar.get(path)).text).split('\n')
  assert.equal(codes.length, 10)
  nextStep()
  return { secret, codes }
}

/** A person with a second factor, and the browser in which it was set up. */
async function addSafePerson() {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  return { person, jar, ...(await setUp(jar)) }
}

/** The password in a fresh browser; the page that asks for the code. */
async function arrive({ email }: Person, jar = world.jar(), from = '/sign-in?return=%2Fkeys') {
  const answer = await signIn(jar, { email, password }, from)
  assert.equal(answer.status, 303, answer.text)
  const page = await jar.get(answer.location ?? '')
  return { jar, answer, page }
}

const give = (jar: Jar, hidden: Readonly<Record<string, string>>, code: string) =>
  jar.post('/sign-in/code', { ...hidden, code })

async function trail({ id }: Person): Promise<string[]> {
  const page = { userId: id, after: null, limit: 50 }
  const rows = await world.service.app.store.auditLog.list(page)
  return rows.map(({ action, subject }) => `${action} ${subject}`)
}

test('303: a visitor is redirected to the sign-in, and so is a person whose password was given long ago', async () => {
  assert.equal(
    (await world.jar().get(path)).location,
    `/sign-in?return=${encodeURIComponent(path)}`,
  )
  const jar = await world.enter(await world.addPerson())
  const { hidden } = await jar.get(path)
  world.service.clock.advance(10 * 60_000)
  for (const answer of [await jar.get(path), await jar.post(path, { ...hidden, code: '123456' })]) {
    assert.equal(answer.location, `/sign-in?return=${encodeURIComponent(path)}`)
  }
})

test('the set-up shows a key and its QR code, also after a reload, and switches on with the code of the app', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const page = await jar.get(path)
  const secret = secretOf(page.text)
  assert.match(page.text, /<svg class="qr" role="img" aria-label="[^"]+" viewBox/)
  assert.equal(secretOf((await jar.get(path)).text), secret)
  assert.equal(await hasFactor(person), false)
  const refused = await jar.post(path, { ...page.hidden, code: wrongCode(secret) })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /id="code-problem">Check the code/)
  assert.equal(secretOf(refused.text), secret)
  assert.equal(await hasFactor(person), false)
  const spaced = codeNow(secret).replace(/(...)/, '$1 ')
  const done = await jar.post(path, { ...page.hidden, code: spaced })
  assert.deepEqual([done.status, done.location, done.text], [303, path, ''])
  assert.equal(await hasFactor(person), true)
  const shown = await jar.get(path)
  const codes = secretOf(shown.text).split('\n')
  assert.equal(new Set(codes).size, 10)
  assert.match(shown.text, /10 are left/)
  const again = await jar.get(path)
  for (const text of [shown.text, again.text]) assert.ok(!text.includes(secret))
  for (const code of codes) assert.ok(!again.text.includes(code))
  assert.ok((await trail(person)).includes('account.set-second-factor account'))
})

test('the key belongs to the session that began, and ends after ten minutes', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const secret = secretOf((await jar.get(path)).text)
  const cookie = jar.cookies.get('tributary-set-up') ?? ''
  assert.ok(!Buffer.from(cookie, 'base64url').includes(secret))
  const other = await world.enter(person)
  other.cookies.set('tributary-set-up', cookie)
  assert.notEqual(secretOf((await other.get(path)).text), secret)
  for (const damaged of ['x', cookie.slice(0, -4)]) {
    jar.cookies.set('tributary-set-up', damaged)
    const page = await jar.get(path)
    assert.equal(page.status, 200)
    assert.notEqual(secretOf(page.text), secret)
  }
})

test('who gives the password again in the middle of the set-up, or changes it, goes on with the same key', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  world.service.clock.advance(5 * 60_000)
  const page = await jar.get(path)
  const secret = secretOf(page.text)
  world.service.clock.advance(6 * 60_000)
  const stopped = await jar.post(path, { ...page.hidden, code: codeNow(secret) })
  assert.equal(stopped.location, `/sign-in?return=${encodeURIComponent(path)}`)
  await signIn(jar, { email: person.email, password }, stopped.location ?? '')
  assert.equal(secretOf((await jar.get(path)).text), secret)
  const { hidden } = await jar.get('/settings')
  const newPassword = 'staple battery horse'
  const changed = await jar.post('/settings', { ...hidden, password, newPassword })
  assert.equal(changed.status, 303, changed.text)
  const again = await jar.get(path)
  assert.equal(secretOf(again.text), secret)
  const done = await jar.post(path, { ...again.hidden, code: codeNow(secret) })
  assert.deepEqual([done.status, done.location], [303, path])
})

test('a set-up does not go over to another person who signs in in the same browser, nor past its ten minutes', async () => {
  const [person, other] = [await world.addPerson(), await world.addPerson()]
  const jar = await world.enter(person)
  const secret = secretOf((await jar.get(path)).text)
  world.service.clock.advance(10 * 60_000)
  await signIn(jar, { email: person.email, password })
  const next = secretOf((await jar.get(path)).text)
  assert.notEqual(next, secret)
  world.service.clock.advance(5 * 60_000)
  const { hidden } = await jar.get('/settings')
  await jar.post('/sign-in', { ...hidden, email: other.email, password })
  const shown = secretOf((await jar.get(path)).text)
  assert.ok(![secret, next].includes(shown))
})

test('two tabs: a page with an older key changes nothing and says so; one that is late finds it switched on', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const old = await jar.get(path)
  const oldSecret = secretOf(old.text)
  jar.cookies.delete('tributary-set-up')
  const fresh = await jar.get(path)
  const secret = secretOf(fresh.text)
  const late = await jar.post(path, { ...old.hidden, code: codeNow(oldSecret) })
  assert.equal(late.status, 400)
  assert.match(late.text, /role="alert">That page showed a key that is no longer used/)
  assert.equal(secretOf(late.text), secret)
  assert.equal(await hasFactor(person), false)
  assert.equal((await jar.post(path, { ...fresh.hidden, code: codeNow(secret) })).location, path)
  const after = await jar.post(path, { ...fresh.hidden, code: codeNow(secret) })
  assert.equal(after.location, `${path}?done=already`)
  assert.match(
    (await jar.get(`${path}?done=already`)).text,
    /role="alert">The second factor is on already/,
  )
})

test('the sign-in asks for the code after the password, and knows nothing before it', async () => {
  const { person, secret } = await addSafePerson()
  const { jar, answer, page } = await arrive(person)
  assert.equal(answer.location, '/sign-in/code?return=%2Fkeys')
  assert.equal(jar.cookies.has('tributary'), false)
  assert.ok((await trail(person)).includes('account.sign-in-refused code-missing'))
  assert.match(page.text, /<h1>Enter your code<\/h1>/)
  assert.ok(!page.text.includes(person.email))
  assert.equal((await jar.get('/keys')).location, '/sign-in?return=%2Fkeys')
  const refused = await give(jar, page.hidden, wrongCode(secret))
  assert.equal(refused.status, 401)
  assert.match(refused.text, /id="code-problem">That code is wrong or was used already/)
  assert.equal(jar.cookies.has('tributary'), false)
  const done = await give(jar, page.hidden, codeNow(secret))
  assert.deepEqual([done.status, done.location], [303, '/keys'])
  assert.equal((await jar.get('/keys')).status, 200)
  assert.equal(jar.cookies.has('tributary-code'), false)
  const lines = await trail(person)
  assert.ok(lines.includes('account.sign-in-refused code'))
  assert.equal(lines.filter((line) => line === 'account.signed-in account').length, 2)
})

test('a code is accepted once, also in another browser; the next one is', async () => {
  const { person, secret } = await addSafePerson()
  const [one, other] = [await arrive(person), await arrive(person)]
  const code = codeNow(secret)
  assert.equal((await give(one.jar, one.page.hidden, code)).status, 303)
  const replayed = await give(other.jar, other.page.hidden, code)
  assert.equal(replayed.status, 401)
  assert.match(replayed.text, /used already/)
  nextStep()
  assert.equal((await give(other.jar, other.page.hidden, codeNow(secret))).status, 303)
})

test('the same code from two browsers at once signs in one of them', async () => {
  const { person, secret } = await addSafePerson()
  const both = [await arrive(person), await arrive(person)]
  const code = codeNow(secret)
  const answers = await Promise.all(both.map(({ jar, page }) => give(jar, page.hidden, code)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 401])
  const signedIn = both.filter(({ jar }) => jar.cookies.has('tributary'))
  assert.equal(signedIn.length, 1)
})

test('a recovery code signs in once, in any case and without its hyphens, and is in the audit', async () => {
  const { person, codes } = await addSafePerson()
  const [first = '', second = ''] = codes
  const one = await arrive(person)
  const typed = first.replaceAll('-', ' ').toUpperCase()
  assert.equal((await give(one.jar, one.page.hidden, typed)).status, 303)
  assert.ok((await trail(person)).includes('account.used-recovery-code account'))
  assert.match((await one.jar.get(path)).text, /9 are left/)
  const other = await arrive(person)
  assert.equal((await give(other.jar, other.page.hidden, first)).status, 401)
  assert.equal((await give(other.jar, other.page.hidden, second)).status, 303)
})

test('new recovery codes are shown once and end the former ones', async () => {
  const { person, jar, codes } = await addSafePerson()
  const { hidden } = await jar.get(`${path}/remove`)
  assert.equal((await jar.post(`${path}/codes`, hidden)).location, path)
  const fresh = secretOf((await jar.get(path)).text).split('\n')
  assert.equal(fresh.length, 10)
  assert.equal(secretOf((await jar.get(path)).text), '')
  const { jar: browser, page } = await arrive(person)
  assert.equal((await give(browser, page.hidden, codes[0] ?? '')).status, 401)
  assert.equal((await give(browser, page.hidden, fresh[0] ?? '')).status, 303)
})

test('the note of the password is valid for five minutes, in its own browser, and for the password that was given', async () => {
  const { person, secret } = await addSafePerson()
  const { jar, page } = await arrive(person)
  const note = jar.cookies.get('tributary-code') ?? ''
  const stranger = world.jar()
  await stranger.get('/sign-in')
  stranger.cookies.set('tributary-code', note)
  assert.equal((await stranger.get('/sign-in/code')).location, '/sign-in?return=%2F')
  const late = await arrive(person)
  world.service.clock.advance(300_000)
  const answer = await give(jar, page.hidden, codeNow(secret))
  assert.equal(answer.location, '/sign-in?return=%2Fkeys')
  assert.equal(late.jar.cookies.has('tributary'), false)
  const changed = await arrive(person)
  const next = { password: 'another good password' }
  await world.service.app.actions.setPassword(byOperator, person.id, next)
  const refused = await give(changed.jar, changed.page.hidden, codeNow(secret))
  assert.equal(refused.location, '/sign-in?return=%2Fkeys')
  assert.equal(await hasFactor(person), true)
})

test('without the password no code is taken, and the page of the code leads to the sign-in', async () => {
  const { secret } = await addSafePerson()
  const jar = world.jar()
  const { hidden } = await jar.get('/sign-in')
  assert.equal((await jar.get('/sign-in/code?return=%2Fkeys')).location, '/sign-in?return=%2Fkeys')
  assert.equal((await give(jar, hidden, codeNow(secret))).location, '/sign-in?return=%2F')
  assert.equal((await give(world.jar(), {}, codeNow(secret))).status, 403)
})

test('429: wrong codes count for the account, and the right password does not clear them', async () => {
  const { person, secret } = await addSafePerson()
  for (let count = 0; count < 10; count += 1) {
    const { jar, page } = await arrive(person)
    assert.equal((await give(jar, page.hidden, wrongCode(secret))).status, 401, String(count))
  }
  // The tenth failure is followed by a pause, for the password too.
  const refused = await signIn(world.jar(), { email: person.email, password })
  const { jar, page } = refused.status === 303 ? await arrive(person) : { jar: null, page: null }
  const answer = jar === null ? refused : await give(jar, page.hidden, codeNow(secret))
  assert.equal(answer.status, 429)
  assert.match(answer.text, /Too many attempts\. Try again in/)
})

test('a browser that signed in before has its own count of wrong codes', async () => {
  const { person, jar, secret } = await addSafePerson()
  for (let count = 0; count < 11; count += 1) {
    const guess = await signIn(world.jar(), { email: person.email, password: 'a wrong guess' })
    assert.ok([401, 429].includes(guess.status))
  }
  const page = await jar.get('/')
  await jar.post('/sign-out', page.hidden)
  const { page: asked } = await arrive(person, jar)
  assert.equal((await give(jar, asked.hidden, codeNow(secret))).status, 303)
})

test('giving the password again asks for the code too, and so does the consent of an agent', async () => {
  const { person, jar, secret } = await addSafePerson()
  world.service.clock.advance(10 * 60_000)
  const { page } = await arrive(person, jar, `/sign-in?return=${encodeURIComponent(path)}`)
  assert.match(page.text, /Enter your code/)
  assert.equal((await jar.get(path)).location, `/sign-in?return=${encodeURIComponent(path)}`)
  assert.equal((await give(jar, page.hidden, codeNow(secret))).location, path)
  assert.equal((await jar.get(path)).status, 200)
  nextStep()
  const browser = world.jar()
  const asked = await askForConsent(world.service, browser)
  const first = await browser.get(asked.path)
  const answer = await arrive(person, browser, first.location ?? '')
  assert.match(answer.page.text, /Probe<\/span> is waiting to read your data/)
  assert.equal((await give(browser, answer.page.hidden, codeNow(secret))).location, asked.path)
  assert.equal((await browser.get(asked.path)).status, 200)
})

test('switching off asks once and for a code; cancel and a wrong code keep it', async () => {
  const { person, jar, secret } = await addSafePerson()
  const page = await jar.get(`${path}/remove`)
  assert.match(page.text, /<h1>Switch off the second factor\?<\/h1>/)
  const send = (decision: string, code: string) =>
    jar.post(`${path}/remove`, { ...page.hidden, decision, code })
  assert.equal((await send('cancel', codeNow(secret))).location, path)
  assert.equal(await hasFactor(person), true)
  const refused = await send('confirm', wrongCode(secret))
  assert.equal(refused.status, 400)
  assert.match(refused.text, /id="code-problem">That code is wrong or was used already/)
  assert.equal(await hasFactor(person), true)
  assert.equal((await send('confirm', codeNow(secret))).location, '/settings?done=switched-off')
  assert.equal(await hasFactor(person), false)
  assert.equal((await send('confirm', codeNow(secret))).location, '/settings')
  assert.equal((await signIn(world.jar(), { email: person.email, password })).location, '/')
  assert.equal((await trail(person)).filter((line) => line.startsWith('account.remove')).length, 1)
})

test('a removal that is interrupted changes nothing, and the page after password and code says so', async () => {
  const { person, jar, secret } = await addSafePerson()
  const removal = `${path}/remove`
  const { hidden } = await jar.get(removal)
  world.service.clock.advance(10 * 60_000)
  const stopped = await jar.post(removal, { ...hidden, decision: 'confirm' })
  const { page } = await arrive(person, jar, stopped.location ?? '')
  assert.equal((await give(jar, page.hidden, codeNow(secret))).location, removal)
  assert.match((await jar.get(removal)).text, /role="alert">Nothing was changed/)
  assert.equal(await hasFactor(person), true)
})

test('an operator removes the second factor of a person who lost everything: the password signs in', async () => {
  const { person, jar } = await addSafePerson()
  const { page, jar: waiting } = await arrive(person)
  await world.service.app.actions.resetSecondFactor(byOperator, person.id)
  assert.equal((await give(waiting, page.hidden, '123456')).location, '/sign-in?return=%2Fkeys')
  assert.equal((await signIn(world.jar(), { email: person.email, password })).location, '/')
  assert.equal((await jar.get(`${path}/remove`)).location, '/settings')
  assert.ok((await trail(person)).includes(`users.reset-second-factor ${person.id}`))
})

test('403: a form from elsewhere sets nothing up and switches nothing off', async () => {
  const { person, jar, secret } = await addSafePerson()
  const foreign = { origin: 'https://evil.example' }
  const { hidden } = await jar.get(`${path}/remove`)
  const fields = { ...hidden, decision: 'confirm', code: codeNow(secret) }
  assert.equal((await jar.post(`${path}/remove`, fields, foreign)).status, 403)
  assert.equal((await jar.post(`${path}/codes`, hidden, foreign)).status, 403)
  assert.equal(await hasFactor(person), true)
})

test('no secret of the set-up is in the log or readable in the store', async () => {
  const { secret, codes } = await addSafePerson()
  const log = world.service.logLines.join('')
  const { dataDir } = world.service
  const names = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile())
  const disk = Buffer.concat(
    await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name)))),
  )
  assert.ok(disk.includes('second_factors'))
  for (const text of [secret, ...codes, ...codes.map((code) => code.replaceAll('-', ''))]) {
    assert.ok(!log.includes(text))
    assert.ok(!disk.includes(text))
  }
})
