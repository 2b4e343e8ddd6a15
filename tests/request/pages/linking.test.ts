/** Linking in the browser: the choice, the way to a provider's page and back, every end, and refusals. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import { byOperator } from '#contract/actor.ts'
import type { Jar, PageAnswer } from '#tests/support/jar.ts'
import { type Person, password, signIn, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const newPath = '/connections/new'
const rowsOf = ({ id }: Person) => world.service.app.store.connections.list(id)
const loginsOf = ({ id }: Person) => world.service.app.store.logins.list(id)

async function visitor() {
  const person = await world.addPerson()
  return { person, jar: await world.enter(person) }
}

/** Chooses a bank of Fiskil; the answer of the form. */
async function choose(jar: Jar, institution = '41'): Promise<PageAnswer> {
  const page = await jar.get(`${newPath}?provider=fiskil`)
  assert.equal(page.status, 200, page.text)
  return jar.post(newPath, { ...page.hidden, provider: 'fiskil', institution })
}

/** Decides on the provider's page; the address to which it sends the browser, as a path here. */
async function decide(address: string | null, decision: 'allow' | 'deny'): Promise<string> {
  const page = new URL(address ?? '')
  const answer = await request(page, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      sess_id: page.searchParams.get('sess_id') ?? '',
      decision,
    }).toString(),
  })
  await answer.body.dump()
  const back = new URL(String(answer.headers.location))
  assert.equal(back.origin, world.service.baseUrl)
  return back.pathname + back.search
}

test('303: a visitor is led to the sign-in and back', async () => {
  const answer = await world.jar().get(newPath)
  assert.equal(answer.location, '/sign-in?return=%2Fconnections%2Fnew')
})

test('a bank is chosen, agreed to, and linked; the connection is the page that follows', async () => {
  const { person, jar } = await visitor()
  const first = await jar.get(newPath)
  assert.match(first.text, /href="\/connections\/new\?provider=fiskil"><strong>Banks in Australia</)
  const left = await choose(jar)
  assert.equal(left.status, 303)
  const back = await decide(left.location, 'allow')
  const done = await jar.get(back)
  const [row, ...others] = await rowsOf(person)
  assert.deepEqual([done.status, done.location], [303, `/connections/${row?.id}?done=linked`])
  assert.deepEqual([row?.institutionId, row?.status, others.length], ['41', 'active', 0])
  assert.ok((await world.service.app.store.accounts.list(person.id)).length > 0)
  assert.equal((await loginsOf(person)).length, 1)
  assert.match((await jar.get(done.location ?? '')).text, /See the first answer/)
  // The same return again, by reload or back button, changes nothing.
  const again = await jar.get(back)
  assert.deepEqual([again.status, again.location], [303, done.location])
  assert.equal((await rowsOf(person)).length, 1)
})

/** Chooses and decides; the path of the return. */
async function agree(jar: Jar, institution?: string): Promise<string> {
  return decide((await choose(jar, institution)).location, 'allow')
}

test('a second bank is added to the same login at the provider', async () => {
  const { person, jar } = await visitor()
  await jar.get(await agree(jar, '41'))
  await jar.get(await agree(jar, '22'))
  assert.deepEqual((await rowsOf(person)).map(({ institutionId }) => institutionId).sort(), [
    '22',
    '41',
  ])
  assert.equal((await loginsOf(person)).length, 1)
})

test('two tabs at once make one login; each link can be ended', async () => {
  const { person, jar } = await visitor()
  const page = await jar.get(`${newPath}?provider=fiskil`)
  const post = (institution: string) =>
    jar.post(newPath, { ...page.hidden, provider: 'fiskil', institution })
  const answers = await Promise.all([post('22'), post('41')])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [303, 303],
  )
  assert.equal((await loginsOf(person)).length, 1)
  for (const { location } of answers) {
    assert.equal((await jar.get(await decide(location, 'allow'))).status, 303)
  }
  assert.equal((await rowsOf(person)).length, 2)
})

test('who declines on the provider’s page reads that nothing was linked, with one button', async () => {
  const { person, jar } = await visitor()
  const back = await decide((await choose(jar)).location, 'deny')
  const page = await jar.get(back)
  assert.equal(page.status, 200)
  assert.match(page.text, /<h1>Nothing was linked<\/h1>/)
  assert.match(page.text, /href="\/connections\/new\?provider=fiskil" class="button"/)
  assert.deepEqual(await rowsOf(person), [])
  const again = await jar.get(back)
  assert.deepEqual([again.status, again.text], [200, page.text])
})

