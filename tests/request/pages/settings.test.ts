/** The settings: name and time zone, the password, and the signed-in browsers. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { Jar } from '#tests/support/jar.ts'
import { type Person, password, signIn, startPages } from './world.ts'

const path = '/settings'
const next = 'a quite different password'

const world = await startPages({ env: { RATE_LIMIT_SIGNIN: '100000' } })
after(() => world.close())

const userOf = ({ id }: Person) => world.service.app.store.users.find(id)
const sessionsOf = ({ id }: Person) => world.service.app.store.sessions.list(id)

async function save(jar: Jar, fields: Readonly<Record<string, string>>) {
  const { hidden } = await jar.get(path)
  return jar.post(path, { token: hidden.token ?? '', ...fields })
}

async function trail({ id }: Person): Promise<string[]> {
  const page = { userId: id, after: null, limit: 20 }
  const rows = await world.service.app.store.auditLog.list(page)
  return rows.map(({ actor, action, subject }) => `${actor} ${action} ${subject}`)
}

test('303: a visitor is redirected to the sign-in and back, also with a form', async () => {
  assert.equal((await world.jar().get(path)).location, '/sign-in?return=%2Fsettings')
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get(path)
  await world.service.app.actions.setPassword(byOperator, person.id, { password: next })
  const answer = await jar.post(path, { ...hidden, name: 'Nobody' })
  assert.ok([303, 403].includes(answer.status))
  assert.equal((await userOf(person))?.name, 'Emma')
})

test('name and time zone are saved, with an audit row for what changed, and a new zone outdates cached answers', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const page = await jar.get(path)
  assert.match(page.text, /id="timezone"[^>]*value="Australia\/Sydney"/)
  assert.match(page.text, /<option value="Pacific\/Auckland">/)
  const epoch = async () => (await world.service.app.store.users.findAccess(person.id))?.epoch ?? 0
  const before = await epoch()
  world.service.clock.advance(1000)
  const answer = await save(jar, { name: ' Aroha <3 ', timezone: 'Pacific/Auckland' })
  assert.deepEqual([answer.status, answer.location], [303, '/settings?done=saved'])
  const shown = await jar.get('/settings?done=saved')
  assert.match(shown.text, /role="status">Saved/)
  assert.match(shown.text, /id="name"[^>]*value="Aroha &lt;3"/)
  const user = await userOf(person)
  assert.deepEqual([user?.name, user?.timezone], ['Aroha <3', 'Pacific/Auckland'])
  assert.equal(await epoch(), before + 1)
  assert.deepEqual((await trail(person)).slice(0, 2).sort(), [
    'user account.set-name account',
    'user account.set-timezone Pacific/Auckland',
  ])
  const count = (await trail(person)).length
  await save(jar, { name: 'Aroha <3', timezone: 'Pacific/Auckland' })
  assert.equal((await trail(person)).length, count, 'what did not change is not written')
  assert.equal((await save(jar, { name: '' })).status, 303)
  assert.deepEqual(
    [(await userOf(person))?.name, (await userOf(person))?.timezone],
    [null, 'Pacific/Auckland'],
  )
})

for (const [field, value, words] of [
  ['timezone', 'Mars/Olympus', /The time zone must be an IANA time zone/],
  ['timezone', '', /The time zone must be an IANA time zone/],
  ['timezone', '+10:00', /The time zone must be an IANA time zone/],
  ['name', 'x'.repeat(101), /The name must have at most 100 characters/],
] as const) {
  test(`400: ${field} “${value.slice(0, 12)}” is refused at its field, with the typed values kept and nothing saved`, async () => {
    const person = await world.addPerson()
    const jar = await world.enter(person)
    const answer = await save(jar, { name: 'Typed', timezone: 'Pacific/Auckland', [field]: value })
    assert.equal(answer.status, 400)
    assert.match(answer.text, new RegExp(`id="${field}-problem">${words.source}`))
    const other = field === 'name' ? 'Pacific/Auckland' : 'Typed'
    assert.match(answer.text, new RegExp(`value="${other}"`))
    assert.deepEqual(
      [(await userOf(person))?.name, (await userOf(person))?.timezone],
      ['Emma', null],
    )
  })
}

test('a new password ends every other session and keeps this one under a new cookie', async () => {
  const person = await world.addPerson()
  const [jar, other] = [await world.enter(person), await world.enter(person)]
  const cookie = jar.cookies.get('tributary')
  const answer = await save(jar, { password, newPassword: next })
  assert.deepEqual([answer.status, answer.location], [303, '/settings?done=password'])
  assert.notEqual(jar.cookies.get('tributary'), cookie)
  assert.match((await jar.get(answer.location ?? '')).text, /role="status">The password is changed/)
  assert.equal((await other.get(path)).location, '/sign-in?return=%2Fsettings')
  assert.equal((await sessionsOf(person)).length, 1)
  assert.equal((await signIn(world.jar(), { email: person.email, password })).status, 401)
  assert.equal((await signIn(world.jar(), { email: person.email, password: next })).status, 303)
  assert.ok((await trail(person)).includes('user account.set-password account'))
  // A copy of the former cookie is worth nothing.
  jar.cookies.set('tributary', cookie ?? '')
  assert.equal((await jar.get(path)).status, 303)
})

test('400: a wrong present password and a short new one are refused at their fields, and nothing changes', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const wrong = await save(jar, { password: 'not my password', newPassword: next })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /id="password-problem">This is not your password/)
  const short = await save(jar, { password, newPassword: 'short' })
  assert.equal(short.status, 400)
  assert.match(short.text, /id="newPassword-problem">Choose a password of 10 to 256/)
  for (const text of [wrong.text, short.text]) assert.ok(!text.includes(next))
  assert.equal((await signIn(world.jar(), { email: person.email, password })).status, 303)
  assert.ok((await trail(person)).some((line) => line.endsWith('account.sign-in-refused account')))
})

test('429: wrong present passwords count like those of a sign-in', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  for (let count = 0; count < 10; count += 1) {
    assert.equal((await save(jar, { password: `guess ${count}`, newPassword: next })).status, 400)
  }
  const answer = await save(jar, { password: 'guess again', newPassword: next })
  assert.equal(answer.status, 429)
  assert.match(answer.text, /role="alert">Too many attempts\. Try again in/)
})

test('ten minutes after the password it can still be changed, since the form asks for it', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  world.service.clock.advance(10 * 60_000)
  assert.match((await jar.get(path)).text, /name="newPassword"/)
  const answer = await save(jar, { password, newPassword: next })
  assert.equal(answer.location, '/settings?done=password')
  assert.match((await jar.get(answer.location ?? '')).text, /The password is changed/)
  assert.equal((await signIn(world.jar(), { email: person.email, password: next })).status, 303)
})

/** A browser that says what it is. */
async function enterAs(person: Person, agent: string): Promise<Jar> {
  const jar = world.jar()
  const { hidden } = await jar.get('/sign-in')
  const given = { ...hidden, email: person.email, password }
  assert.equal((await jar.post('/sign-in', given, { 'user-agent': agent })).status, 303)
  return jar
}

