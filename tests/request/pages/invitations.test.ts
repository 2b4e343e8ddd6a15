/** Invitations: what the link of an operator opens, and where nobody can sign up. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { invite, pathIn, startMailed } from './mailed.ts'
import { signIn, startPages } from './world.ts'

const given = { name: 'Grace', password: 'correct horse battery' }
let guests = 0
const newGuest = () => {
  guests += 1
  return `guest-${guests}@example.test`
}

const world = await startMailed({ SIGN_UP: 'invite' })
after(() => world?.close())

test('an invitation is mailed, and its page makes an account with the invited address, signed in and confirmed', async () => {
  const email = newGuest()
  const { url } = await world.invite(email)
  const mail = await world.mailTo(email)
  assert.equal(pathIn(mail), new URL(url).pathname)
  const jar = world.jar()
  const page = await jar.get(pathIn(mail))
  assert.equal(page.status, 200)
  assert.match(page.text, new RegExp(`value="${email}"[^>]* readonly`))
  const answer = await jar.post(pathIn(mail), {
    ...page.hidden,
    ...given,
    email: 'thief@example.test',
  })
  assert.deepEqual([answer.status, answer.location], [303, '/welcome'])
  assert.equal((await jar.get('/welcome')).status, 200)
  const user = await world.service.app.store.users.find(email)
  assert.equal(user?.name, 'Grace')
  assert.notEqual(user?.emailConfirmedAt, null)
  assert.equal(await world.service.app.store.users.find('thief@example.test'), null)
  const entered = await signIn(world.jar(), { email, password: given.password })
  assert.equal(entered.status, 303)
})

test('opening the link uses nothing up, however often; the form uses it once', async () => {
  const { url } = await world.invite(newGuest())
  const path = new URL(url).pathname
  for (let count = 0; count < 5; count += 1) assert.equal((await world.jar().get(path)).status, 200)
  const [one, two] = [world.jar(), world.jar()]
  const [first, second] = [await one.get(path), await two.get(path)]
  const answers = await Promise.all([
    one.post(path, { ...first.hidden, ...given }),
    two.post(path, { ...second.hidden, ...given }),
  ])
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [303, 410])
  const again = await world.jar().get(path)
  assert.equal(again.status, 410)
  assert.match(again.text, /This link cannot be used.*used already/s)
})

test('410: a link that a newer one replaced, that is too old or that was never made says so', async () => {
  const email = newGuest()
  const older = new URL((await world.invite(email)).url).pathname
  const newer = new URL((await world.invite(email)).url).pathname
  const replaced = await world.jar().get(older)
  assert.deepEqual([replaced.status, /A newer one was sent/.test(replaced.text)], [410, true])
  const posted = await world.jar().get(newer)
  world.service.clock.advance(7 * 86_400_000)
  const expired = await world.jar().get(newer)
  assert.deepEqual([expired.status, /too old/.test(expired.text)], [410, true])
  const jar = world.jar()
  await jar.get('/sign-in')
  const late = await jar.post(newer, { ...(await jar.get('/sign-in')).hidden, ...given })
  assert.equal(late.status, 410)
  assert.equal(posted.status, 200)
  for (const path of ['/invitations/x', `/invitations/${'A'.repeat(43)}`, '/invitations/%00']) {
    const { status, text } = await world.jar().get(path)
    assert.equal(status, 410, path)
    assert.match(text, /cut off/)
  }
  assert.equal(await world.service.app.store.users.find(email), null)
})

test('400: what is wrong stands at its field, the name is kept, and the link can still be used', async () => {
  const { url } = await world.invite(newGuest())
  const path = new URL(url).pathname
  const jar = world.jar()
  const page = await jar.get(path)
  const refused = await jar.post(path, { ...page.hidden, name: 'Grace <b>', password: 'short' })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /<small class="problem" id="password-problem">/)
  assert.match(refused.text, /value="Grace &lt;b&gt;"/)
  assert.ok(!refused.text.includes('value="short"'))
  const answer = await jar.post(path, { ...refused.hidden, ...given })
  assert.equal(answer.status, 303)
})

test('400: an address that got an account meanwhile is sent to the sign-in, and the link stays as it is', async () => {
  const email = newGuest()
  const path = new URL((await world.invite(email)).url).pathname
  const made = await world.service.app.actions.createUser(
    { actor: { kind: 'operator' } },
    { email },
  )
  const jar = world.jar()
  const page = await jar.get(path)
  const answer = await jar.post(path, { ...page.hidden, ...given })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /There is an account with this address; sign in instead/)
  assert.equal(await world.service.app.store.sessions.findPassword(made.id), null)
  assert.equal((await world.jar().get(path)).status, 200)
})

test('403: a forged form makes no account', async () => {
  const email = newGuest()
  const path = new URL((await world.invite(email)).url).pathname
  const jar = world.jar()
  const page = await jar.get(path)
  const foreign = { origin: 'https://evil.example' }
  assert.equal((await jar.post(path, { ...page.hidden, ...given }, foreign)).status, 403)
  assert.equal((await jar.post(path, given)).status, 403)
  assert.equal(await world.service.app.store.users.find(email), null)
})

test('403: where SIGN_UP is closed nobody is invited, and no page makes an account', async () => {
  const closed = await startPages({ env: { SIGN_UP: 'closed' } })
  try {
    assert.equal((await invite(closed, 'guest@example.test')).status, 409)
    for (const path of ['/sign-up', `/invitations/${'A'.repeat(43)}`]) {
      const { status, text } = await closed.jar().get(path)
      assert.equal(status, 403)
      assert.match(text, /Nobody can sign up on this server/)
    }
    const jar = closed.jar()
    const { hidden } = await jar.get('/sign-in')
    const form = { ...hidden, ...given, email: 'guest@example.test' }
    assert.equal((await jar.post('/sign-up', form)).status, 403)
    assert.deepEqual(await closed.service.app.store.users.list(), [])
  } finally {
    await closed.close()
  }
})

test('without a mail server the link is one line of the log, and works', async () => {
  const plain = await startPages({ env: { SIGN_UP: 'open' } })
  try {
    const { url } = await invite(plain, 'guest@example.test')
    const lines = plain.service.logLines.filter((line) => line.includes('/invitations/'))
    assert.equal(lines.length, 1)
    const { msg, level } = JSON.parse(lines[0] ?? '') as { msg: string; level: string }
    assert.deepEqual([level, msg.includes(url)], ['warn', true], msg)
    const jar = plain.jar()
    const path = new URL(url).pathname
    const page = await jar.get(path)
    assert.equal((await jar.post(path, { ...page.hidden, ...given })).location, '/welcome')
  } finally {
    await plain.close()
  }
})