for (const [type, words] of [
  ['AUTH_SESSION_INVALID', /was open too long/],
  ['CONSENT_OTP_FAILURE', /sign-in was refused/],
  ['CONSENT_ENDUSER_INELIGIBLE', /cannot be shared/],
  ['CONSENT_UPSTREAM_PROCESSING_ERROR', /did not work this time/],
  ['SOMETHING_NEW', /did not work this time/],
] as const) {
  test(`a return with ${type} says what happened and links nothing`, async () => {
    const { person, jar } = await visitor()
    const back = await decide((await choose(jar)).location, 'deny')
    const page = await jar.get(back.replace('CONSENT_ENDUSER_DENIED', type))
    assert.match(page.text, words)
    assert.equal(page.text.match(/class="button"/g)?.length, 1)
    assert.deepEqual(await rowsOf(person), [])
  })
}

test('a forged return links nothing: success in the address is not believed', async () => {
  const { person, jar } = await visitor()
  const back = await decide((await choose(jar)).location, 'deny')
  const state = new URLSearchParams(back.split('?')[1]).get('state')
  const page = await jar.get(`/providers/fiskil/callback?state=${state}&session_id=sess_1`)
  assert.equal(page.status, 303)
  const waiting = await jar.get(page.location ?? '')
  assert.match(waiting.text, /Your accounts are on their way/)
  assert.match(String(waiting.headers.refresh), /^4; url=\/connections\/waiting\/[^?]+\?look=1$/)
  assert.deepEqual(await rowsOf(person), [])
  const last = await jar.get(`${page.location}?look=30`)
  assert.equal(last.headers.refresh, undefined)
  assert.match(last.text, /<button type="submit">Check again<\/button>/)
  assert.equal((await jar.post(page.location ?? '', last.hidden)).location, page.location)
})

test('400: a state that is unknown, malformed, or of another provider', async () => {
  const { jar } = await visitor()
  const state = new URLSearchParams((await agree(jar)).split('?')[1]).get('state')
  for (const path of [
    '/providers/fiskil/callback',
    '/providers/fiskil/callback?state=abc',
    `/providers/fiskil/callback?state=${'A'.repeat(43)}`,
    `/providers/snaptrade/callback?state=${state}`,
    `/providers/akahu/callback/${state}`,
  ]) {
    const page = await jar.get(path)
    assert.equal(page.status, 400, path)
    assert.match(page.text, /not known here/)
  }
})

test('another person’s state does not exist, and stays usable by its owner', async () => {
  const { person, jar } = await visitor()
  const back = await agree(jar)
  const stranger = await visitor()
  const page = await stranger.jar.get(back)
  assert.equal(page.status, 400)
  assert.match(page.text, /not known here/)
  assert.deepEqual(await rowsOf(stranger.person), [])
  await jar.get(back)
  assert.equal((await rowsOf(person)).length, 1)
})

test('who gives the password again, then signs out and in again while the provider’s page is open, ends all links, also with a later one', async () => {
  const { person, jar } = await visitor()
  const back = await agree(jar, '41')
  const again = await agree(jar, '22')
  world.service.clock.advance(11 * 60_000)
  const { hidden } = await jar.get('/settings')
  await jar.post('/sign-in', { ...hidden, email: person.email, password })
  await jar.post('/sign-out', (await jar.get('/settings')).hidden)
  const out = await jar.get(back)
  assert.match(out.location ?? '', /^\/sign-in\?return=/)
  await signIn(jar, { email: person.email, password }, out.location ?? '')
  const later = await agree(jar, '41')
  for (const path of [back, again, later]) {
    const done = await jar.get(path)
    assert.equal(done.status, 303, done.text)
  }
  assert.equal((await rowsOf(person)).length, 2)
})

