/** A provider of many countries: the country, the bank, its page, and an application of the person's own. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { byOperator } from '#contract/actor.ts'
import { personalApplication } from '#sandbox/enablebanking/index.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import type { Jar, PageAnswer } from '#tests/support/jar.ts'
import { makeStillClock } from '#tests/support/service.ts'
import { type PagesWorld, type Person, startPages } from './world.ts'

let world: PagesWorld
/** No application of the installation: people bring their own. */
let bare: PagesWorld
let sandbox: Sandbox
before(async () => {
  world = await startPages()
  const clock = makeStillClock()
  sandbox = await startSandbox({ clock })
  const access = {
    ...sandbox.access,
    enablebanking: {
      baseUrl: sandbox.enablebanking.url,
      applicationId: null,
      privateKey: null,
      countries: null,
    },
  }
  bare = await startPages({ access, clock })
})
after(async () => {
  await world.close()
  await bare.close()
  await sandbox.close()
})

const provider = 'enablebanking'
const newPath = '/connections/new'
const choicePath = `${newPath}?provider=${provider}`

const rowsOf = (at: PagesWorld, { id }: Person) => at.service.app.store.connections.list(id)

async function visitor(at: PagesWorld) {
  const person = await at.addPerson()
  return { person, jar: await at.enter(person) }
}

/** Decides on the bank's page; the address to which it sends the browser, as a path here. */
async function decide(at: PagesWorld, left: PageAnswer, decision = 'agree'): Promise<string> {
  assert.equal(left.status, 303, left.text)
  const page = new URL(left.location ?? '')
  const answer = await request(`${page.origin}${page.pathname}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      authorization: page.searchParams.get('authorization') ?? '',
      decision,
    }).toString(),
  })
  await answer.body.dump()
  const back = new URL(String(answer.headers.location))
  assert.equal(
    `${back.origin}${back.pathname}`,
    `${at.service.baseUrl}/providers/${provider}/callback`,
  )
  return back.pathname + back.search
}

const choose = async (jar: Jar, institution: string, country = 'FI'): Promise<PageAnswer> => {
  const { hidden } = await jar.get(`${choicePath}&country=${country}`)
  return jar.post(newPath, { token: hidden.token ?? '', provider, country, institution })
}

test('the country is asked for first, guessed by the browser, and its banks are shown with a search', async () => {
  const { jar } = await visitor(world)
  const unknown = await jar.get(choicePath, { 'accept-language': 'ja-JP' })
  assert.match(unknown.text, /<option value="FI">Finland<\/option>/)
  assert.match(unknown.text, /Show its banks/)
  assert.doesNotMatch(unknown.text, /Pankki Kaarna/)
  const guessed = await jar.get(choicePath, { 'accept-language': 'fi-FI' })
  assert.match(guessed.text, /<option value="FI" selected>Finland<\/option>/)
  assert.match(guessed.text, /value="FI:Pankki Kaarna"/)
  assert.doesNotMatch(guessed.text, /Bank am Kanal/)
  const found = await jar.get(`${choicePath}&country=DE&q=kanal`, { 'accept-language': 'fi-FI' })
  assert.match(found.text, /Bank am Kanal/)
  assert.doesNotMatch(found.text, /Nordlicht|Kaarna/)
  const strange = await jar.get(`${choicePath}&country=%3Cb%3E`)
  assert.equal(strange.status, 200)
  assert.match(strange.text, /Show its banks/)
})

test('a bank is chosen, agreed to and linked; its rows and balances follow, and a return again changes nothing', async () => {
  const { person, jar } = await visitor(world)
  const back = await decide(world, await choose(jar, 'FI:Pankki Kaarna'))
  const done = await jar.get(back)
  const [row, ...others] = await rowsOf(world, person)
  assert.deepEqual([done.status, done.location], [303, `/connections/${row?.id}?done=linked`])
  assert.deepEqual(
    [row?.institutionId, row?.status, others.length],
    ['FI:Pankki Kaarna', 'active', 0],
  )
  assert.equal((await jar.get(back)).location, done.location)
  const page = await jar.get(done.location ?? '')
  for (const words of ['Pankki Kaarna', 'Käyttötili', 'Säästötili', 'Kaarna Credit']) {
    assert.ok(page.text.includes(words), words)
  }
  assert.match(
    page.text,
    /<dd class="wide">A bank mostly gives rows of the last 90 days, and older/,
  )
  // The consent's end, which the bank's session tells.
  assert.match(page.text, /2027/)
})

test('the name of a bank with its country chooses it as well, and an unknown one is said on the page', async () => {
  const { jar } = await visitor(world)
  assert.equal((await choose(jar, 'Pankki Kaarna')).status, 303)
  const refused = await choose(jar, 'FI:Nobody')
  assert.equal(refused.status, 400)
  assert.match(refused.text, /This institution is not one of the list/)
  assert.match(refused.text, /<option value="FI" selected>/)
})

for (const [decision, words] of [
  ['decline', /<h1>Nothing was linked<\/h1>/],
  ['late', /was open too long/],
  ['hidden', /cannot be shared|control panel/],
  ['bank-down', /did not work this time/],
] as const) {
  test(`a bank's page that ends with "${decision}" says what happened and links nothing`, async () => {
    const { person, jar } = await visitor(world)
    const page = await jar.get(await decide(world, await choose(jar, 'FI:Pankki Kaarna'), decision))
    assert.match(page.text, words)
    assert.deepEqual(await rowsOf(world, person), [])
  })
}

