/** Linking at Enable Banking: applications, the bank's page, sessions, and accounts that keep their ids. */
import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { Credentials } from '#providers/credentials.ts'
import { personalApplication } from '#sandbox/enablebanking/index.ts'
import {
  accountOf,
  adopt,
  call,
  dayMs,
  failureOf,
  link,
  linkingOf,
  makeGround,
  personOf,
  press,
  refsOf,
  returnUrl,
  toLogin,
  user,
  visitBank,
} from './harness.ts'

const own = (fields: object): Credentials => ({ provider: 'enablebanking', ...fields })
const asFile = (pem: string) => Buffer.from(pem).toString('base64')

test('a person chooses a country and a bank, agrees on its page, and the session has their accounts', async () => {
  await using ground = await makeGround()
  const { byCountry } = linkingOf(ground)
  assert.ok(byCountry !== undefined)
  const countries = await byCountry.countries(null, call)
  assert.ok(countries.includes('FI') && countries.includes('DE'))
  const banks = await byCountry.list(null, 'FI', call)
  assert.deepEqual(
    banks.map(({ id, name }) => [id, name]),
    [
      ['FI:Mock ASPSP', 'Mock ASPSP'],
      ['FI:Pankki Kaarna', 'Pankki Kaarna'],
    ],
  )
  const login = await link(ground, 'healthy')
  const { found } = await refsOf(ground, login)
  assert.deepEqual(
    [found.institutionId, found.institutionName, found.status, found.consentExpiresAt],
    ['FI:Pankki Kaarna', 'Pankki Kaarna', 'active', '2027-05-19T20:15:00.000Z'],
  )
  assert.deepEqual(
    found.accounts?.map(({ name, type, accountNumber, currency }) => [
      name,
      type,
      accountNumber,
      currency,
    ]),
    [
      ['Käyttötili', 'transaction', 'xxxx0023', 'EUR'],
      ['Säästötili', 'savings', 'xxxx3458', 'EUR'],
      ['Kaarna Credit', 'credit-card', 'xxxx5323', 'EUR'],
    ],
  )
  // What a bank tells of its holder is personal.
  assert.ok(!JSON.stringify([found, login.secret]).includes('Virtanen'))
  assert.ok(!String(login.secret).includes('FI4250001510000023'))
})

test('the list of a country is asked for once a day', async () => {
  await using ground = await makeGround()
  const { byCountry } = linkingOf(ground)
  for (let count = 0; count < 3; count += 1) await byCountry?.list(null, 'FI', call)
  assert.equal(ground.exchanges.filter((one) => one.endsWith('GET /aspsps')).length, 1)
  ground.clock.ms += dayMs + 1
  await byCountry?.list(null, 'FI', call)
  assert.equal(ground.exchanges.filter((one) => one.endsWith('GET /aspsps')).length, 2)
})

test('countries that the operator set take the place of the application’s', async () => {
  await using ground = await makeGround({ countries: ['FI', 'SE'] })
  assert.deepEqual(await linkingOf(ground).byCountry?.countries(null, call), ['FI', 'SE'])
})

test('a bank that is not in the list is refused before anything is opened', async () => {
  await using ground = await makeGround()
  for (const name of ['FI:No such bank', 'Pankki Kaarna', 'DE:Pankki Kaarna', 'FI:']) {
    const failure = await failureOf(visitBank(ground, name))
    assert.deepEqual(
      [failure.kind, failure.detail],
      ['rejected', 'there is no such bank in the list of this country'],
    )
  }
  assert.ok(!ground.exchanges.some((one) => one.endsWith('/auth')))
})

const endings = [
  ['decline', 'cancelled'],
  ['bank-down', 'unavailable'],
  ['late', 'expired'],
  ['hidden', 'ineligible'],
] as const

for (const [decision, reason] of endings) {
  test(`a return after "${decision}" ends as ${reason}`, async () => {
    await using ground = await makeGround()
    const result = await visitBank(ground, 'FI:Pankki Kaarna', { decision })
    assert.equal(result.kind === 'failed' && result.reason, reason)
  })
}

test('a code is exchanged once: the same return again is expired, and a forged code too', async () => {
  await using ground = await makeGround()
  await link(ground, 'healthy')
  const { body } = ground.server.requests.findLast(({ path }) => path === '/sessions') ?? {}
  const { code } = JSON.parse(body ?? '{}')
  for (const one of [code, 'forged']) {
    const query = new URLSearchParams({ code: one })
    const result = await linkingOf(ground).finish(
      { login: null, renews: null, query, returnUrl },
      press,
    )
    assert.equal(result.kind === 'failed' && result.reason, 'expired')
  }
  const twice = new URLSearchParams('code=a&code=b')
  const result = await linkingOf(ground).finish(
    { login: null, renews: null, query: twice, returnUrl },
    press,
  )
  assert.equal(result.kind === 'failed' && result.reason, 'unavailable')
})