test('what remembers the browser is of no use to another person, or damaged in another browser', async () => {
  const { person, jar } = await visitor()
  const back = await agree(jar)
  const note = jar.cookies.get('tributary-link') ?? assert.fail('no cookie')
  const other = await world.addPerson()
  const { hidden } = await jar.get('/settings')
  await jar.post('/sign-in', { ...hidden, email: other.email, password })
  assert.equal(jar.cookies.get('tributary-link'), note)
  assert.equal((await jar.get(back)).status, 400)
  const elsewhere = await world.enter(person)
  for (const damaged of ['', 'x', note.slice(0, -4), `${note.slice(0, -4)}AAAA`]) {
    elsewhere.cookies.set('tributary-link', damaged)
    assert.match((await elsewhere.get(back)).text, /begun in another browser/)
  }
  assert.deepEqual(await rowsOf(person), [])
})

test('another browser of the same person cannot end it', async () => {
  const { person, jar } = await visitor()
  const back = await agree(jar)
  const other = await world.enter(person)
  const page = await other.get(back)
  assert.equal(page.status, 400)
  assert.match(page.text, /begun in another browser/)
  assert.deepEqual(await rowsOf(person), [])
  assert.match((await jar.get(back)).location ?? '', /done=linked/)
})

test('an hour later it has expired', async () => {
  const { person, jar } = await visitor()
  const back = await agree(jar)
  world.service.clock.advance(60 * 60_000)
  const page = await jar.get(back)
  assert.equal(page.status, 400)
  assert.match(page.text, /more than an hour/)
  assert.deepEqual(await rowsOf(person), [])
})

test('a password given again meanwhile takes the link along', async () => {
  const { person, jar } = await visitor()
  const back = await agree(jar)
  world.service.clock.advance(11 * 60_000)
  assert.equal((await signIn(jar, { email: person.email, password })).status, 303)
  assert.match((await jar.get(back)).location ?? '', /done=linked/)
})

test('a session that ended meanwhile: the sign-in comes first, the state is kept, and the next session in this browser uses it', async () => {
  const { person, jar } = await visitor()
  const back = await agree(jar)
  const page = await jar.get('/keys')
  const token = /name="token" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  await jar.post('/sign-out', { token })
  const led = await jar.get(back)
  assert.deepEqual([led.status, led.location], [303, `/sign-in?return=${encodeURIComponent(back)}`])
  const answer = await signIn(jar, { email: person.email, password }, led.location ?? '')
  assert.equal(answer.location, back)
  assert.match((await jar.get(back)).location ?? '', /done=linked/)
  assert.equal((await rowsOf(person)).length, 1)
})

