/** Linking at a SimpleFIN server, whose tokens work once (reading R38). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import { toAccessUrl, toSetupToken } from '#sandbox/simplefin/index.ts'
import { errorOf, link, need } from './credentials.ts'
import { another } from './two-processes.ts'
import { makeWorld } from './world.ts'

const paste = (setupToken: string) => ({ provider: 'simplefin', setupToken })

test('201: a setup token becomes a connection for each bank; a new one renews them in place', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const id = await world.addUser('a@b.example')
  const linked = await link(world, id, paste(toSetupToken(server.baseUrl, 'healthy')))
  assert.deepEqual(
    linked
      .map(({ institutionName, status, lastRefreshedAt }) => {
        return `${institutionName} ${status} ${lastRefreshedAt}`
      })
      .toSorted(),
    [
      'First Prairie Bank active 2026-11-19T12:00:00.000Z',
      'Maple Credit Union active 2026-11-19T12:00:00.000Z',
    ],
  )
  const before = await world.store.accounts.list(id as UserId)
  assert.equal(before.length, 4)
  // The person makes a new token; the server gives it another user name.
  const person = server.people.healthy
  assert.ok(person !== undefined)
  server.people.again = { ...person, user: 'another-user', password: 'another-password' }
  person.password = null
  const url = `${server.baseUrl.replace('://', '://another-user:another-password@')}`
  const renewed = await link(world, id, paste(url))
  assert.deepEqual(
    renewed.map((row) => [row.id, row.status]).toSorted(),
    linked.map((row) => [row.id, 'active']).toSorted(),
  )
  assert.deepEqual(
    (await world.store.accounts.list(id as UserId)).map((row) => row.id).toSorted(),
    before.map((row) => row.id).toSorted(),
  )
  const [login, ...others] = await world.store.logins.list(id as UserId)
  assert.deepEqual([JSON.parse(login?.secret ?? '').accessUrl, others], [url, []])
})

test('R38: what was claimed is kept although the server fails then; the same token goes on within the hour', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const id = await world.addUser('a@b.example')
  const token = paste(toSetupToken(server.baseUrl, 'healthy'))
  server.addFault({
    when: ({ path }) => path.endsWith('/accounts'),
    does: { kind: 'reply', reply: { status: 503, body: 'later' } },
  })
  const failed = await world.ask('POST', `/admin/users/${id}/connections`, token)
  assert.equal(failed.status, 503)
  const [kept] = await world.store.logins.list(id as UserId)
  assert.equal(JSON.parse(kept?.secret ?? '').accessUrl, toAccessUrl(server.baseUrl, 'healthy'))
  assert.deepEqual(await world.store.connections.list(id as UserId), [])
  // The sweep of logins that nothing uses leaves it alone for the hour of a link.
  world.clock.advance(50 * 60_000)
  await world.connections.finishDeletions(new AbortController().signal)
  assert.equal((await world.store.logins.list(id as UserId)).length, 1)
  server.clearFaults()
  assert.equal((await link(world, id, token)).length, 2)
  assert.equal(server.requests.filter(({ method }) => method === 'POST').length, 1)
  assert.equal((await world.store.logins.list(id as UserId)).length, 1)
})

test('R38: a token whose answer was lost is not sent again for a month', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const id = await world.addUser('a@b.example')
  const token = paste(toSetupToken(server.baseUrl, 'healthy'))
  const send = () => world.ask('POST', `/admin/users/${id}/connections`, token)
  server.addFault({ times: 1, does: { kind: 'reply', reply: { status: 502, body: '<html>' } } })
  assert.match(errorOf(await send()).message, /answered 502 to the setup token/)
  world.clock.advance(29 * 86_400_000)
  await world.connections.finishDeletions(new AbortController().signal)
  const again = await send()
  assert.equal(again.status, 400)
  assert.match(errorOf(again).message, /was lost.* cannot be used again: make a new setup token/)
  assert.equal(server.requests.length, 1)
  // Somebody else may send it: the server says what it is.
  const other = await world.addUser('c@d.example')
  assert.equal((await link(world, other, token)).length, 2)
  const disk = await world.readDisk()
  assert(!disk.includes(token.setupToken) && !disk.includes('/claim/'))
})

test('R38: a token that the server refused for now links when it is pasted again', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const id = await world.addUser('a@b.example')
  const token = paste(toSetupToken(server.baseUrl, 'healthy'))
  server.addFault({ times: 1, does: { kind: 'reply', reply: { status: 429 } } })
  const refused = await world.ask('POST', `/admin/users/${id}/connections`, token)
  assert.match(errorOf(refused).message, /paste the same one again later/)
  assert.equal((await link(world, id, token)).length, 2)
})

test('R38: a token that is pasted at two processes at once is sent once, and both link', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const id = (await world.addUser('a@b.example')) as UserId
  const token = paste(toSetupToken(server.baseUrl, 'healthy'))
  const isClaim = ({ method }: { readonly method: string }) => method === 'POST'
  server.addFault({ when: isClaim, does: { kind: 'delay', ms: 500 } })
  const rooms = [another(world), another(world)]
  const both = await Promise.all(rooms.map((room) => room.linkConnections(byOperator, id, token)))
  assert.deepEqual(
    both.map((rows) => rows.length),
    [2, 2],
  )
  assert.equal(server.requests.filter(isClaim).length, 1)
  assert.equal((await world.store.connections.list(id)).length, 2)
  assert.equal((await world.store.logins.list(id)).length, 1)
})

test('R38: a token that is refused for now at one process is sent by the other one that waited', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const id = (await world.addUser('a@b.example')) as UserId
  const token = paste(toSetupToken(server.baseUrl, 'healthy'))
  server.addFault({ times: 1, does: { kind: 'reply', reply: { status: 429 } } })
  const rooms = [another(world), another(world)]
  const both = await Promise.allSettled(
    rooms.map((room) => room.linkConnections(byOperator, id, token)),
  )
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.equal((await world.store.connections.list(id)).length, 2)
})

test('tokens that were sent take no place of links under way', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const id = (await world.addUser('a@b.example')) as UserId
  const begun = await world.store.linkings.create({
    id: new Uint8Array(32).fill(1),
    userId: id,
    sessionId: newId<SessionId>(),
    provider: 'fiskil',
    loginId: null,
    institutionId: null,
    connectionId: null,
    createdAt: world.clock.now(),
    expiresAt: world.clock.now() + 3_600_000,
  })
  server.addFault({ does: { kind: 'reply', reply: { status: 502, body: '<html>' } } })
  for (let count = 0; count < 21; count += 1) {
    const token = paste(toSetupToken(server.baseUrl, 'healthy', count))
    const lost = await world.ask('POST', `/admin/users/${id}/connections`, token)
    assert.equal(lost.status, 400)
  }
  assert.notEqual(await world.store.linkings.find(begun.id), null)
})

test('a claimed access that was never linked is forgotten after its hour', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const id = await world.addUser('a@b.example')
  const person = server.people.healthy
  assert.ok(person !== undefined)
  person.connections = []
  const nothing = await world.ask(
    'POST',
    `/admin/users/${id}/connections`,
    paste(toSetupToken(server.baseUrl, 'healthy')),
  )
  assert.equal(nothing.status, 400)
  assert.match(
    JSON.stringify(nothing.body),
    /connect one on its page first, then paste the same text/,
  )
  assert.equal((await world.store.logins.list(id as UserId)).length, 1)
  world.clock.advance(61 * 60_000)
  await world.connections.finishDeletions(new AbortController().signal)
  assert.deepEqual(await world.store.logins.list(id as UserId), [])
})

test('400: a used token says what to do, and so does an access that was disabled; nothing is stored', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const first = await world.addUser('a@b.example')
  const second = await world.addUser('c@d.example')
  const token = paste(toSetupToken(server.baseUrl, 'healthy'))
  await link(world, first, token)
  const used = await world.ask('POST', `/admin/users/${second}/connections`, token)
  assert.equal(used.status, 400)
  assert.match(errorOf(used).message, /was used before or is unknown/)
  const disabled = paste(toAccessUrl(server.baseUrl, 'expired'))
  const refused = await world.ask('POST', `/admin/users/${second}/connections`, disabled)
  assert.equal(refused.status, 400)
  assert.match(errorOf(refused).message, /make a new setup token on its page/)
  assert.deepEqual(await world.store.logins.list(second as UserId), [])
})

test('409: an access that another user has linked is not linked to a second one', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const first = await world.addUser('a@b.example')
  const second = await world.addUser('c@d.example')
  await link(world, first, paste(toAccessUrl(server.baseUrl, 'healthy')))
  for (const text of [
    toAccessUrl(server.baseUrl, 'healthy'),
    toSetupToken(server.baseUrl, 'healthy', 5),
  ]) {
    const refused = await world.ask('POST', `/admin/users/${second}/connections`, paste(text))
    assert.deepEqual([refused.status, errorOf(refused).code], [409, 'login_taken'])
  }
  assert.deepEqual(await world.store.logins.list(second as UserId), [])
})

test('two sign-ins at one server are two logins, and each keeps its own banks', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const server = need(world, 'simplefin')
  const id = await world.addUser('a@b.example')
  await link(world, id, paste(toSetupToken(server.baseUrl, 'healthy')))
  await link(world, id, paste(toSetupToken(server.baseUrl, 'twins')))
  assert.equal((await world.store.logins.list(id as UserId)).length, 2)
  assert.equal((await world.store.connections.list(id as UserId)).length, 3)
})
