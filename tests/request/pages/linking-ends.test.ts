/**
 * Ends of a link that only some providers or installations have: accounts that come later, another account, a
 * key of another user.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { institutions } from '#sandbox/akahu/factories.ts'
import type { Jar } from '#tests/support/jar.ts'
import type { ServiceOptions } from '#tests/support/service.ts'
import { type PagesWorld, type Person, startPages } from './world.ts'

const newPath = '/connections/new'

async function visit(t: TestContext, options: ServiceOptions = {}) {
  const world = await startPages(options)
  t.after(() => world.close())
  const person = await world.addPerson()
  const rows = () => world.service.app.store.connections.list(person.id)
  return { world, person, rows, jar: await world.enter(person) }
}

async function choose(jar: Jar, fields: Readonly<Record<string, string>>): Promise<URL> {
  const page = await jar.get(`${newPath}?provider=${fields.provider}`)
  const answer = await jar.post(newPath, { ...page.hidden, ...fields })
  return new URL(answer.location ?? assert.fail(answer.text))
}

/** Sends the form of the provider's page; the path of the return. */
async function decide(
  address: URL,
  fields: Readonly<Record<string, string>>,
  target: string | URL = address,
): Promise<string> {
  const body = new URLSearchParams([...address.searchParams])
  for (const [name, value] of Object.entries(fields)) body.set(name, value)
  const answer = await fetch(target, { method: 'POST', body, redirect: 'manual' })
  const back = new URL(answer.headers.get('location') ?? assert.fail(await answer.text()))
  return back.pathname + back.search
}

const decideAtAkahu = (address: URL, fields: Readonly<Record<string, string>>) =>
  decide(
    address,
    { decision: 'allow', bank: institutions.asb._id, ...fields },
    address.origin + address.pathname,
  )

/** What the audit has about links. */
async function actionsOf({ service }: PagesWorld, { id: userId }: Person): Promise<string[]> {
  const page = { userId, after: null, limit: 50 }
  const entries = await service.app.store.auditLog.list(page)
  return entries.map(({ action }) => action).filter((action) => action.startsWith('connections.'))
}