test('HEAD and a visitor without a session do not use the state up', async () => {
  const { person, jar } = await visitor()
  const back = await agree(jar)
  const cookie = [...jar.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const head = await request(new URL(back, world.service.baseUrl), {
    method: 'HEAD',
    headers: { cookie },
  })
  await head.body.dump()
  assert.equal(head.statusCode, 404)
  assert.equal((await world.jar().get(back)).status, 303)
  await jar.get(back)
  assert.equal((await rowsOf(person)).length, 1)
})

test('a window that was closed: the provider’s webhook links what was agreed to', async () => {
  const service = world.service
  service.sandbox.sendWebhooksTo(service.baseUrl)
  const { person, jar } = await visitor()
  await agree(jar)
  for (let tries = 0; tries < 100 && (await rowsOf(person)).length === 0; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  service.sandbox.sendWebhooksTo(null)
  assert.deepEqual(
    (await rowsOf(person)).map(({ institutionId }) => institutionId),
    ['41'],
  )
})

test('the search finds banks by part of a name, and says when there is none', async () => {
  const { jar } = await visitor()
  const found = await jar.get(`${newPath}?provider=fiskil&q=WATTLE`)
  assert.match(found.text, /Wattle Bank/)
  assert.doesNotMatch(found.text, /Southern Cross Mutual/)
  assert.match(found.text, /name="q"[^>]*value="WATTLE"/)
  assert.match((await jar.get(`${newPath}?provider=fiskil&q=<b>`)).text, /value="&lt;b&gt;"/)
  const none = await jar.get(`${newPath}?provider=fiskil&q=zzzz`)
  assert.match(none.text, /No bank matches “/)
})

test('an institution that is not on the list is refused at the list, an unknown provider leads to the choice', async () => {
  const { person, jar } = await visitor()
  const answer = await choose(jar, '999999')
  assert.equal(answer.status, 400)
  assert.match(answer.text, /role="alert">This institution is not one of the list/)
  assert.deepEqual(await loginsOf(person), [])
  assert.equal((await jar.get(`${newPath}?provider=nobody`)).location, newPath)
})

test('403: a form from elsewhere begins nothing', async () => {
  const { person, jar } = await visitor()
  const page = await jar.get(`${newPath}?provider=fiskil`)
  const fields = { ...page.hidden, provider: 'fiskil', institution: '41' }
  const answer = await jar.post(newPath, fields, { origin: 'https://evil.example' })
  assert.equal(answer.status, 403)
  assert.deepEqual(await loginsOf(person), [])
})

test('429: the twenty-first link of an hour is refused in plain words', async () => {
  const { jar } = await visitor()
  const page = await jar.get(`${newPath}?provider=fiskil`)
  const fields = { ...page.hidden, provider: 'fiskil', institution: '41' }
  for (let count = 0; count < 20; count += 1) {
    assert.equal((await jar.post(newPath, fields)).status, 303)
  }
  const answer = await jar.post(newPath, fields)
  assert.equal(answer.status, 429)
  assert.match(answer.text, /Too many at once/)
  assert.ok(Number(answer.headers['retry-after']) > 0)
})

test('a key of one’s own: blanks around it are ignored, and the tokens of made-up people are shown', async () => {
  const { person, jar } = await visitor()
  const page = await jar.get(`${newPath}?provider=up`)
  assert.match(page.text, /Personal access token/)
  const [upCredentials] = world.service.sandbox
    .person('healthy')
    .flatMap((one) => (one.provider === 'up' ? [one] : []))
  const upToken = ` ${upCredentials?.token}\r\n`
  const answer = await jar.post(newPath, { ...page.hidden, provider: 'up', upToken })
  const [row] = await rowsOf(person)
  assert.deepEqual([answer.status, answer.location], [303, `/connections/${row?.id}?done=linked`])
})

for (const [upToken, words] of [
  ['', /id="upToken-problem">The personal access token is empty/],
  ['up:yeah:a b', /id="upToken-problem">The personal access token has blanks/],
  ['up:yeah:unknown', /id="upToken-problem">Up does not accept it/],
  ['not-one', /id="upToken-problem">Up does not accept it\. A personal access token of Up/],
] as const) {
  test(`400: the token “${upToken}” is refused at its field and not shown again`, async () => {
    const { person, jar } = await visitor()
    const page = await jar.get(`${newPath}?provider=up`)
    const answer = await jar.post(newPath, { ...page.hidden, provider: 'up', upToken })
    assert.equal(answer.status, 400)
    assert.match(answer.text, words)
    if (upToken !== '') assert.ok(!answer.text.includes(upToken))
    assert.deepEqual(await rowsOf(person), [])
  })
}

test('begun and ended links are in the audit with the person as the actor', async () => {
  const { person, jar } = await visitor()
  await jar.get(await agree(jar))
  const entries = await world.service.app.store.auditLog.list({
    userId: person.id,
    after: null,
    limit: 20,
  })
  const own = entries.filter(({ action }) => action.startsWith('connections.'))
  assert.deepEqual(own.map(({ action, actor }) => `${action} ${actor}`).sort(), [
    'connections.finish-linking user',
    'connections.link user',
    'connections.start-linking user',
  ])
})

test('a deleted user leaves no end user at the provider, whether a link was ended or not', async () => {
  const { person, jar } = await visitor()
  await choose(jar)
  const [login] = await loginsOf(person)
  const people = Object.values(world.service.sandbox.fiskil.people)
  const made = people.find(({ endUserId }) => endUserId === login?.upstreamUserId)
  assert.equal(made?.deleted, false)
  await world.service.app.connections.deleteUser(byOperator, person.id)
  assert.equal(made?.deleted, true)
})

test('a person whose login was deleted at the provider links by a new one, and by that one again', async () => {
  const { person, jar } = await visitor()
  await jar.get(await agree(jar, '22'))
  const [former] = await loginsOf(person)
  const people = Object.values(world.service.sandbox.fiskil.people)
  const there = people.find(({ endUserId }) => endUserId === former?.upstreamUserId)
  assert.ok(there !== undefined)
  there.deleted = true
  for (const institution of ['41', '73']) {
    assert.match((await jar.get(await agree(jar, institution))).location ?? '', /done=linked$/)
    assert.equal((await loginsOf(person)).length, 2)
  }
})
