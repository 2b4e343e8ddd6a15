/** Linking people's own tokens, where this installation has no credentials of its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserId } from '#kernel/ids.ts'
import { errorOf, link, need, up } from './credentials.ts'
import { makeWorld } from './world.ts'

test('201: a token of Up becomes one connection with its accounts; a newer token of the person keeps its id', async (t) => {
  const world = await makeWorld(t, { providers: ['up'] })
  const id = await world.addUser('a@b.example')
  const [connection, ...others] = await link(world, id, up)
  assert.deepEqual(others, [])
  assert.ok(connection !== undefined)
  const { provider, category, institutionId, institutionName, status } = connection
  assert.deepEqual(
    [provider, category, institutionId, institutionName, status],
    ['up', 'banking', 'up', 'Up', 'active'],
  )
  assert.equal(connection.lastRefreshedAt, '2026-11-20T03:15:00.000Z')
  const accounts = await world.store.accounts.list(id as UserId)
  assert.deepEqual(
    accounts.map(({ type, accountNumber, currency }) => [type, accountNumber, currency]).sort(),
    [
      ['loan', null, 'AUD'],
      ['savings', null, 'AUD'],
      ['transaction', null, 'AUD'],
      ['transaction', null, 'AUD'],
    ],
  )
  const person = need(world, 'up').people.healthy
  assert.ok(person !== undefined)
  person.token = 'up:yeah:newer'
  const refused = await world.ask('POST', `/admin/users/${id}/connections`, up)
  assert.equal(refused.status, 400)
  assert.match(
    errorOf(refused).message,
    /a newer one has replaced it; make a new one in the Up app/,
  )
  const [again] = await link(world, id, { provider: 'up', token: 'up:yeah:newer' })
  assert.equal(again?.id, connection.id)
  const [login, ...further] = await world.store.logins.list(id as UserId)
  assert.deepEqual([login?.secret, further], ['up:yeah:newer', []])
})

test('409: a token of somebody who is linked already is not linked to a second user, until the first removes it', async (t) => {
  const world = await makeWorld(t, { providers: ['up'] })
  const first = await world.addUser('a@b.example')
  const second = await world.addUser('c@d.example')
  const [connection] = await link(world, first, up)
  const refused = await world.ask('POST', `/admin/users/${second}/connections`, up)
  assert.deepEqual([refused.status, errorOf(refused).code], [409, 'login_taken'])
  assert.match(errorOf(refused).message, /Another user has linked these credentials/)
  assert.deepEqual(await world.store.logins.list(second as UserId), [])
  assert.deepEqual(await world.store.connections.list(second as UserId), [])
  await world.ask('DELETE', `/admin/connections/${connection?.id}`)
  assert.equal((await link(world, second, up)).length, 1)
})

test('400: what is no token of Up is told apart, and nothing is stored', async (t) => {
  const world = await makeWorld(t, { providers: ['up'] })
  const id = await world.addUser('a@b.example')
  const refusals: [token: unknown, why: RegExp][] = [
    ['user_token_of_akahu', /Personal access token: this is a key of Akahu, which begins with/],
    ['"up:yeah:quoted"', /Personal access token: this is a value in quotes/],
    ['yeah:abc', /starts with "up:yeah:"/],
    ['up:yeah:unknown', /make a new one in the Up app/],
    ['up:yeah:', /and more follows; copy the whole of it/],
    ['up:yeah: blank', /token: has blanks, line ends/],
    ['up:yeah:line\n', /token: has blanks, line ends/],
    ['Bearer up:yeah:word', /token: has blanks, line ends/],
    ['', /token: is empty; copy it again/],
    [`up:yeah:${'x'.repeat(1100)}`, /token: is longer than 1024 characters/],
    [undefined, /token: is required/],
  ]
  for (const [token, why] of refusals) {
    const body = { provider: 'up', ...(token === undefined ? {} : { token }) }
    const answer = await world.ask('POST', `/admin/users/${id}/connections`, body)
    assert.equal(answer.status, 400)
    assert.match(JSON.stringify(errorOf(answer)).replaceAll('\\', ''), why)
  }
  assert.deepEqual(await world.store.logins.list(id as UserId), [])
})
