/**
 * Personal keys over HTTP against the emulator: which requests are made, and what is told apart when linking.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '#kernel/ids.ts'
import type { Credentials } from '#providers/credentials.ts'
import type { Login } from '#providers/port.ts'
import { demoPersonalKey } from '#sandbox/snaptrade/index.ts'
import {
  aim,
  call,
  failureOf,
  type Harness,
  loginOf,
  noSettings,
  personalSettings,
  readPages,
  startHarness,
} from './harness.ts'

type Fields = Omit<Extract<Credentials, { readonly provider: 'snaptrade' }>, 'provider'>

const identify = ({ adapter }: Harness, fields: Fields = {}) =>
  adapter.identify({ provider: 'snaptrade', ...fields }, call())
const forgetRequests = ({ emulator }: Harness) => emulator.requests.splice(0)

/** The login of the key of the variables, which is stored without a secret. */
const ownLogin = (upstreamUserId = demoPersonalKey.clientId): Login => ({
  id: newId(),
  upstreamUserId,
  secret: null,
  version: 1,
})

/** Everything the adapter can do with a login; the deletion last. */
async function doAll(harness: Harness, login: Login): Promise<void> {
  const { adapter, emulator } = harness
  const { query, holdings, ref, reference } = aim(emulator.people.personal)
  await adapter.discover(login, call())
  await adapter.listAlive?.(login, call())
  await adapter.holdings({ ...holdings, login }, call())
  await readPages(adapter, { ...query, login })
  const asked = { what: 'holdings', accounts: [reference], among: [reference] } as const
  await adapter.confirmEmpty(login, ref, call(), asked)
  await adapter.revoke(login, ref, { last: false, isAsked: true }, call())
}

test('the key of the variables is linked without any field, and stored without a secret', async () => {
  await using harness = await startHarness(personalSettings)
  const { ifNothing, ...identity } = await identify(harness)
  assert.deepEqual(identity, {
    upstreamUserId: 'TRIBUTARY-PERSONAL',
    secret: null,
    isPersonal: true,
  })
  assert.match(
    ifNothing ?? '',
    /connect a broker in the SnapTrade Dashboard .*, then link again\.$/,
  )
  assert.deepEqual(
    harness.emulator.requests.map(({ path }) => path),
    ['/snapTrade/partners', '/authorizations'],
  )
  const found = await harness.adapter.discover(ownLogin(), call())
  assert.deepEqual(
    found.map(({ institutionName, accounts }) => [institutionName, accounts?.length]),
    [
      ['Interactive Brokers', 3],
      ['Coinbase', 1],
      ['Stake', 1],
    ],
  )
})

for (const [mode, settings] of [
  ['under a commercial key', {}],
  ['beside another personal key', { ...personalSettings, clientId: 'SOMEONE' }],
  ['without variables', noSettings],
] as const) {
  test(`a key that a person brings works ${mode}, and is stored with its kind`, async () => {
    await using harness = await startHarness(settings)
    const { ifNothing: _, ...identity } = await identify(harness, demoPersonalKey)
    assert.deepEqual(identity, {
      upstreamUserId: 'TRIBUTARY-PERSONAL',
      secret: 'personal-key sandbox-personal-consumer-key',
      isPersonal: true,
    })
    await doAll(harness, { id: newId(), version: 1, ...identity })
  })
}

for (const [whose, settings, login] of [
  ['the variables', personalSettings, () => ownLogin()],
  ['a login', {}, ({ emulator }: Harness) => loginOf(emulator.people.personal)],
] as const) {
  test(`no request with the key of ${whose} has user parameters, and none is for commercial keys alone`, async () => {
    await using harness = await startHarness({ ...settings, accountLimitPerMinute: null })
    await identify(harness, whose === 'a login' ? demoPersonalKey : {})
    await doAll(harness, login(harness))
    await harness.adapter.probe?.(call())
    const { requests } = harness.emulator
    assert.ok(requests.length > 10)
    for (const { method, path, query } of requests) {
      if (path === '/') continue
      assert.deepEqual([query.has('userId'), query.has('userSecret')], [false, false], path)
      assert.doesNotMatch(path, /registerUser|deleteUser|listUsers|resetUserSecret|login/)
      assert.match(method, path.startsWith('/connection/') ? /^DELETE$/ : /^GET$/)
    }
    const [first] = requests.filter(({ path }) => path === '/accounts')
    assert.deepEqual([...(first?.query.keys() ?? [])], ['clientId', 'timestamp'])
  })
}

