/** Linking at SnapTrade with personal keys: this installation's, people's own, and what is refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserId } from '#kernel/ids.ts'
import { demoPersonalKey } from '#sandbox/snaptrade/index.ts'
import { errorOf, link, linked, listed, need, snaptrade } from './credentials.ts'
import { makeWorld, type World } from './world.ts'

const neither = { provider: 'snaptrade' }
const own = { provider: 'snaptrade', ...demoPersonalKey }
const { consumerKey } = demoPersonalKey

const ask = (world: World, userId: string, credentials: object) =>
  world.ask('POST', `/admin/users/${userId}/connections`, credentials)
const loginsOf = async (world: World, userId: string) =>
  (await world.store.logins.list(userId as UserId)).map(({ upstreamUserId, secret }) => [
    upstreamUserId,
    secret,
  ])

/** Nothing is stored for the user. */
async function assertNothing(world: World, userId: string): Promise<void> {
  assert.deepEqual(await loginsOf(world, userId), [])
  assert.deepEqual(listed(await world.ask('GET', `/admin/users/${userId}/connections`)), [])
}

test('201: the key of the variables is linked with no further field, with every connection and account', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'], snaptradeKey: 'personal' })
  const id = await world.addUser('a@b.example')
  const connections = await link(world, id, neither)
  assert.deepEqual(
    new Set(connections.map(({ institutionName, status }) => `${institutionName} ${status}`)),
    new Set(['Interactive Brokers active', 'Coinbase active', 'Stake active']),
  )
  assert.equal((await world.store.accounts.list(id as UserId)).length, 5)
  assert.deepEqual(await loginsOf(world, id), [['TRIBUTARY-PERSONAL', null]])
})

for (const key of [undefined, 'none', 'personal'] as const) {
  test(`201: a person brings a key of their own (variables: ${key ?? 'commercial'}); it is sealed, and shown nowhere`, async (t) => {
    const options = key === undefined ? {} : { snaptradeKey: key }
    const world = await makeWorld(t, { providers: ['snaptrade'], ...options })
    const id = await world.addUser('a@b.example')
    const [connection] = await link(world, id, own)
    assert.deepEqual(await loginsOf(world, id), [
      ['TRIBUTARY-PERSONAL', `personal-key ${consumerKey}`],
    ])
    const path = `/admin/connections/${connection?.id}/refresh`
    assert.equal((await world.ask('POST', path)).status, 200)
    assert.ok(!world.logged.join('\n').includes(consumerKey))
    assert.ok(!(await world.readDisk()).includes(consumerKey))
    assert.ok(!world.metrics.text().includes(consumerKey))
    const { requests } = need(world, 'snaptrade')
    assert.ok(requests.every(({ query }) => !query.has('userId') && !query.has('userSecret')))
  })
}

test('201: a key in the variables takes the place of the one that was brought, and the ids stay', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'], snaptradeKey: 'personal' })
  const id = await world.addUser('a@b.example')
  const first = await link(world, id, own)
  const second = await link(world, id, neither)
  assert.deepEqual(new Set(second.map((one) => one.id)), new Set(first.map((one) => one.id)))
  assert.deepEqual(await loginsOf(world, id), [['TRIBUTARY-PERSONAL', null]])
})

test('409: one user at a time has a personal key; users of a commercial key are linked beside it', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const first = await world.addUser('a@b.example')
  const second = await world.addUser('c@d.example')
  const connections = await link(world, first, own)
  const refused = await ask(world, second, own)
  assert.deepEqual([refused.status, errorOf(refused).code], [409, 'login_taken'])
  await assertNothing(world, second)
  assert.equal((await link(world, second, snaptrade)).length, 2)
  assert.equal((await link(world, first, snaptrade)).length, 2)
  for (const { id } of connections) await world.ask('DELETE', `/admin/connections/${id}`)
  // They were forgotten here, not ended there.
  assert.equal(need(world, 'snaptrade').people.personal.connections.length, 3)
  assert.equal((await link(world, second, own)).length, 3)
})

test('204: removing a connection of a personal key asks SnapTrade nothing', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'], snaptradeKey: 'personal' })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, neither)
  const { requests } = need(world, 'snaptrade')
  requests.splice(0)
  assert.equal((await world.ask('DELETE', `/admin/connections/${connection?.id}`)).status, 204)
  assert.deepEqual([requests.length, world.deletions.at(-1)?.outcome], [0, 'done'])
  assert.equal((await world.ask('DELETE', `/admin/users/${id}`)).status, 204)
  assert.equal(requests.length, 0)
})

test('204: with atProvider the connection is deleted at SnapTrade too, and the others stay there', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const id = await world.addUser('a@b.example')
  const connections = await link(world, id, own)
  const coinbase = connections.find(({ institutionName }) => institutionName === 'Coinbase')
  const { people, requests } = need(world, 'snaptrade')
  requests.splice(0)
  const path = `/admin/connections/${coinbase?.id}?atProvider=true`
  assert.equal((await world.ask('DELETE', path)).status, 204)
  assert.deepEqual(
    requests.map(({ method, query }) => [method, query.has('userId')]),
    [['DELETE', false]],
  )
  assert.deepEqual(
    people.personal.connections.map(({ brokerage }) => brokerage),
    ['INTERACTIVE-BROKERS-FLEX', 'STAKEAUS'],
  )
  assert.equal(listed(await world.ask('GET', `/admin/users/${id}/connections`)).length, 2)
})

