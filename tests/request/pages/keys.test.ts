/**
 * The page of API keys: what it lists, creating one, its single showing, revoking one, and what is refused.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import { mintKey } from '#auth/keys.ts'
import { byOperator } from '#contract/actor.ts'
import type { Jar } from '#tests/support/jar.ts'
import { type Person, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const secretOf = (text: string) => /<output name="secret"[^>]*>([^<]*)<\/output>/.exec(text)?.[1]

/** The status of a REST request with this key. */
async function read(key: string): Promise<number> {
  const answer = await request(`${world.service.baseUrl}/v1/accounts`, {
    headers: { authorization: `Bearer ${key}` },
  })
  await answer.body.dump()
  return answer.statusCode
}

/** Fills in the form and returns its answer. */
async function create(jar: Jar, fields: { readonly name: string; readonly expires?: string }) {
  const page = await jar.get('/keys')
  return jar.post('/keys', { ...page.hidden, expires: '', ...fields })
}

const keysOf = ({ id }: Person) => world.service.app.store.keys.list(id)

test('F22: a key without a name is refused beside the field', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const answer = await create(jar, { name: ' ', expires: '2027-05-05' })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /id="name-problem">Enter a name/)
  assert.match(answer.text, /value="2027-05-05"/)
  assert.deepEqual(await keysOf(person), [])
})

test('F21: the last day that was chosen is the day that the list shows', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  await create(jar, { name: 'until May', expires: '2027-05-05' })
  assert.match((await jar.get('/keys')).text, /data-label="Expires">end of 5 May 2027</)
})

test('303: a visitor is redirected to the sign-in and back', async () => {
  assert.equal((await world.jar().get('/keys')).location, '/sign-in?return=%2Fkeys')
})

test('a key is created, shown once on the page after the form, and reads at once; a reload does not show it again', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const empty = await jar.get('/keys')
  assert.match(empty.text, /You have no active key/)
  const answer = await create(jar, { name: 'budget <b>' })
  assert.deepEqual([answer.status, answer.location, answer.text], [303, '/keys', ''])
  const shown = await jar.get('/keys')
  const key = secretOf(shown.text) ?? ''
  assert.match(key, /^trib_live_[0-9A-Za-z]{39}$/)
  assert.ok(shown.text.includes(`curl -s -H 'Authorization: Bearer ${key}'`))
  assert.match(shown.text, /budget &lt;b&gt;/)
  assert.equal(await read(key), 200)
  const again = await jar.get('/keys')
  assert.equal(secretOf(again.text), undefined)
  assert.ok(!again.text.includes(key))
  assert.match(again.text, new RegExp(`<code>${key.slice(0, 16)}…</code>`))
  const [row, ...others] = await keysOf(person)
  assert.deepEqual([row?.name, row?.expiresAt, others], ['budget <b>', null, []])
})