test('an account with 5,400 activities is read in six calls, and holdings in one', async () => {
  await using harness = await startHarness(personalSettings)
  const { emulator, adapter } = harness
  const { query, holdings } = aim(emulator.people.personal, 2)
  const pages = await readPages(adapter, { ...query, login: ownLogin() })
  assert.deepEqual([pages.length, pages.at(-1)?.total], [6, 5400])
  forgetRequests(harness)
  assert.ok((await adapter.holdings({ ...holdings, login: ownLogin() }, call())).length > 0)
  assert.equal(emulator.requests.length, 1)
})

const user = { snaptradeUserId: 'sandbox-healthy', userSecret: 'x' }
const forms: readonly [string, object, Fields, RegExp][] = [
  ['half a user', {}, { snaptradeUserId: 'x' }, /--snaptrade-user-id and --user-secret are only/],
  ['the other half', {}, { userSecret: 'x' }, /--snaptrade-user-id and --user-secret are only/],
  ['half a key', noSettings, { clientId: 'x' }, /--client-id and --consumer-key are only valid/],
  ['the other half', personalSettings, { consumerKey: 'x' }, /--client-id and --consumer-key are/],
  ['an empty half', {}, { ...user, userSecret: '' }, /only valid together/],
  ['both', {}, { ...user, ...demoPersonalKey }, /not both/],
  ['a blank', {}, { ...user, userSecret: 'personal-key x' }, /have no blanks/],
  ['nothing', {}, {}, /give --snaptrade-user-id and --user-secret of a user of this commercial/],
  ['nothing', noSettings, {}, /give the personal key with --client-id and --consumer-key/],
  ['a user', noSettings, user, /belong to a commercial key, which is not set/],
  ['a user', personalSettings, user, /a personal key has no user id and no secret/],
  [
    'the commercial key',
    {},
    { clientId: 'TRIBUTARY-SANDBOX', consumerKey: 'sandbox-consumer-key' },
    /this is the commercial key of SNAPTRADE_CLIENT_ID/,
  ],
]

for (const [given, settings, fields, why] of forms) {
  const { keyKind = 'commercial', clientId = '' } = settings as Record<string, string | null>
  const mode = clientId === null ? 'without variables' : `with a ${keyKind} key`
  test(`${given} ${mode} (${Object.keys(fields).join(', ')}) is refused in one line, without a request`, async () => {
    await using harness = await startHarness(settings)
    const failure = await failureOf(identify(harness, fields))
    assert.equal(failure.kind === 'rejected' && failure.status, 400)
    assert.match(failure.detail, why)
    assert.doesNotMatch(failure.detail, /\n|sandbox-consumer-key|sandbox-personal/)
    assert.deepEqual(harness.emulator.requests, [])
  })
}

test('a commercial key given as a personal one is told apart, whoever gives it', async () => {
  const commercial = { clientId: 'TRIBUTARY-SANDBOX', consumerKey: 'sandbox-consumer-key' }
  await using brought = await startHarness(noSettings)
  const failure = await failureOf(identify(brought, commercial))
  assert.equal(failure.kind, 'rejected')
  assert.match(failure.detail, /this is a commercial key, not a personal one: make a key in a Pers/)
  await using own = await startHarness({ ...commercial, keyKind: 'personal' })
  const owns = await failureOf(identify(own))
  assert.match(owns.detail, /this is a commercial key, not a personal one: set SNAPTRADE_KEY=comme/)
  const { failure: probed } = (await own.adapter.probe?.(call())) ?? {}
  assert.equal(probed?.kind, 'misconfigured')
  assert.match(probed.detail, /set SNAPTRADE_KEY=commercial$/)
})

test('a personal key in commercial mode refuses users, and the probe says which mode to set', async () => {
  await using harness = await startHarness(demoPersonalKey)
  assert.equal((await failureOf(identify(harness, user))).kind, 'rejected')
  const { failure } = (await harness.adapter.probe?.(call())) ?? {}
  assert.deepEqual(failure, {
    kind: 'misconfigured',
    status: 200,
    detail: 'the key of SNAPTRADE_CLIENT_ID is a personal key: set SNAPTRADE_KEY=personal',
  })
})

