/**
 * What was typed survives the confirmation of the password and a sign-in that has ended (F1), and a page says
 * what was done once, to the browser that did it (F20).
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Fields, Jar } from '#tests/support/jar.ts'
import type { ServiceUser } from '#tests/support/service.ts'
import { type Person, password, signIn, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

/** Sends a form ten minutes after the password and signs in again. */
async function interrupt(path: string, fields: Fields, end: 'password' | 'session' = 'password') {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get(path)
  if (end === 'password') world.service.clock.advance(10 * 60_000)
  else await endSessions(person)
  const refused = await jar.post(path, { ...hidden, ...fields })
  return { person, jar, refused }
}

async function endSessions({ id }: Person): Promise<void> {
  const { sessions } = world.service.app.store
  for (const session of await sessions.list(id)) await sessions.delete(id, session.id)
}

async function comeBack(jar: Jar, { email }: Person, path: string) {
  const answer = await signIn(
    jar,
    { email, password },
    `/sign-in?return=${encodeURIComponent(path)}`,
  )
  assert.equal(answer.location, path)
  return jar.get(path)
}

test('F1: the fields of a key are filled in again after the password was confirmed', async () => {
  const { person, jar, refused } = await interrupt('/keys', {
    name: 'budget "home"',
    expires: '2027-05-05',
  })
  assert.equal(refused.location, '/sign-in?return=%2Fkeys')
  const { text } = await comeBack(jar, person, '/keys')
  assert.match(
    text,
    /role="alert">Nothing was changed, because you had to sign in first\. What you typed is filled in again/,
  )
  assert.match(text, /name="name"[^>]* value="budget &quot;home&quot;"/)
  assert.match(text, /name="expires"[^>]* value="2027-05-05"/)
  assert.doesNotMatch((await jar.get('/keys')).text, /budget &quot;home|Nothing was changed/)
})

test('F1: the address and the choice of a webhook endpoint are filled in again after the sign-in had ended', async () => {
  const url = `https://example.test/${'h'.repeat(1900)}`
  const fields = { url, events: 'trades.synced', skipEmpty: 'true' }
  const { person, jar } = await interrupt('/webhooks', fields, 'session')
  const { text } = await comeBack(jar, person, '/webhooks')
  assert.ok(text.includes(`value="${url}"`))
  assert.doesNotMatch(text, /value="transactions\.synced"[^>]* checked/)
  assert.match(text, /value="trades\.synced"[^>]* checked/)
  assert.match(text, /name="skipEmpty"[^>]* checked/)
})

test('F1: the name of a connection is filled in again on its page, where the form stands, after the sign-in had ended', async () => {
  const person = await world.addPerson()
  const linked = person as unknown as ServiceUser
  const [row] = await world.service.link(linked, 'healthy', 'fiskil')
  const jar = await world.enter(person)
  const path = `/connections/${row?.id}`
  const { hidden } = await jar.get(path)
  await endSessions(person)
  await jar.post(path, { ...hidden, label: 'House account' })
  const { text } = await comeBack(jar, person, path)
  assert.match(text, /role="alert">Nothing was changed, .* What you typed is filled in again/)
  assert.match(text, /name="label"[^>]* value="House account"/)
  assert.doesNotMatch((await jar.get(path)).text, /House account|Nothing was changed/)
})

test('F1: what one person typed is not shown to another one who signs in afterwards', async () => {
  const { jar } = await interrupt('/keys', { name: 'a secret plan', expires: '' }, 'session')
  const other = await world.addPerson()
  const { text } = await comeBack(jar, other, '/keys')
  assert.match(text, /because you had to sign in first\. Fill in the form again/)
  assert.doesNotMatch(text, /a secret plan/)
})

test('F1: no cookie holds what was typed in the clear, or a password at all', async () => {
  const typed = { name: 'plain words', expires: '', password: 'correct horse battery' }
  const { jar } = await interrupt('/keys', typed)
  const kept = jar.cookies.get('tributary-interrupted') ?? ''
  assert.ok(kept.length > 40)
  assert.doesNotMatch(
    Buffer.from(kept, 'base64url').toString('latin1'),
    /plain words|correct horse/,
  )
})