test('a second bank is a login of its own, and the same bank again renews the first', async () => {
  const { person, jar } = await visitor(world)
  await jar.get(await decide(world, await choose(jar, 'FI:Pankki Kaarna')))
  await jar.get(await decide(world, await choose(jar, 'DE:Bank am Kanal', 'DE')))
  const before = await rowsOf(world, person)
  assert.equal(new Set(before.map(({ loginId }) => loginId)).size, 2)
  await jar.get(await decide(world, await choose(jar, 'FI:Pankki Kaarna')))
  const after = await rowsOf(world, person)
  assert.deepEqual(after.map(({ id }) => id).sort(), before.map(({ id }) => id).sort())
})

test('a consent that has ended is renewed on the bank’s page, and everything keeps its id', async () => {
  const { person, jar } = await visitor(world)
  await jar.get(await decide(world, await choose(jar, 'AT:Bergbank', 'AT')))
  const [row] = await rowsOf(world, person)
  assert.ok(row !== undefined)
  const accounts = await world.service.app.store.accounts.list(person.id)
  const bank = world.service.sandbox.enablebanking.people.twins
  assert.ok(bank !== undefined)
  bank.ended = { error: 'EXPIRED_SESSION' }
  const path = `/connections/${row.id}`
  const { hidden } = await jar.get(path)
  await jar.post(`${path}/refresh`, { token: hidden.token ?? '' })
  assert.equal((await rowsOf(world, person))[0]?.status, 'invalidated')
  const left = await jar.post(`${path}/reconnect`, { token: hidden.token ?? '' })
  const done = await jar.get(await decide(world, left))
  assert.equal(done.location, `${path}?done=reconnected`)
  const [renewed, ...others] = await rowsOf(world, person)
  assert.deepEqual([renewed?.id, renewed?.status, others.length], [row.id, 'active', 0])
  assert.deepEqual(
    (await world.service.app.store.accounts.list(person.id)).map(({ id }) => id),
    accounts.map(({ id }) => id),
  )
})

const ownFields = {
  applicationId: personalApplication.id,
  privateKey: personalApplication.privateKey.replaceAll('\n', ''),
}

// The first one: in sandbox mode the consents of a key that several people use are kept.
test('an application of one’s own links banks while its last removal waits for the provider', async () => {
  const { person, jar } = await visitor(bare)
  const { hidden } = await jar.get(choicePath)
  await jar.post(newPath, { token: hidden.token ?? '', provider, ...ownFields })
  await jar.get(await decide(bare, await choose(jar, 'FI:Pankki Kaarna')))
  const { connections } = bare.service.app
  bare.service.clock.advance(3_700_000)
  await connections.finishDeletions()
  sandbox.enablebanking.addFault({
    when: ({ method }) => method === 'DELETE',
    does: { kind: 'reply', reply: { status: 503 } },
  })
  const [row] = await rowsOf(bare, person)
  assert.ok(row !== undefined)
  assert.equal(await connections.removeConnection(byOperator, row.id), 'leaving')
  sandbox.enablebanking.clearFaults()
  await jar.get(await decide(bare, await choose(jar, 'DE:Bank am Kanal', 'DE')))
  const statuses = (await rowsOf(bare, person)).map(({ status }) => status)
  assert.ok(statuses.includes('active'), statuses.join())
})

