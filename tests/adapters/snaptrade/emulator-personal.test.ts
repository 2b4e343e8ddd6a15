/**
 * The emulator's personal key: the vendor's shapes, what the key may not do, and the limit of each account.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { demoPersonalKey } from '#sandbox/snaptrade/index.ts'
import { aim, ask, startHarness } from './harness.ts'
import { makeJudge } from './schema.ts'

test('every answer to a personal key is what the vendor’s OpenAPI file promises', async () => {
  await using harness = await startHarness({ accountLimitPerMinute: null })
  const { emulator } = harness
  const person = emulator.people.personal
  const judge = makeJudge()
  const checked = async (path: string, template: string) => {
    const response = await ask(emulator, path, { person })
    assert.equal(response.status, 200, path)
    assert.deepEqual(judge.problems('get', template, await response.json()), [], path)
  }
  await checked('/accounts', '/accounts')
  await checked('/authorizations', '/authorizations')
  await checked('/brokerages', '/brokerages')
  await checked('/snapTrade/partners', '/snapTrade/partners')
  for (const { id, accounts } of person.connections) {
    await checked(`/authorizations/${id}`, '/authorizations/{authorizationId}')
    for (const { id } of accounts) {
      await checked(`/accounts/${id}`, '/accounts/{accountId}')
      await checked(`/accounts/${id}/balances`, '/accounts/{accountId}/balances')
      await checked(`/accounts/${id}/positions/all`, '/accounts/{accountId}/positions/all')
      await checked(`/accounts/${id}/activities`, '/accounts/{accountId}/activities')
    }
  }
  const [connection] = person.connections
  const login = { method: 'POST', body: { connectionType: 'read' }, person }
  const portal = await ask(emulator, '/snapTrade/login', login)
  assert.deepEqual(judge.problems('post', '/snapTrade/login', await portal.json()), [])
  const deletion = { method: 'DELETE', person }
  const deleted = await ask(emulator, `/connection/${connection?.id}`, deletion)
  const problems = judge.problems('delete', '/connection/{connectionId}', await deleted.json())
  assert.deepEqual([deleted.status, problems], [200, []])
})

test('it knows its own client id, and the sandbox broker stands last among its brokers', async () => {
  await using harness = await startHarness()
  const { emulator } = harness
  const ofPersonal = await ask(emulator, '/snapTrade/partners', {
    person: emulator.people.personal,
  })
  const body = (await ofPersonal.json()) as Record<string, unknown>
  assert.deepEqual(
    [body.slug, body.logo_url, body.redirect_uri],
    ['TRIBUTARY-PERSONAL', null, null],
  )
  const brokers = body.allowed_brokerages as { slug: string }[]
  assert.equal(brokers.at(-1)?.slug, 'SANDBOX')
  const ofCommercial = await ask(emulator, '/snapTrade/partners')
  assert.equal(((await ofCommercial.json()) as { slug: string }).slug, 'TRIBUTARY-SANDBOX')
})

test('user parameters, the four calls for commercial keys, and other people’s data are refused', async () => {
  await using harness = await startHarness()
  const { emulator } = harness
  const person = emulator.people.personal
  const body = { userId: 'new' }
  const rows: [number, string, Parameters<typeof ask>[2]][] = [
    [401, '/accounts?userId=x&userSecret=y', { person }],
    [401, '/accounts?userId=&userSecret=', { person }],
    [401, '/brokerages?userId=x', { person }],
    [403, '/snapTrade/registerUser', { person, method: 'POST', body }],
    [403, '/snapTrade/resetUserSecret', { person, method: 'POST', body }],
    [403, '/snapTrade/deleteUser', { person, method: 'DELETE' }],
    [403, '/snapTrade/listUsers', { person }],
    [404, `/accounts/${aim(emulator.people.healthy).account.id}`, { person }],
    [403, `/authorizations/${person.connections[0]?.id}/refresh`, { person, method: 'POST' }],
    // The commercial key needs a user, and knows no user of this name.
    [401, '/accounts', {}],
    [401, '/accounts', { person: { ...person, personalKey: undefined } as never }],
  ]
  for (const [status, path, options] of rows) {
    assert.equal((await ask(emulator, path, options)).status, status, path)
  }
  const forged = { ...person, personalKey: { ...demoPersonalKey, consumerKey: 'other' } }
  assert.equal((await ask(emulator, '/accounts', { person: forged })).status, 401)
  const users = (await (await ask(emulator, '/snapTrade/listUsers')).json()) as string[]
  assert.ok(!users.includes('TRIBUTARY-PERSONAL'))
})

test('the eleventh request about an account within a minute is refused; lists and other accounts are not counted', async () => {
  await using harness = await startHarness()
  const { emulator, clock } = harness
  const person = emulator.people.personal
  const { account } = aim(person)
  const other = aim(person, 0, 1).account
  const timestamp = () => String(Math.floor(clock.ms / 1000))
  const get = (path: string) => ask(emulator, path, { person, timestamp: timestamp() })
  const calls = ['', '/balances', '/positions/all', '/activities', '/holdings']
  for (let count = 1; count <= 10; count += 1) {
    const { headers } = await get(`/accounts/${account.id}${calls[count % calls.length]}`)
    assert.equal(headers.get('x-ratelimit-account-limit'), '10')
    assert.equal(headers.get('x-ratelimit-account-remaining'), String(10 - count))
    clock.ms += 1_000
  }
  const refused = await get(`/accounts/${account.id}/balances`)
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('x-ratelimit-account-remaining'), '0')
  assert.equal(refused.headers.get('x-ratelimit-account-reset'), '50')
  for (const path of ['/accounts', '/authorizations', `/accounts/${other.id}/balances`]) {
    assert.equal((await get(path)).status, 200, path)
  }
  assert.equal((await get('/accounts')).headers.get('x-ratelimit-account-limit'), null)
  clock.ms += 50_000
  assert.equal((await get(`/accounts/${account.id}/balances`)).status, 200)
})

test('a key has a limit of its own, and accounts have none under the commercial key', async () => {
  await using harness = await startHarness({ rateLimitPerMinute: 2 })
  const { emulator } = harness
  const { healthy, personal } = emulator.people
  const path = `/accounts/${aim(healthy).account.id}/balances`
  for (const remaining of ['1', '0']) {
    const { status, headers } = await ask(emulator, path, { person: healthy })
    assert.deepEqual([status, headers.get('x-ratelimit-remaining')], [200, remaining])
    assert.equal(headers.get('x-ratelimit-account-limit'), null)
  }
  assert.equal((await ask(emulator, path, { person: healthy })).status, 429)
  assert.equal((await ask(emulator, '/accounts', { person: personal })).status, 200)
})

test('a broker is connected by the portal of a personal key, as in the Dashboard', async () => {
  await using harness = await startHarness()
  const { emulator } = harness
  const person = emulator.people.personal
  const options = { method: 'POST', body: { connectionType: 'read' }, person }
  const { redirectURI } = (await (await ask(emulator, '/snapTrade/login', options)).json()) as {
    redirectURI: string
  }
  const body = new URLSearchParams({ decision: 'connect', broker: 'SANDBOX' })
  body.set('token', new URL(redirectURI).searchParams.get('token') ?? '')
  await fetch(redirectURI, { method: 'POST', body })
  assert.equal(person.connections.at(-1)?.brokerage, 'SANDBOX')
})

test('no webhooks are sent about somebody with a personal key', async () => {
  await using harness = await startHarness()
  const { webhooks, login } = harness.emulator.faultControls
  harness.emulator.webhooks.target = 'http://127.0.0.1:9'
  login?.breakIt('personal')
  for (const kind of webhooks.kinds) {
    assert.deepEqual(webhooks.fire('personal', { kind, account: null }, {}), [])
  }
})