test('the command beside a new key asks for transactions where the person has a bank, and answers', async () => {
  const person = await world.addPerson()
  const { sandbox, app } = world.service
  for (const credentials of sandbox.person('healthy'))
    await app.connections.linkConnections(byOperator, person.id, credentials)
  const jar = await world.enter(person)
  await create(jar, { name: 'first' })
  const { text } = await jar.get('/keys')
  const [, url = ''] = /Bearer trib_live_\w+' '([^']*)'</.exec(text) ?? []
  assert.match(url, /\/v1\/transactions\?connectionId=/)
  const answer = await request(url.replaceAll('&amp;', '&'), {
    headers: { authorization: `Bearer ${secretOf(text)}` },
  })
  const body = (await answer.body.json()) as { readonly data: readonly unknown[] }
  assert.equal(answer.statusCode, 200)
  assert.ok(body.data.length > 0)
})

test('the cookie of the showing holds no readable key, belongs to its session, and ends after a minute', async () => {
  const jar = await world.enter(await world.addPerson())
  await create(jar, { name: 'kept' })
  const cookie = jar.cookies.get('tributary-once') ?? ''
  assert.ok(!Buffer.from(cookie, 'base64url').includes('trib_live_'))
  const other = await world.enter(await world.addPerson())
  other.cookies.set('tributary-once', cookie)
  assert.equal(secretOf((await other.get('/keys')).text), undefined)
  for (const damaged of ['x', cookie.slice(0, -4), `${cookie}AAAA`]) {
    jar.cookies.set('tributary-once', damaged)
    const page = await jar.get('/keys')
    assert.deepEqual([page.status, secretOf(page.text)], [200, undefined])
  }
  jar.cookies.set('tributary-once', cookie)
  world.service.clock.advance(60_000)
  assert.equal(secretOf((await jar.get('/keys')).text), undefined)
})

test('a key with a last day is valid to the end of that day in the person’s zone', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  assert.equal((await create(jar, { name: 'short', expires: '2030-04-07' })).status, 303)
  const [row] = await keysOf(person)
  // In Sydney daylight saving ends on that day: the next one begins at +10:00.
  assert.equal(new Date(row?.expiresAt ?? 0).toISOString(), '2030-04-07T14:00:00.000Z')
})

for (const [expires, words] of [
  ['2030-02-30', /Give a day such as 2027-01-31/],
  ['tomorrow', /Give a day such as 2027-01-31/],
  ['2001-01-01', /The last day must lie in the future/],
] as const) {
  test(`400: the last day ${expires} is refused at its field, with the typed values kept`, async () => {
    const person = await world.addPerson()
    const jar = await world.enter(person)
    const answer = await create(jar, { name: 'my &budget', expires })
    assert.equal(answer.status, 400)
    assert.match(answer.text, words)
    assert.match(
      answer.text,
      /id="expires"[^>]*aria-describedby="expires-problem"[^>]*aria-invalid="true"/,
    )
    assert.match(answer.text, /id="name"[^>]*value="my &amp;budget"/)
    assert.deepEqual(await keysOf(person), [])
  })
}

test('400: a name with control characters or over 100 characters is refused at its field', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  for (const name of ['a\u0007b', 'x'.repeat(101)]) {
    const answer = await create(jar, { name })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /id="name-problem">The name must have 1 to 100 characters/)
  }
  assert.deepEqual(await keysOf(person), [])
})

test('409: the twenty-first active key is refused with what to do', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  for (let made = 0; made < 20; made += 1) await create(jar, { name: `key ${made}` })
  const answer = await create(jar, { name: 'one more' })
  assert.equal(answer.status, 409)
  assert.match(answer.text, /role="alert">At most 20 active keys per user; revoke one first/)
  assert.equal((await keysOf(person)).length, 20)
})

test('ten minutes after the password no form is shown, and a posted one leads to the sign-in without a key', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get('/keys')
  world.service.clock.advance(10 * 60_000)
  const page = await jar.get('/keys')
  assert.match(page.text, /href="\/sign-in\?return=%2Fkeys">Confirm your password</)
  assert.doesNotMatch(page.text, /name="expires"/)
  const answer = await jar.post('/keys', { ...hidden, name: 'late', expires: '' })
  assert.deepEqual([answer.status, answer.location], [303, '/sign-in?return=%2Fkeys'])
  assert.deepEqual(await keysOf(person), [])
})

test('revoking asks once; cancel keeps the key, confirm ends it at once and says so', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  await create(jar, { name: 'old laptop' })
  const key = secretOf((await jar.get('/keys')).text) ?? ''
  const [row] = await keysOf(person)
  const path = `/keys/${row?.id}/revoke`
  const question = await jar.get(path)
  assert.match(question.text, /<h1>Revoke this key\?<\/h1>/)
  assert.match(question.text, /old laptop/)
  assert.equal((await jar.post(path, { ...question.hidden, decision: 'cancel' })).location, '/keys')
  assert.equal(await read(key), 200)
  const done = await jar.post(path, { ...question.hidden, decision: 'confirm' })
  assert.equal(done.location, '/keys?done=revoked')
  assert.equal(await read(key), 401)
  const list = await jar.get('/keys?done=revoked')
  assert.match(list.text, /role="status">The key is revoked/)
  assert.match(list.text, /aria-label="Former keys"/)
  // A second confirmation, e.g. by the back button, changes nothing and says so.
  const again = await jar.post(path, { ...question.hidden, decision: 'confirm' })
  assert.equal(again.location, '/keys?done=gone')
  assert.match((await jar.get('/keys?done=gone')).text, /role="status">That key is not active/)
})

