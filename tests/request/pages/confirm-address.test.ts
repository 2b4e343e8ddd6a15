/** The confirmation of an address after an open sign-up, and the notices that need it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { pathIn, startMailed } from './mailed.ts'
import { addPasskey, enterByName } from './passkey-world.ts'
import { connectAgent, signIn } from './world.ts'

let people = 0

const world = await startMailed()
after(() => world?.close())

/** Signs up as a person does; the address and the browser. */
async function signUp() {
  people += 1
  const email = `newcomer-${people}@example.test`
  const jar = world.jar()
  const page = await jar.get('/sign-up')
  const form = { ...page.hidden, name: 'Nora', email, password: 'correct horse battery' }
  assert.equal((await jar.post('/sign-up', form)).status, 303)
  return { email, jar }
}

test('F4: after a sign-up a banner asks for the confirmation until it is done, and nothing else is withheld', async () => {
  const { email, jar } = await signUp()
  const path = pathIn(await world.mailTo(email))
  assert.match((await jar.get('/keys')).text, /class="unconfirmed".*Send the link again/s)
  // On the telephone, where nobody is signed in yet: the button leads to the sign-in and back.
  const elsewhere = world.jar()
  const first = await elsewhere.get(path)
  assert.equal(first.status, 200)
  assert.match((await jar.get('/keys')).text, /class="unconfirmed"/)
  const led = await elsewhere.post(path, first.hidden)
  assert.equal(led.location, `/sign-in?return=${encodeURIComponent(path)}`)
  const given = { email, password: 'correct horse battery' }
  assert.equal((await signIn(elsewhere, given, led.location ?? '')).location, path)
  assert.match((await jar.get('/keys')).text, /class="unconfirmed"/)
  const page = await elsewhere.get(path)
  // A button of the banner would make this very link useless.
  assert.doesNotMatch(page.text, /class="unconfirmed"|Send the link again/)
  const done = await elsewhere.post(path, page.hidden)
  assert.deepEqual([done.status, done.location], [303, '/address-confirmed'])
  assert.equal((await elsewhere.get('/address-confirmed')).status, 200)
  assert.doesNotMatch((await jar.get('/keys')).text, /class="unconfirmed"/)
  assert.equal((await elsewhere.get(path)).status, 410)
  assert.equal((await elsewhere.post(path, page.hidden)).status, 410)
})

test('the link can be sent again, a few times an hour; the newest is valid', async () => {
  const { email, jar } = await signUp()
  const first = pathIn(await world.mailTo(email))
  const { text } = await jar.get('/agents')
  const [, token = ''] =
    /action="\/confirm-address"><input type="hidden" name="token" value="([^"]+)"/.exec(text) ?? []
  const again = () => jar.post('/confirm-address', { token })
  assert.equal((await again()).location, '/confirm-address?done=sent')
  assert.match((await jar.get('/confirm-address?done=sent')).text, /on its way/)
  const second = pathIn(await world.mailTo(email, 2))
  assert.match((await world.jar().get(first)).text, /A newer one was sent/)
  for (let count = 0; count < 3; count += 1) await again()
  assert.equal((await again()).location, '/confirm-address?done=later')
  assert.match((await jar.get('/confirm-address?done=later')).text, /Several links/)
  assert.equal((await world.jar().get(second)).status, 410)
  assert.equal((await jar.post('/confirm-address', { token: 'forged' })).status, 403)
  const { location } = await world.jar().post('/confirm-address', { token: '' })
  assert.equal(location, null)
})

test('whom the operator made is not asked, and gets notices of a new key, agent and passkey, each once', async () => {
  const { actions } = world.service.app
  const email = 'made-by-operator@example.test'
  const password = 'correct horse battery'
  const plan = { plan: 'professional' }
  const by = { actor: { kind: 'operator' } } as const
  const user = await actions.createUser(by, { email, password, ...plan })
  const jar = await world.enter({ id: user.id, email })
  assert.doesNotMatch((await jar.get('/keys')).text, /class="unconfirmed"/)
  const page = await jar.get('/keys')
  await jar.post('/keys', { ...page.hidden, name: 'laptop\u202e', expires: '' })
  const mail = await world.mailTo(email)
  assert.equal(mail.headers.subject, 'A new API key was made')
  assert.match(mail.text, /“laptop” was made in your account.*\n\n.*\n\nhttp:\S+\/keys\n/)
  await actions.createKey(by, user.id, { name: 'from above' })
  assert.match((await world.mailTo(email, 2)).text, /“from above” was made by the operator/)
  await connectAgent(world.service, jar, { name: 'Helpful Harriet' })
  assert.match((await world.mailTo(email, 3)).text, /calls itself “Helpful Harriet”/)
  const named = await enterByName(world, { id: user.id, email })
  await addPasskey(world, named, { name: 'phone\u202e' })
  const notice = await world.mailTo(email, 4)
  assert.equal(notice.headers.subject, 'A passkey was added to your account')
  assert.match(notice.text, /“phone” was added.*\n\n.*\n\nhttp:\S+\/settings\n/)
})

test('an address that is not confirmed gets no notice, and one without an account none at all', async () => {
  const { email, jar } = await signUp()
  await world.mailTo(email)
  const page = await jar.get('/keys')
  await jar.post('/keys', { ...page.hidden, name: 'laptop', expires: '' })
  const backlog = () => world.service.app.store.mails.readBacklog(0)
  for (let look = 0; look < 200 && (await backlog()).waiting > 0; look += 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal((await backlog()).waiting, 0)
  await world.mailTo(email, 1)
})

test('who makes and deletes accounts with an address, again and again, sends it five links an hour', async () => {
  const email = 'flooded@example.test'
  const mails = () => world.server.received.filter(({ to }) => to.includes(email)).length
  for (let round = 0; round < 9; round += 1) {
    const jar = world.jar()
    const page = await jar.get('/sign-up')
    const form = { ...page.hidden, name: 'Eve', email, password: 'correct horse battery' }
    assert.equal((await jar.post('/sign-up', form)).status, 303)
    // What was queued is sent before it is deleted with its account.
    if (round < 5) await world.mailTo(email, round + 1)
    const { hidden } = await jar.get('/settings/delete')
    const done = await jar.post('/settings/delete', { ...hidden, email, decision: 'confirm' })
    assert.equal(done.location, '/deleted')
  }
  const known = await signUp()
  await world.mailTo(known.email)
  assert.equal(mails(), 5)
  world.service.clock.advance(3_600_000)
  const jar = world.jar()
  const page = await jar.get('/sign-up')
  await jar.post('/sign-up', {
    ...page.hidden,
    name: 'Eve',
    email,
    password: 'correct horse battery',
  })
  await world.mailTo(email, 6)
})