type Refusal = readonly [name: string, key: 'none' | 'personal' | null, body: object, why: RegExp]
const user = { snaptradeUserId: snaptrade.snaptradeUserId, userSecret: snaptrade.userSecret }
const refusals: readonly Refusal[] = [
  ['half a user', null, { snaptradeUserId: 'x' }, /are only valid together/],
  ['half a key', 'none', { clientId: 'x' }, /are only valid together/],
  ['a user', 'personal', user, /a personal key has no user id and no secret/],
  ['a user', 'none', user, /belong to a commercial key, which is not set/],
  ['nothing', null, {}, /give --snaptrade-user-id and --user-secret/],
  ['nothing', 'none', {}, /give the personal key with --client-id and --consumer-key/],
  [
    'a token of Akahu as client id',
    'none',
    { clientId: 'app_token_1', consumerKey: 'x' },
    /--client-id: this is a key of Akahu, which begins with "app_token_"/,
  ],
  [
    'a token of Up as user id',
    null,
    { snaptradeUserId: 'up:yeah:1', userSecret: 'x' },
    /--snaptrade-user-id: this is a key of Up/,
  ],
  [
    'quotes',
    'none',
    { clientId: "'x'", consumerKey: 'x' },
    /--client-id: this is a value in quotes/,
  ],
  ['both', null, { ...user, ...demoPersonalKey }, /not both/],
  [
    'the commercial key',
    null,
    { clientId: 'TRIBUTARY-SANDBOX', consumerKey: 'x' },
    /this is the commercial key of SNAPTRADE_CLIENT_ID/,
  ],
]

for (const [name, key, body, why] of refusals) {
  test(`400: ${name} (variables: ${key ?? 'commercial'}) is refused without a request, and nothing is stored`, async (t) => {
    const options = key === null ? {} : { snaptradeKey: key }
    const world = await makeWorld(t, { providers: ['snaptrade'], ...options })
    const id = await world.addUser('a@b.example')
    const answer = await ask(world, id, { provider: 'snaptrade', ...body })
    assert.deepEqual([answer.status, errorOf(answer).code], [400, 'upstream_bad_request'])
    assert.match(errorOf(answer).message, why)
    assert.deepEqual(need(world, 'snaptrade').requests, [])
    await assertNothing(world, id)
  })
}

test('400: what SnapTrade refuses of a key that was brought is said in one line, and nothing is stored', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const id = await world.addUser('a@b.example')
  const wrong = await ask(world, id, { ...own, consumerKey: 'no-such-key' })
  assert.equal(wrong.status, 400)
  assert.match(errorOf(wrong).message, /SnapTrade refuses this personal key \(Unable to verify/)
  const unknown = await ask(world, id, { ...own, clientId: 'NOBODY' })
  assert.match(errorOf(unknown).message, /SnapTrade refuses this personal key \(Invalid clientId/)
  assert.doesNotMatch(JSON.stringify([wrong.body, unknown.body]), /no-such-key|sandbox-personal/)
  await assertNothing(world, id)
})

test('400: a personal key without connections is told where to connect a broker', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'], snaptradeKey: 'personal' })
  need(world, 'snaptrade').people.personal.connections = []
  const id = await world.addUser('a@b.example')
  const answer = await ask(world, id, neither)
  assert.deepEqual([answer.status, errorOf(answer).code], [400, 'invalid_params'])
  assert.match(errorOf(answer).details?.join() ?? '', /connect a broker in the SnapTrade Dashboard/)
  await assertNothing(world, id)
})

test('503: a refused key of the variables is the operator’s to correct, and nothing is stored', async (t) => {
  const world = await makeWorld(t, {
    providers: ['snaptrade'],
    snaptradeKey: 'personal',
    wrongOwnSecrets: true,
  })
  const id = await world.addUser('a@b.example')
  const answer = await ask(world, id, neither)
  assert.deepEqual([answer.status, errorOf(answer).code], [503, 'provider_refuses_us'])
  assert.match(errorOf(answer).message, /SNAPTRADE_CLIENT_ID and SNAPTRADE_CONSUMER_KEY/)
  await assertNothing(world, id)
})

test('200: a refused key that was brought makes the connections invalidated, and the next good read active', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, own)
  const { personal } = need(world, 'snaptrade').people
  const refresh = () => world.ask('POST', `/admin/connections/${connection?.id}/refresh`)
  personal.personalKey = { ...demoPersonalKey, consumerKey: 'a-new-one' }
  const lost = await refresh()
  assert.deepEqual([lost.status, (lost.body as { status: string }).status], [200, 'invalidated'])
  const all = listed(await world.ask('GET', `/admin/users/${id}/connections`))
  assert.ok(all.every(({ status }) => status === 'invalidated'))
  const again = linked(await ask(world, id, { ...own, consumerKey: 'a-new-one' }))
  assert.ok(again.every(({ status }) => status === 'active'))
  assert.ok(again.some((one) => one.id === connection?.id))
})