test('a return address that is not registered is for the operator, who is told which one to add', async () => {
  await using ground = await makeGround()
  ground.server.site.redirectUrls = ['https://other.example/providers/enablebanking/callback']
  const failure = await failureOf(visitBank(ground, 'FI:Pankki Kaarna'))
  assert.equal(failure.kind, 'misconfigured')
  assert.match(failure.detail, /add \{BASE_URL\}\/providers\/enablebanking\/callback/)
  assert.equal(ground.alerts.length, 1)
})

test('a renewal keeps the ids of accounts although the session gives them others, and matches any hash', async () => {
  await using ground = await makeGround()
  const login = await link(ground, 'healthy')
  const { found, connection } = await refsOf(ground, login)
  const account = accountOf(ground, 'healthy')
  const before = account.hash
  account.hash = `${before}x`
  account.hashes = [before]
  const renewed = await link(ground, 'healthy', { login, renews: connection, known: [login] })
  assert.equal(renewed.upstreamUserId, login.upstreamUserId)
  const again = await refsOf(ground, renewed)
  assert.equal(again.found.upstreamId, found.upstreamId)
  assert.deepEqual(
    again.found.accounts?.map(({ upstreamId }) => upstreamId),
    found.accounts?.map(({ upstreamId }) => upstreamId),
  )
  // The account is read by the id of the new session.
  const { balances } = (await ground.adapter.balances?.(
    { login: renewed, accounts: again.refs.map((ref) => ({ account: ref, connection })) },
    call,
  )) ?? { balances: [] }
  assert.equal(balances.length, 3)
})

test('a renewal at another bank changes nothing, and its session is kept to be ended', async () => {
  await using ground = await makeGround()
  const login = await link(ground, 'healthy')
  const { connection } = await refsOf(ground, login)
  const kept: string[] = []
  const keep = async (secret: string) => void kept.push(secret)
  const visit = { login, renews: connection, keep }
  const result = await visitBank(ground, 'DE:Bank am Kanal', visit)
  assert.equal(result.kind === 'failed' && result.reason, 'different_account')
  assert.equal(kept.length, 1)
})

test('an application of a person’s own is checked, kept with the login, and opens the bank’s page', async () => {
  await using ground = await makeGround({ application: null })
  const { id: applicationId, privateKey } = personalApplication
  assert.equal(linkingOf(ground).needsLogin, true)
  const identity = await ground.adapter.identify(own({ applicationId, privateKey }), call)
  assert.deepEqual([identity.isPersonal, identity.needsConsent], [true, true])
  const login = toLogin(identity)
  assert.equal(linkingOf(ground).isPreferred?.(login), true)
  assert.deepEqual(await ground.adapter.discover(login, call), [])
  const linked = await link(ground, 'healthy', { login })
  assert.notEqual(linked.upstreamUserId, login.upstreamUserId)
  assert.equal((await refsOf(ground, linked)).found.accounts?.length, 3)
  const signed = ground.server.requests.at(-1)?.headers.authorization?.split('.')[0] ?? ''
  const header = JSON.parse(Buffer.from(signed.replace('Bearer ', ''), 'base64url').toString())
  assert.deepEqual(header, { typ: 'JWT', alg: 'RS256', kid: applicationId })
})

