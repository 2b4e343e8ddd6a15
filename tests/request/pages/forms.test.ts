/** A post counts only when it comes from a page of ours: cross-site posts, borrowed tokens, foreign names. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { formLimits } from '#auth/sign-in/form-limit.ts'
import type { Jar } from '#tests/support/jar.ts'
import { connectAgent, password, startPages } from './world.ts'

const world = await startPages()
const person = await world.addPerson()
after(() => world.close())

/** What each form would do, and how one sees that it was not done. */
async function forms(jar: Jar) {
  const agent = await connectAgent(world.service, jar)
  const page = await jar.get('/agents')
  return {
    agent,
    token: page.hidden.token ?? '',
    posts: [
      ['/sign-out', {}],
      ['/agents/disconnect', { grant: page.hidden.grant ?? '' }],
      ['/sign-in', { email: person.email, password }],
      ['/sign-up', { name: 'E', email: 'new@example.test', password }],
    ] as const,
  }
}

async function assertNothingHappened(jar: Jar): Promise<void> {
  const page = await jar.get('/agents')
  assert.equal(page.status, 200, 'still signed in')
  assert.ok((page.hidden.grant ?? '') !== '', 'still connected')
  assert.equal(await world.service.app.store.users.find('new@example.test'), null)
}

test('403: a post from another origin does nothing, whatever token it has', async () => {
  const jar = await world.enter(person)
  const { token, posts } = await forms(jar)
  const { port } = new URL(world.service.baseUrl)
  const origins = [
    'https://evil.test',
    'null',
    `http://127.0.0.1:${Number(port) + 1}`,
    `https://127.0.0.1:${port}`,
    `http://127.0.0.1.evil.test:${port}`,
    `http://localhost:${port}`,
    world.service.adminUrl,
  ]
  for (const [path, fields] of posts) {
    for (const origin of origins) {
      const answer = await jar.post(path, { token, ...fields }, { origin })
      assert.equal(answer.status, 403, `${path} from ${origin}`)
      assert.match(answer.text, /That form has expired/)
    }
    const site = { origin: '', 'sec-fetch-site': 'cross-site' }
    assert.equal((await jar.post(path, { token, ...fields }, site)).status, 403)
    const sibling = { origin: '', 'sec-fetch-site': 'same-site' }
    assert.equal((await jar.post(path, { token, ...fields }, sibling)).status, 403)
  }
  await assertNothingHappened(jar)
})

test('403: a post without the token of this browser’s own form does nothing', async () => {
  const jar = await world.enter(person)
  const { posts } = await forms(jar)
  const stranger = (await world.jar().get('/sign-in')).hidden.token ?? ''
  const other = await world.enter(await world.addPerson())
  const theirs = (await other.get('/agents')).hidden.token ?? ''
  for (const [path, fields] of posts) {
    for (const token of [
      '',
      stranger,
      theirs,
      jar.cookies.get('tributary') ?? '',
      'x'.repeat(43),
    ]) {
      const answer = await jar.post(path, { token, ...fields })
      assert.equal(answer.status, 403, `${path} with "${token}"`)
    }
  }
  await assertNothingHappened(jar)
})

test('403: while somebody is signed in, a token from before the sign-in decides nothing', async () => {
  const jar = world.jar()
  const early = (await jar.get('/sign-in')).hidden
  await jar.post('/sign-in', { ...early, email: person.email, password })
  const { posts } = await forms(jar)
  for (const [path, fields] of posts.slice(0, 2)) {
    const answer = await jar.post(path, { ...early, ...fields })
    assert.equal(answer.status, 403, path)
  }
  await assertNothingHappened(jar)
})

test('403: without any cookie a token is worth nothing', async () => {
  const jar = world.jar()
  const page = await jar.get('/sign-in')
  const bare = world.jar()
  const answer = await bare.post('/sign-in', { ...page.hidden, email: person.email, password })
  assert.equal(answer.status, 403)
  assert.equal(bare.cookies.has('tributary'), false)
  assert.equal(bare.cookies.has('tributary-visitor'), true, 'the next form will work')
})

test('a loopback name counts as ours where it is the one that was asked', async () => {
  const { port } = new URL(world.service.baseUrl)
  for (const name of [`localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
    const jar = world.jar()
    const page = await jar.get('/sign-in', { host: name })
    assert.equal(page.status, 200, name)
    const form = { ...page.hidden, email: person.email, password }
    const headers = { host: name, origin: `http://${name}` }
    assert.equal((await jar.post('/sign-in', form, headers)).status, 303, name)
  }
})

test('400: under a name that is none of ours no page is shown and no form taken', async () => {
  const jar = await world.enter(person)
  const { hidden } = await jar.get('/agents')
  for (const host of [
    'evil.test',
    'localhost.evil.test',
    '127.0.0.2',
    'localhost:x',
    'a b',
    '@localhost',
  ]) {
    const page = await jar.get('/', { host })
    assert.equal(page.status, 400, host)
    assert.ok(!page.text.includes(person.email))
    assert.equal(page.headers['set-cookie'], undefined)
    const posted = await jar.post('/sign-out', hidden, { host, origin: `http://${host}` })
    assert.equal(posted.status, 400, host)
  }
  assert.equal((await jar.get('/agents')).status, 200)
})

test('429: more forms in a minute than anybody needs change nothing, and others are served', async () => {
  const busy = await world.addPerson()
  const jar = await world.enter(busy)
  const { hidden } = await jar.get('/settings')
  for (let sent = 0; sent < formLimits.perMinute; sent += 1) {
    const answer = await jar.post('/settings', { ...hidden, name: `Emma ${sent}` })
    assert.equal(answer.status, 303)
  }
  const refused = await jar.post('/settings', { ...hidden, name: 'Too often' })
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '60'])
  assert.match(refused.text, /Nothing was changed\. Too many attempts\. Try again in 60 seconds/)
  const row = await world.service.app.store.users.find(busy.id)
  assert.equal(row?.name, `Emma ${formLimits.perMinute - 1}`)
  assert.equal((await jar.get('/settings')).status, 200)
  const other = await world.enter(person)
  const form = { ...(await other.get('/settings')).hidden, name: 'Mia' }
  assert.equal((await other.post('/settings', form)).status, 303)
})

test('F29, 403: a form that another tab outlived by signing out says so, and leads to the sign-in', async () => {
  const jar = await world.enter(person)
  const open = (await jar.get('/keys')).hidden
  const { token } = (await jar.get('/')).hidden
  assert.equal((await jar.post('/sign-out', { token: token ?? '' })).status, 303)
  await jar.get('/sign-in')
  const answer = await jar.post('/keys', { ...open, name: 'late', expires: '' })
  assert.equal(answer.status, 403)
  assert.match(
    answer.text,
    /Nothing was changed: you are signed out in this browser.*<a href="\/sign-in">Sign in<\/a><\/p><\/article>/,
  )
})
