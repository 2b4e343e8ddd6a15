/** Linking at Akahu with personal apps: this installation's, people's own, and both beside a full app. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserId } from '#kernel/ids.ts'
import { toPersonalTokens } from '#sandbox/akahu/emulator.ts'
import { akahu, errorOf, link, linked, need } from './credentials.ts'
import { makeWorld, type World } from './world.ts'

const own = { provider: 'akahu', ...toPersonalTokens('healthy') }
const others = { provider: 'akahu', ...toPersonalTokens('history') }
const userTokenAlone = { provider: 'akahu', userToken: own.userToken }

const ask = (world: World, userId: string, credentials: object) =>
  world.ask('POST', `/admin/users/${userId}/connections`, credentials)
const pathsAt = (world: World) =>
  need(world, 'akahu').requests.map(({ method, path }) => `${method} ${path.split('/')[2]}`)
const secretsOf = async (world: World, userId: string) =>
  (await world.store.logins.list(userId as UserId)).map(({ secret }) => secret)

test('201: two people of a household link, one with the app of the variable and one with an app of their own', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'], akahuApp: 'personal' })
  const emma = await world.addUser('emma@b.example')
  const jack = await world.addUser('jack@b.example')
  assert.equal((await link(world, emma, userTokenAlone)).length, 4)
  assert.equal((await link(world, jack, others)).length, 1)
  assert.deepEqual(await secretsOf(world, emma), [`${own.userToken} ${own.appToken}`])
  assert.deepEqual(await secretsOf(world, jack), [`${others.userToken} ${others.appToken}`])
  // Only what a personal app can reach: no webhooks, no list of institutions.
  assert.deepEqual(new Set(pathsAt(world)), new Set(['GET me', 'GET accounts']))
  assert.deepEqual(world.unheard, [])
  for (const secret of [own.userToken, others.userToken, others.appToken]) {
    assert.ok(!world.logged.join('\n').includes(secret))
    assert.ok(!(await world.readDisk()).includes(secret))
  }
})

test('201: a person goes over to an app of their own and back, and the connections keep their ids', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const id = await world.addUser('a@b.example')
  const first = await link(world, id, akahu)
  const asked = () => pathsAt(world).filter((path) => path.endsWith('webhooks')).length
  const before = asked()
  const second = await link(world, id, own)
  assert.deepEqual(new Set(second.map((one) => one.id)), new Set(first.map((one) => one.id)))
  assert.deepEqual(await secretsOf(world, id), [`${own.userToken} ${own.appToken}`])
  assert.equal(asked(), before)
  const [row] = second
  const refreshed = await world.ask('POST', `/admin/connections/${row?.id}/refresh`)
  assert.equal(refreshed.status, 200)
  const headers = need(world, 'akahu').requests.at(-1)?.headers
  assert.equal(headers?.['x-akahu-id'], own.appToken)
  assert.deepEqual(
    new Set((await link(world, id, akahu)).map((one) => one.id)),
    new Set(first.map((one) => one.id)),
  )
  assert.deepEqual(await secretsOf(world, id), [akahu.userToken])
})

test('409: a personal key of somebody who is linked here is not linked to a second user', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'], akahuApp: 'none' })
  const emma = await world.addUser('emma@b.example')
  const jack = await world.addUser('jack@b.example')
  const [connection] = await link(world, emma, own)
  const refused = await ask(world, jack, own)
  assert.deepEqual([refused.status, errorOf(refused).code], [409, 'login_taken'])
  assert.deepEqual(await secretsOf(world, jack), [])
  assert.deepEqual(linked(await ask(world, emma, own))[0]?.id, connection?.id)
})

test('400: what does not work is one sentence with the next step, and nothing is stored', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'], akahuApp: 'none' })
  const id = await world.addUser('a@b.example')
  const swapped = { ...own, userToken: own.appToken, appToken: own.userToken }
  const refusals: [body: object, why: RegExp, calls?: string[]][] = [
    [userTokenAlone, /there is no app token: set AKAHU_APP_TOKEN, or .*--app-token/],
    [swapped, /the two tokens are swapped/],
    [
      { ...own, userToken: 'up:yeah:1' },
      /User token: this is a key of Up, which begins with "up:"/,
    ],
    [{ ...own, appToken: `"${own.appToken}"` }, /App token: this is a value in quotes/],
    [{ ...own, appToken: others.appToken }, /copy both again.*regenerated.*allow-list/, ['GET me']],
    [
      { ...own, userToken: 'user_token_old' },
      /copy both again.*regenerated.*allow-list/,
      ['GET me'],
    ],
  ]
  for (const [body, why, calls = []] of refusals) {
    const before = pathsAt(world).length
    const answer = await ask(world, id, body)
    assert.deepEqual([answer.status, errorOf(answer).code], [400, 'upstream_bad_request'])
    assert.match(errorOf(answer).message, why)
    assert.doesNotMatch(JSON.stringify(answer.body), /_token_\w{6}|yeah:1/)
    // A refusal of the pair is not followed by a question about our own app.
    assert.deepEqual(pathsAt(world).slice(before), calls)
  }
  assert.deepEqual(await secretsOf(world, id), [])
})

test('400: an app token with a blank or a line end is refused by the field’s name', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'], akahuApp: 'none' })
  const id = await world.addUser('a@b.example')
  for (const appToken of [`${own.appToken} `, `${own.appToken}\n`, '']) {
    const answer = await ask(world, id, { ...own, appToken })
    assert.equal(answer.status, 400)
    assert.match(
      (errorOf(answer).details ?? []).join(),
      /appToken: (has blanks, line ends|is empty)/,
    )
  }
})

test('400: an app without accounts says where they are shared', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'], akahuApp: 'personal' })
  const id = await world.addUser('a@b.example')
  need(world, 'akahu').people.healthy.accounts = []
  const answer = await ask(world, id, userTokenAlone)
  assert.deepEqual([answer.status, errorOf(answer).code], [400, 'invalid_params'])
  assert.deepEqual(errorOf(answer).details, [
    'Share accounts with the app at my.akahu.nz, Developers, Accounts; then link again.',
  ])
  assert.deepEqual(await secretsOf(world, id), [])
})

test('a refused personal key says nothing about the full app of this installation, even a wrong one', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'], wrongOwnSecrets: true })
  const id = await world.addUser('a@b.example')
  const answer = await ask(world, id, { ...own, userToken: 'user_token_old' })
  assert.deepEqual([answer.status, errorOf(answer).code], [400, 'upstream_bad_request'])
  assert.deepEqual(pathsAt(world), ['GET me'])
})