test('a key that SnapTrade answers for under another name is refused', async () => {
  await using harness = await startHarness(personalSettings)
  const { emulator } = harness
  emulator.addFault({
    when: ({ path }) => path === '/snapTrade/partners',
    does: { kind: 'edit', edit: (reply) => ({ ...reply, body: { slug: 'SOMEBODY-ELSE' } }) },
  })
  const failure = await failureOf(identify(harness))
  assert.match(failure.detail, /answers for another client id/)
  assert.equal((await harness.adapter.probe?.(call()))?.failure?.kind, 'misconfigured')
})

test('R20a: a 401 of the key of the variables is ours, and raises an alert without the key', async () => {
  await using harness = await startHarness({ ...personalSettings, consumerKey: 'regenerated' })
  const { adapter, emulator, recorded } = harness
  const { holdings, ref } = aim(emulator.people.personal)
  const login = ownLogin()
  for (const work of [
    () => identify(harness),
    () => adapter.discover(login, call()),
    () => adapter.holdings({ ...holdings, login }, call()),
    () => adapter.confirmEmpty(login, ref, call()),
    () => adapter.revoke(login, ref, { last: true, isAsked: true }, call()),
  ]) {
    recorded.alerts.length = 0
    const failure = await failureOf(work())
    assert.equal(failure.kind, 'misconfigured')
    assert.equal(recorded.alerts.length, 1)
  }
  assert.doesNotMatch(JSON.stringify(recorded), /regenerated|TRIBUTARY-PERSONAL/)
})

test('R20: a 401 of a key that a person brought loses every connection of the login, and alerts nobody', async () => {
  await using harness = await startHarness()
  const { adapter, emulator, recorded } = harness
  const { holdings, query, ref } = aim(emulator.people.personal)
  const login = { ...loginOf(emulator.people.personal), secret: 'personal-key regenerated' }
  for (const work of [
    () => adapter.discover(login, call()),
    () => adapter.holdings({ ...holdings, login }, call()),
    () => adapter.trades.read({ ...query, login }, null, call()),
    () => adapter.confirmEmpty(login, ref, call()),
  ]) {
    const failure = await failureOf(work())
    assert.ok(failure.kind === 'consent_lost' && failure.wholeLogin)
    assert.equal(failure.becomes, 'invalidated')
    assert.match(failure.detail, /refuses this personal key .*: link again with the key that its/)
  }
  assert.deepEqual(recorded.alerts, [])
  const given = { ...demoPersonalKey, consumerKey: 'regenerated' }
  const refused = await failureOf(identify(harness, given))
  assert.ok(refused.kind === 'rejected' && refused.isPersonal)
})

test('R20a: a refused clock is ours although a person brought the key', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const login = loginOf(emulator.people.personal)
  emulator.addFault({
    does: { kind: 'reply', reply: { status: 401, body: { detail: 'Invalid timestamp' } } },
  })
  assert.equal((await failureOf(adapter.discover(login, call()))).kind, 'misconfigured')
})

test('a plan that a person’s own key lacks is not ours to mend', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { holdings } = aim(emulator.people.personal)
  emulator.addFault({ does: { kind: 'reply', reply: { status: 402, body: { detail: 'plan' } } } })
  const failure = await failureOf(adapter.holdings(holdings, call()))
  assert.deepEqual(failure, { kind: 'rejected', status: 402, detail: 'plan' })
})

const strangers: readonly [string, object, (harness: Harness) => Login, RegExp][] = [
  ['a user under a personal key', personalSettings, ofHealthy, /SNAPTRADE_KEY is personal now/],
  ['a user without variables', noSettings, ofHealthy, /there is no commercial key now/],
  ['the key of the variables under a commercial one', {}, () => ownLogin(), /set SNAPTRADE_KEY=pe/],
  ['the key of the variables without them', noSettings, () => ownLogin(), /they are not set now/],
  [
    'a former key of the variables',
    personalSettings,
    () => ownLogin('FORMER'),
    /SNAPTRADE_CLIENT_ID is another one now: link again/,
  ],
]

function ofHealthy({ emulator }: Harness): Login {
  return loginOf(emulator.people.healthy)
}