test('another user’s key does not exist: it is neither listed nor asked about nor revoked', async () => {
  const owner = await world.addPerson()
  await create(await world.enter(owner), { name: 'not yours' })
  const [row] = await keysOf(owner)
  const stranger = await world.enter(await world.addPerson())
  const page = await stranger.get('/keys')
  assert.ok(!page.text.includes('not yours'))
  for (const id of [row?.id, 'no-id', '00000000-0000-4000-8000-000000000000']) {
    assert.equal((await stranger.get(`/keys/${id}/revoke`)).location, '/keys?done=gone')
    const answer = await stranger.post(`/keys/${id}/revoke`, {
      ...page.hidden,
      decision: 'confirm',
    })
    assert.equal(answer.location, '/keys?done=gone')
  }
  assert.equal((await keysOf(owner))[0]?.revokedAt, null)
})

test('403: a form from elsewhere, or with another browser’s token, creates and revokes nothing', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get('/keys')
  const foreign = { origin: 'https://evil.example' }
  assert.equal((await jar.post('/keys', { ...hidden, name: 'x' }, foreign)).status, 403)
  assert.equal((await jar.post('/keys', { token: 'A'.repeat(43), name: 'x' })).status, 403)
  assert.deepEqual(await keysOf(person), [])
})

test('a plan without API access is said where a key would be made', async () => {
  const jar = await world.enter(await world.addPerson({ plan: 'none' }))
  assert.match((await jar.get('/keys')).text, /Your plan does not include access for programs/)
})

test('creating and revoking are in the audit with the person as the actor', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  await create(jar, { name: 'audited' })
  const [row] = await keysOf(person)
  const page = await jar.get(`/keys/${row?.id}/revoke`)
  await jar.post(`/keys/${row?.id}/revoke`, { ...page.hidden, decision: 'confirm' })
  const entries = await world.service.app.store.auditLog.list({
    userId: person.id,
    after: null,
    limit: 10,
  })
  const own = entries.filter(({ action }) => action.startsWith('keys.'))
  assert.deepEqual(own.map(({ action, actor }) => [action, actor]).sort(), [
    ['keys.create', 'user'],
    ['keys.revoke', 'user'],
  ])
})

test('a page with very many former keys stays below 100 KB and shows the newest', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { keys } = world.service.app.store
  for (let count = 0; count < 150; count += 1) {
    const { prefix, hash } = mintKey()
    const key = { userId: person.id, name: `former ${count}`, prefix, hash, expiresAt: null }
    const { id } = await keys.create({ ...key, createdAt: count })
    await keys.revoke(id, 1000)
  }
  const { text } = await jar.get('/keys')
  assert.ok(Buffer.byteLength(text) < 100_000, `${Buffer.byteLength(text)}`)
  assert.match(text, /former 149</)
  assert.doesNotMatch(text, /former 99</)
  assert.match(text, /Older ones are not shown/)
})

test('a form that is sent twice makes one key, and the page says so; with other fields it is another form', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get('/keys')
  const send = (name: string) => jar.post('/keys', { ...hidden, name, expires: '' })
  const answers = await Promise.all([send('laptop'), send('laptop'), send('laptop')])
  const places = answers.map(({ location }) => location).sort()
  assert.deepEqual(places, ['/keys', '/keys?done=repeated', '/keys?done=repeated'])
  assert.equal((await keysOf(person)).length, 1)
  assert.match(
    (await jar.get('/keys?done=repeated')).text,
    /sent twice, and only the first one counted/,
  )
  assert.equal((await send('phone')).location, '/keys')
  assert.equal((await keysOf(person)).length, 2)
})