test('accounts that arrive half a minute later: the page waits, looks by itself, and leads to the connection', async (t) => {
  const { world, person, rows, jar } = await visit(t)
  const address = await choose(jar, { provider: 'fiskil', institution: '41' })
  const back = await decide(address, { decision: 'allow', arrival: '30' })
  const waiting = (await jar.get(back)).location ?? ''
  assert.match(waiting, /^\/connections\/waiting\//)
  assert.match((await jar.get(waiting)).text, /Your accounts are on their way/)
  assert.equal((await jar.get(back)).location, waiting)
  const [row] = await rows()
  const people = Object.values(world.service.sandbox.fiskil.people)
  const given = people.flatMap(({ consents }) => consents)
  const consent = given.find(({ arrangementId }) => arrangementId === row?.upstreamId)
  assert(row !== undefined && consent !== undefined)
  consent.synced = true
  assert.equal((await jar.get(`${waiting}?look=2`)).location, `/connections/${row.id}?done=linked`)
  // The page and the return lead there whenever they are read again.
  for (const path of [waiting, back]) {
    assert.equal((await jar.get(path)).location, `/connections/${row.id}?done=linked`)
  }
  assert.equal((await rows()).length, 1)
  // However often the page looked.
  assert.deepEqual((await actionsOf(world, person)).toSorted(), [
    'connections.finish-linking',
    'connections.link',
    'connections.start-linking',
  ])
})

test('a renewal with another account of Akahu says so and changes nothing; with the right one it keeps everything', async (t) => {
  const { world, person, rows, jar } = await visit(t)
  const fields = { provider: 'akahu', institution: institutions.asb._id }
  await jar.get(await decideAtAkahu(await choose(jar, fields), {}))
  const [row] = await rows()
  assert(row !== undefined)
  const accounts = await world.service.app.store.accounts.list(person.id)
  const logins = await world.service.app.store.logins.list(person.id)
  const reconnect = async () => {
    const page = await jar.get(`/connections/${row.id}`)
    const answer = await jar.post(`/connections/${row.id}/reconnect`, page.hidden)
    return new URL(answer.location ?? assert.fail(answer.text))
  }
  const other = { email: 'somebody-else@example.test' }
  const answer = await jar.get(await decideAtAkahu(await reconnect(), other))
  assert.equal(answer.status, 200)
  assert.match(answer.text, /<h1>That was another account<\/h1>/)
  assert.match(answer.text, new RegExp(`href="/connections/${row.id}" class="button"`))
  assert.deepEqual(await rows(), [row])
  assert.deepEqual(await world.service.app.store.logins.list(person.id), logins)
  const done = await jar.get(await decideAtAkahu(await reconnect(), {}))
  // F6: it says that the connection was renewed, not that a new one was made.
  assert.equal(done.location, `/connections/${row.id}?done=reconnected`)
  assert.match((await jar.get(done.location ?? '')).text, /Reconnected\. The ids are the same/)
  const linked = (await actionsOf(world, person)).filter((name) => name === 'connections.link')
  assert.equal(linked.length, 2)
  assert.equal((await rows()).length, 1)
  assert.deepEqual(await world.service.app.store.accounts.list(person.id), accounts)
})

test('a broker that the provider has not ended yet comes back by a link that was begun after its removal, and by no earlier one', async (t) => {
  const { world, rows, jar } = await visit(t)
  const { clock, app, sandbox } = world.service
  const portal = () => choose(jar, { provider: 'snaptrade', institution: '' })
  const decideAt = (address: URL, fields: Readonly<Record<string, string>>) =>
    decide(address, fields, address.origin + address.pathname)
  await jar.get(await decideAt(await portal(), { decision: 'connect', broker: 'SANDBOX' }))
  const [row] = await rows()
  assert(row !== undefined)
  const left = await decideAt(await portal(), { decision: 'abandon' })
  clock.advance(1000)
  const ends = ({ method }: { readonly method: string }) => method === 'DELETE'
  sandbox.snaptrade.addFault({ when: ends, does: { kind: 'reply', reply: { status: 500 } } })
  await app.connections.removeConnection(byOperator, row.id)
  clock.advance(1000)
  // What comes back is not signed.
  const waiting = await jar.get(left.replace('ABANDONED', 'SUCCESS'))
  assert.match(waiting.location ?? '', /^\/connections\/waiting\//)
  assert.deepEqual(await rows(), [])
  const fresh = await decideAt(await portal(), { decision: 'abandon' })
  await jar.get(fresh.replace('ABANDONED', 'SUCCESS'))
  assert.deepEqual(
    (await rows()).map(({ upstreamId }) => upstreamId),
    [row.upstreamId],
  )
})

/** Links banks of Fiskil one after another; what is active at Fiskil then, in the order of the links. */
async function linkBanks(t: TestContext) {
  const visited = await visit(t)
  const { app, clock, sandbox } = visited.world.service
  const link = async (institution: string) => {
    clock.advance(1000)
    const address = await choose(visited.jar, { provider: 'fiskil', institution })
    const answer = await visited.jar.get(await decide(address, { decision: 'allow' }))
    assert.match(answer.location ?? '', /done=/)
  }
  for (const institution of ['22', '41', '41']) await link(institution)
  const active = async () => {
    const [login] = await app.store.logins.list(visited.person.id)
    const people = Object.values(sandbox.fiskil.people)
    const own = people.find(({ endUserId }) => endUserId === login?.upstreamUserId)
    return (own?.consents ?? []).filter((one) => one.active)
  }
  const banks = async () => (await active()).map(({ institutionId }) => institutionId)
  const shown = async () => (await visited.rows()).map(({ institutionId }) => institutionId).sort()
  const findTwice = async () => {
    const row = (await visited.rows()).find(({ institutionId }) => institutionId === '41')
    return row ?? assert.fail('the bank is not linked')
  }
  return { ...visited, app, sandbox, link, active, banks, shown, findTwice }
}

test('a bank that is linked twice keeps its newer consent alone, and its removal is one that no later link undoes', async (t) => {
  const { app, link, active, banks, shown, findTwice } = await linkBanks(t)
  assert.deepEqual(await banks(), ['22', '41', '41'])
  const { id, upstreamId } = await findTwice()
  await app.connections.finishDeletions()
  assert.deepEqual(await banks(), ['22', '41'])
  const ids = (await active()).map(({ arrangementId }) => arrangementId)
  assert.equal(ids[1], upstreamId)
  await app.connections.removeConnection(byOperator, id)
  await link('73')
  assert.deepEqual(
    [await banks(), await shown()],
    [
      ['22', '73'],
      ['22', '73'],
    ],
  )
})

test('while Fiskil does not end a former consent no link waits for it or brings it back, and the sweep tries again', async (t) => {
  const { app, sandbox, link, banks, shown, findTwice } = await linkBanks(t)
  const { id, upstreamId } = await findTwice()
  sandbox.fiskil.addFault({
    when: ({ method, path }) => method === 'DELETE' && !path.endsWith(upstreamId),
    does: { kind: 'reply', reply: { status: 500 } },
  })
  assert.deepEqual(await app.connections.finishDeletions(), { done: 0, pending: 1 })
  await app.connections.removeConnection(byOperator, id)
  await link('73')
  assert.deepEqual(
    [await banks(), await shown()],
    [
      ['22', '41', '73'],
      ['22', '73'],
    ],
  )
  sandbox.fiskil.clearFaults()
  assert.deepEqual(await app.connections.finishDeletions(), { done: 1, pending: 0 })
  assert.deepEqual(
    [await banks(), await shown()],
    [
      ['22', '73'],
      ['22', '73'],
    ],
  )
})

test('503: a provider that refuses this installation is named, before its page and after it', async (t) => {
  const { world, rows, jar } = await visit(t)
  const refused = { kind: 'reply', reply: { status: 401, body: {} } } as const
  const fields = { provider: 'akahu', institution: institutions.asb._id }
  const back = await decideAtAkahu(await choose(jar, fields), {})
  world.service.sandbox.akahu.addFault({ does: refused })
  const after = await jar.get(back)
  assert.deepEqual([after.status, after.text.includes('refuses this server')], [503, true])
  world.service.sandbox.snaptrade.addFault({ does: refused })
  const page = await jar.get(`${newPath}?provider=snaptrade`)
  const before = await jar.post(newPath, { ...page.hidden, provider: 'snaptrade' })
  assert.deepEqual([before.status, before.text.includes('refuses this server')], [503, true])
  assert.deepEqual(await rows(), [])
})

test('409: a key that another user has linked is refused at its field, and stays theirs', async (t) => {
  const { world, rows, jar } = await visit(t, { env: { SANDBOX: 'false' } })
  const upToken = world.service.sandbox
    .person('healthy')
    .flatMap((one) => (one.provider === 'up' ? [one.token] : []))[0]
  assert(upToken !== undefined)
  const paste = async (browser: Jar) => {
    const page = await browser.get(`${newPath}?provider=up`)
    return browser.post(newPath, { ...page.hidden, provider: 'up', upToken })
  }
  assert.match((await paste(jar)).location ?? '', /done=linked$/)
  const second = await world.addPerson()
  const answer = await paste(await world.enter(second))
  assert.equal(answer.status, 409)
  assert.match(answer.text, /id="upToken-problem">[^<]*(another|other) user/i)
  assert.ok(!answer.text.includes(`value="${upToken}"`))
  assert.deepEqual(await world.service.app.store.connections.list(second.id), [])
  assert.deepEqual(await world.service.app.store.logins.list(second.id), [])
  assert.equal((await rows()).length, 1)
})