const windows = 'Mozilla/5.0 (Windows NT 10.0; rv:145.0) Gecko/20100101 Firefox/145.0'

test('signed-in browsers are listed in plain words with their address, this one marked', async () => {
  const person = await world.addPerson()
  await enterAs(person, windows)
  const jar = await enterAs(person, `<b>curl</b> ${'x'.repeat(300)}`)
  const { text } = await jar.get(path)
  assert.match(text, /Firefox on Windows<\/span> <small class="place">127\.0\.0\.1/)
  assert.match(text, /&lt;b&gt;curl&lt;\/b&gt; x+…/)
  assert.equal(text.match(/<strong>this browser<\/strong>/g)?.length, 1)
  const rows = await sessionsOf(person)
  assert.deepEqual(rows.map(({ agent }) => agent?.length).sort(), [windows.length, 256].sort())
  assert.ok(rows.every(({ address }) => address === '127.0.0.1'))
})

test('one browser is signed out from another: its next request and its forms lead to the sign-in', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const lost = await enterAs(person, windows)
  const form = await lost.get('/keys')
  const page = await jar.get(path)
  const id = /name="session" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const end = (session: string) =>
    jar.post(`${path}/sessions/end`, { token: page.hidden.token ?? '', session })
  assert.equal((await end(id)).location, '/settings?done=ended')
  assert.equal((await end(id)).location, '/settings', 'a second time there is nothing to end')
  assert.equal((await lost.get('/keys')).location, '/sign-in?return=%2Fkeys')
  const late = await lost.post('/keys', { ...form.hidden, name: 'late', expires: '' })
  assert.ok([303, 403].includes(late.status))
  assert.deepEqual(await world.service.app.store.keys.list(person.id), [])
  assert.ok((await trail(person)).includes(`user account.end-session ${id}`))
  assert.equal((await jar.get(path)).status, 200)
})

test('nobody ends another person’s session', async () => {
  const owner = await world.addPerson()
  const kept = await world.enter(owner)
  const [session] = await sessionsOf(owner)
  const stranger = await world.enter(await world.addPerson())
  const { hidden } = await stranger.get(path)
  for (const id of [session?.id ?? '', 'no-id', '00000000-0000-4000-8000-000000000000']) {
    const answer = await stranger.post(`${path}/sessions/end`, { ...hidden, session: id })
    assert.equal(answer.location, path)
  }
  assert.equal((await kept.get(path)).status, 200)
})

test('signing out everywhere else keeps this browser alone', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const others = [await world.enter(person), await world.enter(person)]
  const { hidden } = await jar.get(path)
  const done = await jar.post(`${path}/sessions/end-others`, hidden)
  assert.equal(done.location, '/settings?done=ended')
  for (const other of others) assert.equal((await other.get(path)).status, 303)
  assert.equal((await jar.get(path)).status, 200)
  assert.ok((await trail(person)).includes('user account.end-other-sessions 2'))
  assert.doesNotMatch((await jar.get(path)).text, /Sign out everywhere else/)
})

test('403: a form from elsewhere changes nothing', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get(path)
  const foreign = { origin: 'https://evil.example' }
  assert.equal((await jar.post(path, { ...hidden, name: 'Evil' }, foreign)).status, 403)
  assert.equal((await jar.post(`${path}/sessions/end-others`, hidden, foreign)).status, 403)
  assert.equal((await userOf(person))?.name, 'Emma')
})

test('very many signed-in browsers leave the page small: this one, the last seen, and how many more', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { sessions } = world.service.app.store
  const passwordHash = (await sessions.findPassword(person.id)) ?? assert.fail('no password')
  for (let count = 1; count < 60; count += 1) {
    const at = world.service.clock.now() + 1000 + count
    const agent = '&'.repeat(256)
    await sessions.create({ userId: person.id, hash: randomBytes(32), at, passwordHash, agent })
  }
  const { text } = await jar.get(path)
  assert.ok(Buffer.byteLength(text) < 100_000, `${Buffer.byteLength(text)}`)
  assert.equal(text.match(/<strong>this browser<\/strong>/g)?.length, 1)
  assert.equal(text.match(/name="session"/g)?.length, 24)
  assert.match(text, /And 35 more that were seen earlier/)
})