const { privateKey: elliptic } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const { privateKey: other } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const { publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const applicationId = personalApplication.id

/** Its public exponent is another one. */
const damagedKey = createPrivateKey({
  key: { ...createPrivateKey(other).export({ format: 'jwk' }), e: 'Aw' },
  format: 'jwk',
})
  .export({ type: 'pkcs8', format: 'pem' })
  .toString()

const wrongKeys: readonly (readonly [string, object, RegExp])[] = [
  ['no PEM', { applicationId, privateKey: 'hello there' }, /is no PEM text: copy the whole file/],
  [
    'a cut one',
    {
      applicationId,
      privateKey: personalApplication.privateKey.replace(/.{200}\n-----END/s, '\n-----END'),
    },
    /cannot be read: it is cut or damaged/,
  ],
  ['an elliptic key', { applicationId, privateKey: elliptic }, /is no RSA key/],
  [
    'a damaged one',
    { applicationId, privateKey: damagedKey },
    /is damaged: it makes no valid signature; copy the whole file again/,
  ],
  ['a public key', { applicationId, privateKey: publicKey }, /is the public part/],
  ['another’s', { applicationId, privateKey: other }, /do not belong together/],
  ['an unknown id', { applicationId: 'unknown', privateKey: other }, /do not belong together/],
  ['half', { applicationId }, /give the application id and its private key together/],
  ['nothing', {}, /give --session, the id of an authorised session; or link on the page/],
  ['an unknown session', { session: 'nobody' }, /this session is unknown or has ended/],
]

for (const [name, fields, expected] of wrongKeys) {
  test(`what is given is refused with what to do, and never repeated: ${name}`, async () => {
    await using ground = await makeGround()
    const failure = await failureOf(ground.adapter.identify(own(fields), call))
    assert.equal(failure.kind, 'rejected')
    assert.match(failure.detail, expected)
    for (const text of Object.values(fields)) assert.ok(!failure.detail.includes(text.slice(0, 60)))
  })
}

test('a private key is read in every form in which it is copied', async () => {
  await using ground = await makeGround()
  const { privateKey } = personalApplication
  const forms = [
    privateKey,
    privateKey.replaceAll('\n', ' '),
    privateKey.replaceAll('\n', ''),
    privateKey.replaceAll('\n', '\\n'),
    privateKey.replaceAll('\n', '\r\n'),
    asFile(privateKey),
  ]
  for (const form of forms) {
    const identity = await ground.adapter.identify(own({ applicationId, privateKey: form }), call)
    assert.equal(identity.needsConsent, true)
  }
})

test('a consent is ended at the bank where it was given here, or where that is asked for', async () => {
  await using ground = await makeGround()
  const adopted = await adopt(ground, 'healthy')
  const { connection } = await refsOf(ground, adopted)
  const end = (isAsked: boolean, login = adopted) =>
    ground.adapter.revoke(login, connection, { last: true, isAsked }, call)
  const deletions = () => ground.exchanges.filter((one) => one.includes('DELETE')).length
  await end(false)
  assert.equal(deletions(), 0)
  await end(true)
  assert.equal(deletions(), 1)
  const linked = await link(ground, 'twins')
  await end(false, linked)
  // Again: it has ended already.
  await end(false, linked)
  assert.equal(deletions(), 3)
  assert.equal((await refsOf(ground, linked)).found.status, 'invalidated')
})

test('a session that has ended makes the connection invalidated or revoked, and its accounts stay', async () => {
  await using ground = await makeGround()
  const login = await link(ground, 'healthy')
  const person = personOf(ground, 'healthy')
  for (const [error, status] of [
    ['EXPIRED_SESSION', 'invalidated'],
    ['REVOKED_SESSION', 'revoked'],
  ] as const) {
    person.ended = { error }
    const [found] = await ground.adapter.discover(login, call)
    assert.deepEqual([found?.status, found?.accounts], [status, null])
    assert.deepEqual(await ground.adapter.listAlive?.(login, call), [])
  }
  delete person.ended
  assert.equal((await ground.adapter.listAlive?.(login, call))?.length, 1)
})

test('a probe tells the application’s state; without one, that the provider answers', async () => {
  await using ground = await makeGround()
  const good = await ground.adapter.probe?.(call)
  assert.deepEqual(
    [good?.failure, good?.note, good?.nextStep],
    [null, 'the application (production) is active', undefined],
  )
  const { site } = ground.server
  const [application] = site.applications
  assert.ok(application !== undefined)
  application.isActive = false
  assert.match(
    (await ground.adapter.probe?.(call))?.nextStep ?? '',
    /^Link an account in the control/,
  )
  application.isActive = true
  site.redirectUrls = ['https://other.example/']
  assert.deepEqual((await ground.adapter.probe?.(call))?.returnUrls, ['https://other.example/'])
  await using bare = await makeGround({ application: null })
  assert.equal((await bare.adapter.probe?.(call))?.failure, null)
})

test('a clock that is a minute ahead or behind makes valid tokens; one of ten minutes is for the operator', async () => {
  for (const aheadMs of [-60_000, 55_000]) {
    await using ground = await makeGround({ aheadMs })
    assert.equal((await ground.adapter.probe?.(call))?.failure, null)
  }
  await using ground = await makeGround({ aheadMs: 660_000 })
  const failure = (await ground.adapter.probe?.(call))?.failure
  assert.equal(failure?.kind, 'misconfigured')
  assert.match(failure.detail, /the clock of this machine/)
})

test('the person is told to the bank as a random id, without their address or name', async () => {
  await using ground = await makeGround()
  await link(ground, 'healthy')
  const asked = ground.server.requests.find(({ path }) => path === '/auth')
  const body = JSON.parse(asked?.body ?? '{}')
  assert.equal(body.psu_id, user)
  assert.ok(!asked?.body.includes('sam@example.com'))
  assert.equal(asked?.headers['psu-ip-address'], '203.0.113.7')
})