test('without an application of the installation a person brings their own, and then chooses the bank', async () => {
  const { person, jar } = await visitor(bare)
  const first = await jar.get(choicePath)
  assert.match(first.text, /With a key of your own/)
  assert.ok(
    first.text.includes(`<code>${bare.service.baseUrl}/providers/${provider}/callback</code>`),
  )
  assert.doesNotMatch(first.text, /Show its banks|Or with a key/)
  const token = first.hidden.token ?? ''
  const accepted = await jar.post(newPath, { token, provider, ...ownFields })
  assert.deepEqual([accepted.status, accepted.location], [303, choicePath])
  const waits = /Your key for Enable Banking is accepted, and nothing is linked with it yet/
  assert.match((await jar.get('/connections')).text, waits)
  const list = await jar.get(`${choicePath}&country=FI`)
  assert.match(list.text, /value="FI:Pankki Kaarna"/)
  const done = await jar.get(await decide(bare, await choose(jar, 'FI:Pankki Kaarna')))
  const [row, ...others] = await rowsOf(bare, person)
  assert.deepEqual([done.location, others.length], [`/connections/${row?.id}?done=linked`, 0])
  assert.doesNotMatch((await jar.get('/connections')).text, waits)
  // A second bank needs no key again.
  await jar.get(await decide(bare, await choose(jar, 'DE:Bank am Kanal', 'DE')))
  assert.equal((await rowsOf(bare, person)).length, 2)
  const used = sandbox.enablebanking.requests.filter(({ path }) => path === '/sessions').at(-1)
  const header = used?.headers.authorization?.replace('Bearer ', '').split('.')[0] ?? ''
  assert.match(Buffer.from(header, 'base64url').toString(), new RegExp(personalApplication.id))
  // Nobody else has it.
  const other = await visitor(bare)
  assert.doesNotMatch((await other.jar.get(choicePath)).text, /Show its banks|Pankki Kaarna/)
})

test('application, key, country and bank in one form lead to the bank’s page at once', async () => {
  const { person, jar } = await visitor(bare)
  const { hidden } = await jar.get(choicePath)
  const left = await jar.post(newPath, {
    ...{ token: hidden.token ?? '', provider, ...ownFields },
    ...{ country: 'FI', institution: 'Pankki Kaarna' },
  })
  await jar.get(await decide(bare, left))
  assert.equal((await rowsOf(bare, person)).length, 1)
})

test('a key that is refused is said at its field, is never shown again, and nothing is kept', async () => {
  const { person, jar } = await visitor(bare)
  const { hidden } = await jar.get(choicePath)
  const token = hidden.token ?? ''
  const cases = [
    [{ ...ownFields, privateKey: 'sekrit-no-key' }, /is no PEM text: copy the whole file/],
    [{ ...ownFields, applicationId: 'another-app' }, /do not belong together/],
    [{ ...ownFields, privateKey: '' }, /The private key is empty; copy it again/],
  ] as const
  for (const [fields, expected] of cases) {
    const refused = await jar.post(newPath, { token, provider, ...fields })
    assert.equal(refused.status, 400)
    assert.match(refused.text, expected)
    assert.ok(!refused.text.includes('sekrit'))
    assert.ok(!refused.text.includes(ownFields.privateKey.slice(40, 80)))
  }
  assert.deepEqual(await bare.service.app.store.logins.list(person.id), [])
  const without = await jar.post(newPath, { token, provider, institution: 'FI:Pankki Kaarna' })
  assert.equal(without.status, 400)
  assert.match(without.text, /give a key of your own first/)
})

test('a provider that does not answer leaves the form for a key usable', async () => {
  const { jar } = await visitor(world)
  world.service.sandbox.enablebanking.addFault({
    when: ({ path }) => path === '/aspsps' || path === '/application',
    does: { kind: 'reply', reply: { status: 502, body: '<html>' } },
  })
  try {
    const page = await jar.get(`${choicePath}&country=IT`)
    assert.equal(page.status, 503)
    assert.match(page.text, /cannot show its list at the moment/)
    assert.match(page.text, /Or with a key of your own/)
  } finally {
    world.service.sandbox.enablebanking.clearFaults()
  }
})

test('an application of the person’s own that is refused is theirs to mend, with the address to enter', async () => {
  const { person, jar } = await visitor(bare)
  const { hidden } = await jar.get(choicePath)
  await jar.post(newPath, { token: hidden.token ?? '', provider, ...ownFields })
  const { site } = sandbox.enablebanking
  site.redirectUrls = ['https://other.example/']
  const left = await choose(jar, 'FI:Pankki Kaarna')
  site.redirectUrls = null
  assert.match(left.text, /refuses your application/)
  assert.ok(left.text.includes(`${bare.service.baseUrl}/providers/${provider}/callback`))
  assert.doesNotMatch(left.text, /access of this installation|Only the operator/)
  assert.deepEqual(await rowsOf(bare, person), [])
})

test('accounts that are not linked in the control panel end with where to link them', async () => {
  const { jar } = await visitor(world)
  const back = await decide(world, await choose(jar, 'FI:Pankki Kaarna'), 'hidden')
  const end = await jar.get(back)
  assert.match(end.text, /Link the accounts in the control panel of enablebanking\.com first/)
})
