/**
 * Tests of consents: who is let in, what is discovered, what an empty answer means, and that ending a consent
 * may be repeated.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { upstreamId } from '#kernel/ids.ts'
import { failureOf, link, loginOf, makeCall, openSetting, type Setting } from './harness.ts'

const healthy = loginOf('eu_sandbox_healthy')

function discover(setting: Setting) {
  return setting.adapter.discover(healthy, makeCall())
}

test('an end user that exists is identified, and there is nothing secret to keep', async () => {
  await using setting = await openSetting()
  const credentials = { provider: 'fiskil', endUserId: 'eu_sandbox_healthy' } as const
  assert.deepEqual(await setting.adapter.identify(credentials, makeCall()), {
    isPersonal: false,
    upstreamUserId: 'eu_sandbox_healthy',
    secret: null,
  })
})

test('end users that do not exist, or could not, are refused', async () => {
  await using setting = await openSetting()
  for (const endUserId of ['eu_nobody', '', '..', '.', 'a/b', 'a?b', 'ä', 'x'.repeat(300)]) {
    const credentials = { provider: 'fiskil', endUserId } as const
    const failure = await failureOf(setting.adapter.identify(credentials, makeCall()))
    assert.equal(failure.kind === 'rejected' && failure.status, 404, endUserId)
  }
  const foreign = { provider: 'akahu', userToken: 't' } as const
  assert.equal((await failureOf(setting.adapter.identify(foreign, makeCall()))).kind, 'rejected')
})

test('an end user whose path is unknown at the provider is not refused: the list of consents decides', async () => {
  await using setting = await openSetting()
  const when = (request: { path: string }) => request.path.startsWith('/v1/end-users')
  const credentials = { provider: 'fiskil', endUserId: 'eu_sandbox_healthy' } as const
  const identify = () => setting.adapter.identify(credentials, makeCall())
  for (const status of [404, 405]) {
    setting.emulator.addFault({
      when,
      does: { kind: 'reply', reply: { status, body: 'no route' } },
    })
    assert.equal((await identify()).upstreamUserId, 'eu_sandbox_healthy')
    setting.emulator.clearFaults()
  }
  setting.emulator.addFault({ when, does: { kind: 'reply', reply: { status: 403 } } })
  assert.equal((await failureOf(identify())).kind, 'rejected')
})

test('every bank is discovered with its accounts, masked, typed and in their currency', async () => {
  await using setting = await openSetting()
  const found = await discover(setting)
  assert.deepEqual(
    found.map(({ institutionId, institutionName, status }) => [
      institutionId,
      institutionName,
      status,
    ]),
    [
      ['22', 'Wattle Bank', 'active'],
      ['41', 'Southern Cross Mutual', 'active'],
    ],
  )
  assert.equal(found[0]?.institutionLogo, 'https://cdn.sandbox.example/wattle-bank.png')
  assert.equal(found[0]?.lastRefreshedAt, null)
  assert.deepEqual(
    found[0]?.accounts?.map(({ name, type, accountNumber, currency }) => [
      name,
      type,
      accountNumber,
      currency,
    ]),
    [
      ['Everyday', 'transaction', 'xxxx8821', 'AUD'],
      ['Bonus Saver', 'savings', 'xxxx8848', 'AUD'],
      ['Low Rate Card', 'credit-card', 'xxxx5510', 'AUD'],
      ['Home Loan', 'loan', 'xxxx1934', 'AUD'],
      ['Travel Card USD', 'transaction', 'xxxx9023', 'USD'],
    ],
  )
  assert.doesNotMatch(JSON.stringify(found), /10348821|082-902/)
})

test('lists are read alike in v1, v2 and v3', async () => {
  const answers: string[] = []
  for (const version of ['v1', 'v2', 'v3']) {
    await using setting = await openSetting({ version })
    answers.push(JSON.stringify(await discover(setting)))
  }
  assert.equal(new Set(answers).size, 1)
})

test('of several consents to one bank the active one counts, then the newest', async () => {
  await using setting = await openSetting()
  const consents = setting.emulator.people.healthy.consents
  const [wattle] = consents
  assert.ok(wattle !== undefined)
  const day = 86_400_000
  const older = {
    ...wattle,
    arrangementId: 'arr-older',
    createdAtMs: wattle.createdAtMs - 30 * day,
    accounts: [],
  }
  const newer = { ...older, arrangementId: 'arr-newer', createdAtMs: wattle.createdAtMs + day }
  consents.unshift(older, newer)
  const ids = async () => (await discover(setting)).map((one) => `${one.upstreamId}`)
  const second = consents[3]?.arrangementId ?? ''
  assert.deepEqual(await ids(), ['arr-newer', second])
  newer.active = false
  assert.deepEqual(await ids(), [wattle.arrangementId, second])
})

test('a bank without a name or a logo has null for them', async () => {
  await using setting = await openSetting()
  setting.emulator.addFault({
    when: (request) => request.path === '/v1/consent',
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: JSON.stringify(reply.body)
          .replace('"Wattle Bank"', '""')
          .replace(/"institution_logo":"[^"]+"/, '"institution_logo":""'),
      }),
    },
  })
  const [wattle] = await discover(setting)
  assert.deepEqual([wattle?.institutionName, wattle?.institutionLogo], [null, null])
})

test('consents to energy companies are no banks', async () => {
  await using setting = await openSetting()
  const [wattle] = setting.emulator.people.healthy.consents
  assert.ok(wattle !== undefined)
  wattle.institutionId = '305'
  assert.deepEqual(
    (await discover(setting)).map((one) => one.institutionId),
    ['41'],
  )
})

test('a consent that ended keeps the accounts we have, and so does one that is still filling', async () => {
  await using setting = await openSetting()
  const [wattle, southern] = setting.emulator.people.healthy.consents
  assert.ok(wattle !== undefined && southern !== undefined)
  wattle.active = false
  southern.synced = false
  const found = await discover(setting)
  assert.deepEqual(
    found.map(({ status, accounts, lastRefreshedAt }) => [status, accounts, lastRefreshedAt]),
    [
      ['revoked', null, null],
      ['active', null, null],
    ],
  )
  wattle.expiresAtMs = setting.clock.ms
  assert.equal((await discover(setting))[0]?.status, 'invalidated')
})

test('refused balances, and an outage of them, leave the currency open; the accounts are found', async () => {
  await using setting = await openSetting()
  const when = (request: { path: string }) => request.path === '/v1/banking/balances'
  const fail = (status: number) =>
    setting.emulator.addFault({ when, does: { kind: 'reply', reply: { status } } })
  for (const status of [403, 404, 429, 502]) {
    fail(status)
    const [found] = await discover(setting)
    assert.deepEqual([...new Set(found?.accounts?.map(({ currency }) => currency))], [null])
    assert.equal(setting.oddities.pop(), 'no balances during discovery')
    setting.emulator.clearFaults()
  }
})

test('R23: a consent or an account that cannot be read fails the discovery', async () => {
  await using setting = await openSetting()
  const rows = [
    ['/v1/consent', { consents: [{ arrangement_id: 'a' }] }],
    ['/v1/consent', { consents: 'none' }],
    ['/v1/banking/accounts', { accounts: [{ account_id: 5 }] }],
  ] as const
  for (const [at, body] of rows) {
    setting.emulator.addFault({
      when: (request) => request.path === at,
      does: { kind: 'reply', reply: { status: 200, body } },
    })
    assert.equal((await failureOf(discover(setting))).kind, 'malformed')
    setting.emulator.clearFaults()
  }
})

test('an end user without consents has no connections', async () => {
  await using setting = await openSetting()
  setting.emulator.people.healthy.deleted = true
  assert.deepEqual(await discover(setting), [])
})

test('R20b: an empty answer is trusted only while the consent is active', async () => {
  await using setting = await openSetting()
  const { login, connection } = link(setting, 'history')
  const person = setting.emulator.people.history
  const [consent] = person.consents
  assert.ok(consent !== undefined)
  const confirm = () => setting.adapter.confirmEmpty(login, connection, makeCall())
  const lost = async () => {
    const failure = await failureOf(confirm())
    assert.equal(failure.detail, 'consent withdrawn, reconnect')
    return failure.kind === 'consent_lost' ? failure.becomes : failure.kind
  }
  await confirm()
  consent.active = false
  assert.equal(await lost(), 'revoked')
  consent.expiresAtMs = setting.clock.ms
  assert.equal(await lost(), 'invalidated')
  person.consents = []
  assert.equal(await lost(), 'revoked')
  person.deleted = true
  assert.equal(await lost(), 'revoked')
})

test('R20b: an end user reported as unknown has lost the consent, another 404 proves nothing', async () => {
  await using setting = await openSetting()
  const { login, connection } = link(setting, 'history')
  const kind = async (name: string) => {
    const reply = { status: 404, body: { name, message: 'no' } }
    setting.emulator.addFault({
      when: (request) => request.path === '/v1/consent',
      times: 1,
      does: { kind: 'reply', reply },
    })
    return (await failureOf(setting.adapter.confirmEmpty(login, connection, makeCall()))).kind
  }
  assert.equal(await kind('end_user_not_found'), 'consent_lost')
  assert.equal(await kind('not_found'), 'rejected')
})

test('R20a: an active consent whose accounts have not arrived is still being prepared', async () => {
  await using setting = await openSetting()
  const { login, connection } = link(setting, 'history')
  const [consent] = setting.emulator.people.history.consents
  assert.ok(consent !== undefined)
  consent.synced = false
  const failure = await failureOf(setting.adapter.confirmEmpty(login, connection, makeCall()))
  assert.equal(failure.kind, 'preparing')
})

test('revoking ends the consent at the provider and may be repeated', async () => {
  await using setting = await openSetting()
  const { login, connection } = link(setting, 'history')
  const revoke = (target = connection) =>
    setting.adapter.revoke(login, target, { last: true, isAsked: false }, makeCall())
  await revoke()
  assert.equal(setting.emulator.people.history.consents[0]?.active, false)
  assert.equal(setting.emulator.people.history.deleted, false)
  await revoke()
  await revoke({ ...connection, upstreamId: upstreamId('unknown') })
  setting.emulator.addFault({
    when: ({ method }) => method === 'DELETE',
    does: { kind: 'reply', reply: { status: 404 } },
  })
  await revoke()
})

test('a revocation that failed is reported', async () => {
  await using setting = await openSetting()
  const { login, connection } = link(setting, 'history')
  setting.emulator.addFault({
    when: (request) => request.method === 'DELETE',
    does: { kind: 'reply', reply: { status: 500 } },
  })
  const revoking = setting.adapter.revoke(
    login,
    connection,
    { last: false, isAsked: false },
    makeCall(),
  )
  assert.equal((await failureOf(revoking)).kind, 'unavailable')
})

test('ending a login deletes the end user, may be repeated, and takes no wrong address for it', async () => {
  await using setting = await openSetting()
  const { login } = link(setting, 'history')
  const end = async () => setting.adapter.endLogin?.(login, makeCall())
  await end()
  await end()
  assert.equal(setting.emulator.people.history.deleted, true)
  setting.emulator.addFault({ does: { kind: 'reply', reply: { status: 404 } } })
  assert.equal((await failureOf(end())).kind, 'rejected')
})