test('F1: a form that is longer than a cookie is not filled in, and the page says so', async () => {
  const { person, jar } = await interrupt('/keys', { name: 'n'.repeat(5000), expires: '' })
  const { text } = await comeBack(jar, person, '/keys')
  assert.match(text, /because you had to sign in first\. Fill in the form again/)
})

test('F20: a link from elsewhere cannot make a page say what was not done, and a reload does not say it again', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  for (const path of ['/settings?done=password', '/settings?done=switched-off']) {
    assert.doesNotMatch((await jar.get(path)).text, /class="done"/)
  }
  assert.doesNotMatch((await jar.get('/connections?done=removed')).text, /class="done"/)
  const { hidden } = await jar.get('/settings')
  const saved = await jar.post('/settings', { ...hidden, name: 'Ada', timezone: 'Europe/London' })
  assert.equal(saved.location, '/settings?done=saved')
  // The note is for the page that the form led to.
  assert.doesNotMatch((await jar.get('/keys?done=saved')).text, /class="done"/)
  assert.match((await jar.get('/settings?done=saved')).text, /class="done" role="status">Saved/)
  assert.doesNotMatch((await jar.get('/settings?done=saved')).text, /class="done"/)
})

test('F20: a link that leads through the sign-in cannot make a page say what was not done either', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  for (const there of ['/settings?done=password', '/settings?x=1&%64one=switched-off']) {
    const link = `/sign-in?return=${encodeURIComponent(there)}`
    // Who has just signed in is led on at once, anybody else after the sign-in.
    assert.equal((await jar.get(link)).location, '/settings')
    assert.doesNotMatch((await jar.get(there)).text, /class="done"/)
    const answer = await signIn(world.jar(), { email: person.email, password }, link)
    assert.equal(answer.location, '/settings')
  }
  const query = '/connections?look=1&q=done'
  assert.equal((await jar.get(`/sign-in?return=${encodeURIComponent(query)}`)).location, query)
})

test('F9: the first wrong field has the focus, and the title says that something is wrong', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get('/keys')
  const answer = await jar.post('/keys', { ...hidden, name: 'x'.repeat(300), expires: '' })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /<title>Error: API keys/)
  assert.match(answer.text, /<input id="name"[^>]* aria-invalid="true" autofocus/)
})

test('the forms of two tabs are both filled in again, each once, whichever is opened first', async () => {
  for (const order of [
    ['/keys', '/webhooks'],
    ['/webhooks', '/keys'],
  ]) {
    const person = await world.addPerson()
    const jar = await world.enter(person)
    const [keys, webhooks] = [await jar.get('/keys'), await jar.get('/webhooks')]
    world.service.clock.advance(10 * 60_000)
    await jar.post('/keys', { ...keys.hidden, name: 'the first tab', expires: '' })
    await jar.post('/webhooks', { ...webhooks.hidden, url: 'https://second.test' })
    const [first = '', second = ''] = order
    const pages = [await comeBack(jar, person, first), await jar.get(second)]
    const typed = { '/keys': 'the first tab', '/webhooks': 'https://second.test' }
    for (const [at, path] of order.entries()) {
      assert.ok(pages[at]?.text.includes(`value="${typed[path as keyof typeof typed]}"`), path)
      assert.doesNotMatch((await jar.get(path)).text, /Nothing was changed/)
    }
  }
})

test('of two forms that are too long together the earlier one is not filled in, and its page says so', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const [keys, webhooks] = [await jar.get('/keys'), await jar.get('/webhooks')]
  world.service.clock.advance(10 * 60_000)
  await jar.post('/keys', { ...keys.hidden, name: 'k'.repeat(1000), expires: '' })
  await jar.post('/webhooks', { ...webhooks.hidden, url: `https://a.test/${'h'.repeat(1900)}` })
  const cookies = [...jar.cookies].filter(([name]) => name.startsWith('tributary-interrupted'))
  assert.equal(cookies.length, 2)
  assert.ok(cookies.map(([, value]) => value.length).reduce((sum, one) => sum + one) < 4096)
  const page = await comeBack(jar, person, '/keys')
  assert.match(
    page.text,
    /Nothing was changed, because you had to sign in first\. Fill in the form/,
  )
  assert.ok((await jar.get('/webhooks')).text.includes('h'.repeat(1900)))
})