for (const [linked, settings, login, why] of strangers) {
  test(`a login of ${linked} says what to do, and no request is made for it`, async () => {
    await using harness = await startHarness(settings)
    const { adapter, emulator } = harness
    const { holdings, query, ref } = aim(emulator.people.personal)
    const own = login(harness)
    for (const work of [
      () => adapter.discover(own, call()),
      () => adapter.holdings({ ...holdings, login: own }, call()),
      () => adapter.trades.read({ ...query, login: own }, null, call()),
      () => adapter.confirmEmpty(own, ref, call()),
      async () => adapter.listAlive?.(own, call()),
    ]) {
      const failure = await failureOf(work())
      assert.ok(failure.kind === 'misconfigured')
      assert.match(failure.detail, why)
    }
    // It still exists at SnapTrade, so the deletion waits for the key.
    const revoked = adapter.revoke(own, ref, { last: true, isAsked: true }, call())
    assert.equal((await failureOf(revoked)).kind, 'misconfigured')
    assert.deepEqual(emulator.requests, [])
  })
}

test('removing a connection of a personal key forgets it here; at SnapTrade it ends only when that was asked for', async () => {
  await using harness = await startHarness(personalSettings)
  const { adapter, emulator } = harness
  const person = emulator.people.personal
  const { ref } = aim(person)
  await adapter.revoke(ownLogin(), ref, { last: true, isAsked: false }, call())
  await adapter.revoke(loginOf(person), ref, { last: true, isAsked: false }, call())
  assert.deepEqual(emulator.requests, [])
  assert.equal(person.connections.length, 3)
  for (const login of [ownLogin(), loginOf(person)]) {
    await adapter.revoke(login, ref, { last: true, isAsked: true }, call())
    assert.deepEqual(
      person.connections.map(({ brokerage }) => brokerage),
      ['COINBASE', 'STAKEAUS'],
    )
  }
})

test('the probe names the accepted key, and notes more connections than the free plan has', async () => {
  await using harness = await startHarness(personalSettings)
  const { adapter, emulator, clock } = harness
  const probe = async () => adapter.probe?.(call())
  const reply = { theirTimeMs: clock.ms, failure: null }
  const note = 'personal key of TRIBUTARY-PERSONAL accepted'
  assert.deepEqual(await probe(), { ...reply, note })
  const { connections } = emulator.people.personal
  emulator.people.personal.connections = [...connections, ...connections]
  const many = `${note}; it has 6 connections, the free plan may be limited to 5`
  assert.deepEqual(await probe(), { ...reply, note: many })
  emulator.people.personal.connections = []
  const none = `${note}; no broker is connected in the SnapTrade Dashboard yet`
  assert.deepEqual(await probe(), { ...reply, note: none })
})

test('without a key the probe asks for the time alone, unsigned', async () => {
  await using harness = await startHarness(noSettings)
  const { adapter, emulator, clock } = harness
  assert.deepEqual(await adapter.probe?.(call()), { theirTimeMs: clock.ms, failure: null })
  assert.deepEqual(
    emulator.requests.map(({ path, rawQuery, headers }) => [path, rawQuery, headers.signature]),
    [['/', '', undefined]],
  )
})

test('each mode says whose key it uses, what is off, and what to do next', async () => {
  const describe = async (settings: object) => {
    await using harness = await startHarness(settings)
    const { access, webhooks } = harness.adapter
    return { ...access, hasReceiver: webhooks !== undefined }
  }
  const commercial = await describe({})
  assert.deepEqual([commercial.mode, commercial.off], ['commercial key', []])
  assert.ok(commercial.hasOwnCredentials && commercial.hasReceiver)
  const personal = await describe(personalSettings)
  assert.deepEqual([personal.mode, personal.off], ['personal key', ['webhooks']])
  assert.ok(personal.hasOwnCredentials && !personal.hasReceiver)
  assert.match(personal.nextStep, /`tributary connections link U --provider snaptrade`/)
  const open = await describe(noSettings)
  assert.deepEqual([open.mode, open.off], ['personal keys of people', ['webhooks']])
  assert.ok(!open.hasOwnCredentials && !open.hasReceiver)
  assert.match(open.nextStep, /--client-id X --consumer-key -`/)
})
