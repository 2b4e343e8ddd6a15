/** Linking at a SimpleFIN server: what is pasted, claims, and what a login reaches (reading R38). */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import type { Credentials, SentClaims } from '#providers/credentials.ts'
import type { Misbehaviour } from '#sandbox/emulator.ts'
import { toAccessUrl, toSetupToken } from '#sandbox/simplefin/index.ts'
import { bankOf, call, failureOf, type Ground, loginFor, makeGround, personOf } from './harness.ts'

const paste = (setupToken: string): Credentials => ({ provider: 'simplefin', setupToken })
const base64 = (text: string) => Buffer.from(text).toString('base64')

test('R38: a setup token is claimed once; pasted again it leads to the login that it was claimed for', async () => {
  await using ground = await makeGround()
  const { adapter, server } = ground
  const token = toSetupToken(server.baseUrl, 'healthy')
  const identity = await adapter.identify(paste(token), call)
  assert.deepEqual([identity.isPersonal, identity.isClaimed], [true, true])
  assert.equal(identity.upstreamUserId, server.faultControls.upstreamUserId('healthy'))
  const login = { ...loginFor(ground, 'healthy'), ...identity }
  const again = await adapter.identify(paste(token), call, [login])
  assert.deepEqual([again.upstreamUserId, again.secret], [identity.upstreamUserId, identity.secret])
  assert.equal(server.requests.filter(({ method }) => method === 'POST').length, 1)
  const claim = server.requests.find(({ method }) => method === 'POST')
  assert.deepEqual([claim?.headers['content-length'], claim?.body], ['0', ''])
  // Somebody else with the same token.
  const refused = await failureOf(adapter.identify(paste(token), call))
  assert.equal(refused.kind, 'rejected')
  assert.match(refused.detail, /used before or is unknown; if you did not use it, disable it/)
})

test('an access URL links as it is, and so does a token in base64url without padding', async () => {
  await using ground = await makeGround()
  const { adapter, server } = ground
  const byUrl = await adapter.identify(paste(toAccessUrl(server.baseUrl, 'twins')), call)
  const token = Buffer.from(`${server.baseUrl}/claim/twins-7`).toString('base64url')
  const byToken = await adapter.identify(paste(token), call)
  assert.equal(byUrl.upstreamUserId, byToken.upstreamUserId)
  assert.deepEqual([byUrl.isClaimed, byToken.isClaimed], [undefined, true])
})

test('a new token of the same server names the logins whose connections it may renew', async () => {
  await using ground = await makeGround()
  const { adapter, server } = ground
  const here = loginFor(ground, 'healthy')
  const other = {
    ...loginFor(ground, 'twins'),
    secret: JSON.stringify({ accessUrl: 'https://a:b@elsewhere.example/simplefin', claim: null }),
  }
  const damaged = { ...loginFor(ground, 'twins'), secret: 'no JSON' }
  const identity = await adapter.identify(paste(toSetupToken(server.baseUrl, 'healthy', 2)), call, [
    here,
    other,
    damaged,
  ])
  assert.deepEqual(identity.peers, [here.id])
})

const misshapen: readonly (readonly [string, RegExp])[] = [
  ['no token at all', /is no setup token: copy the whole of it/],
  [base64('not a url'), /is no setup token/],
  [base64('ftp://x.example/claim/1'), /is no setup token/],
  [base64('http://bridge.example/claim/1'), /leads to an address that must begin with https/],
  [
    base64('https://127.0.0.1/claim/1'),
    /leads to an address that must lead to the public internet/,
  ],
  [base64('https://localhost/claim/1'), /leads to an address that/],
  [base64('https://a:b@bridge.example/claim/1'), /must not hold a user name or password/],
  [base64('https://bridge.example:8443/claim/1'), /must use port 443/],
  ['https://bridge.example/simplefin', /has no user name and password/],
  ['https://a:b@10.0.0.1/simplefin', /leads to an address that must lead to the public internet/],
  [
    'http://a:b@bridge.example/simplefin',
    /must begin with https:\/\/; for a server of your own the operator sets SIMPLEFIN_ALLOW_PRIVATE=true$/,
  ],
  ['https://a:b@bridge.example/simplefin?x=1', /has more than a path/],
]

for (const [text, expected] of misshapen) {
  test(`what is pasted is judged before anything is sent: ${expected.source} (${text.slice(0, 24)})`, async () => {
    await using ground = await makeGround({ allowPrivate: false })
    const failure = await failureOf(ground.adapter.identify(paste(text), call))
    assert.equal(failure.kind, 'rejected')
    assert.match(failure.detail, expected)
    assert.ok(!failure.detail.includes(text))
    assert.deepEqual(ground.server.requests, [])
  })
}

/** As the store remembers them. */
function rememberClaims(): SentClaims & { readonly names: ReadonlySet<string> } {
  const names = new Set<string>()
  return {
    names,
    async add(name) {
      if (names.has(name)) return false
      names.add(name)
      return true
    },
    waitFor: async () => null,
    async remove(name) {
      names.delete(name)
    },
  }
}

const lostAnswers: readonly (readonly [string, Misbehaviour])[] = [
  ['is reset', { kind: 'reset' }],
  ['does not come', { kind: 'hang' }],
  ['breaks off', { kind: 'truncate', afterBytes: 10 }],
  ['is too large', { kind: 'endless' }],
  ['is 500', { kind: 'reply', reply: { status: 500, body: 'oops' } }],
  ['is 502 in HTML', { kind: 'reply', reply: { status: 502, body: '<html>' } }],
  ['is 201', { kind: 'reply', reply: { status: 201, body: 'https://a:b@c.example/x' } }],
  ['is empty', { kind: 'reply', reply: { status: 200, body: '' } }],
  ['is packed', { kind: 'reply', reply: { status: 200, body: '\u001f\u008b\b\u0000packed' } }],
]

for (const [name, does] of lostAnswers) {
  test(`R38: a claim whose answer ${name} is not repeated, and the person is told to make a new token`, async () => {
    await using ground = await makeGround({ timeoutMs: 50 })
    const { adapter, server } = ground
    const token = paste(toSetupToken(server.baseUrl, 'healthy', 9))
    const sent = rememberClaims()
    server.addFault({ times: 1, does })
    const failure = await failureOf(adapter.identify(token, call, [], sent))
    assert.equal(failure.kind, 'rejected')
    assert.match(failure.detail, /a token works once|which works once/)
    assert.match(failure.detail, /make a new setup token$/)
    const again = await failureOf(adapter.identify(token, call, [], sent))
    assert.equal(again.kind, 'rejected')
    assert.match(again.detail, /sent to its server before.* cannot be used again: make a new/)
    assert.equal(server.requests.length, 1)
  })
}

const refusedClaims: readonly (readonly [string, Misbehaviour, RegExp])[] = [
  ['429', { kind: 'reply', reply: { status: 429, body: '' } }, /paste the same one again later/],
  ['402', { kind: 'reply', reply: { status: 402, body: '' } }, /the subscription .* has ended/],
]

for (const [name, does, expected] of refusedClaims) {
  test(`a claim that the server refuses by ${name} was not made, and the same token may be pasted again`, async () => {
    await using ground = await makeGround()
    const { adapter, server } = ground
    const token = paste(toSetupToken(server.baseUrl, 'healthy'))
    const sent = rememberClaims()
    server.addFault({ times: 1, does })
    const failure = await failureOf(adapter.identify(token, call, [], sent))
    assert.match(failure.detail, expected)
    assert.equal((await adapter.identify(token, call, [], sent)).isClaimed, true)
    assert.equal(sent.names.size, 1)
  })
}

test('a claim that was not sent may be repeated: nobody listens there, or the address is not allowed', async () => {
  await using ground = await makeGround()
  const closed = await new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
  const sent = rememberClaims()
  const token = paste(base64(`http://127.0.0.1:${closed}/claim/1`))
  for (let count = 0; count < 2; count += 1) {
    const failure = await failureOf(ground.adapter.identify(token, call, [], sent))
    assert.equal(failure.kind, 'rejected')
    assert.match(failure.detail, /cannot be reached \(ECONNREFUSED\), so the token is not used/)
  }
  assert.equal(sent.names.size, 0)
})

test('a login reaches every bank with its accounts, numbers masked and types by their names', async () => {
  await using ground = await makeGround()
  const found = await ground.adapter.discover(loginFor(ground, 'healthy'), call)
  assert.deepEqual(
    found.map(({ institutionName, status, lastRefreshedAt, accounts }) => [
      institutionName,
      status,
      lastRefreshedAt,
      accounts?.map(({ name, type, accountNumber, currency, assumed }) => [
        name,
        type,
        accountNumber,
        currency,
        assumed,
      ]),
    ]),
    [
      [
        'First Prairie Bank',
        'active',
        '2026-11-20T12:00:00.000Z',
        [
          ['Everyday Checking (1234)', 'transaction', 'xxxx1234', 'USD', ['type']],
          ['Rainy Day Savings (5678)', 'savings', 'xxxx5678', 'USD', ['type']],
          ['Rewards Visa (9012)', 'credit-card', 'xxxx9012', 'USD', ['type']],
        ],
      ],
      [
        'Maple Credit Union',
        'active',
        '2026-11-20T12:00:00.000Z',
        [['Chequing (7788)', 'transaction', 'xxxx7788', 'CAD', ['type']]],
      ],
    ],
  )
})

test('a currency that is an address is shown as XXX and never asked', async () => {
  await using ground = await makeGround()
  const [bank] = await ground.adapter.discover(loginFor(ground, 'foreign'), call)
  assert.deepEqual(
    bank?.accounts?.map(({ currency }) => currency),
    ['XXX', 'EUR'],
  )
  assert.equal(ground.server.requests.length, 1)
})

test('a bank that asks for its person is invalidated, and its missing accounts stay', async () => {
  await using ground = await makeGround()
  bankOf(ground, 'healthy').trouble = 'con.auth'
  bankOf(ground, 'healthy').accounts = []
  const [first, second] = await ground.adapter.discover(loginFor(ground, 'healthy'), call)
  assert.deepEqual([first?.status, first?.accounts], ['invalidated', null])
  assert.deepEqual([second?.status, second?.accounts?.length], ['active', 1])
})

/** The server answers with one account. */
function answer({ server }: Ground, account: object, connections: readonly object[] = []) {
  const whole = { id: 'A1', name: 'Checking', currency: 'USD', balance: '1.00', ...account }
  const body = { connections, accounts: [whole] }
  server.addFault({ does: { kind: 'reply', reply: { status: 200, body } } })
}

const wrongIds: readonly (readonly [string, object])[] = [
  ['an organisation with a NUL in its name', { org: { name: 'Bank\u0000' } }],
  ['an organisation whose domain has 18,000 characters', { org: { domain: 'x'.repeat(18_000) } }],
  ['an organisation whose id is half a character', { org: { id: 'O\ud800' } }],
  ['a connection whose id is half a character', { conn_id: 'C\ud800' }],
  ['an account whose id is half a character', { id: 'A\udc00', conn_id: 'C1' }],
  ['an organisation without a name', { org: {} }],
]

for (const [name, account] of wrongIds) {
  test(`${name} has no id that could be kept, so the answer is malformed`, async () => {
    await using ground = await makeGround()
    answer(ground, account)
    const work = ground.adapter.discover(loginFor(ground, 'twins'), call)
    assert.equal((await failureOf(work)).kind, 'malformed')
  })
}

test('names of banks and accounts have 200 characters at most, each of them whole', async () => {
  await using ground = await makeGround()
  const long = `Checking ${'😀'.repeat(100_000)}`
  answer(ground, { conn_id: 'C1', name: long, currency: 'x'.repeat(100_000) }, [
    { conn_id: 'C1', name: long },
  ])
  const [bank] = await ground.adapter.discover(loginFor(ground, 'twins'), call)
  const cut = `Checking ${'😀'.repeat(95)}`
  assert.deepEqual([bank?.institutionName, bank?.accounts?.[0]?.name], [cut, cut])
  assert.equal(bank?.accounts?.[0]?.type, 'transaction')
})

test('a server of version 1 has organisations in place of connections', async () => {
  await using ground = await makeGround()
  ground.server.addFault({
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: {
          errors: [],
          accounts: [
            {
              org: { domain: 'bank.example', name: 'Old Bank', 'sfin-url': 'https://s.example' },
              id: 'A1',
              name: 'Checking',
              currency: 'USD',
              balance: '1.00',
              'balance-date': 1_789_948_800,
              transactions: [],
            },
          ],
        },
      }),
    },
  })
  const [bank, ...others] = await ground.adapter.discover(loginFor(ground, 'healthy'), call)
  assert.deepEqual(
    [bank?.upstreamId, bank?.institutionName, others],
    ['bank.example', 'Old Bank', []],
  )
})

test('a probe asks the configured server for its versions, without a person', async () => {
  await using ground = await makeGround()
  const reply = await ground.adapter.probe?.(call)
  assert.deepEqual(reply?.failure, null)
  ground.server.addFault({ does: { kind: 'reply', reply: { status: 200, body: '<html>' } } })
  assert.equal((await ground.adapter.probe?.(call))?.failure?.kind, 'malformed')
})

test('a disabled access is lost with all its banks, and an ended subscription says so', async () => {
  await using ground = await makeGround()
  personOf(ground, 'healthy').password = null
  const disabled = await failureOf(ground.adapter.discover(loginFor(ground, 'healthy'), call))
  assert.deepEqual(
    [disabled.kind, 'wholeLogin' in disabled && disabled.wholeLogin],
    ['consent_lost', true],
  )
  assert.match(disabled.detail, /make a new setup token/)
  personOf(ground, 'twins').isUnpaid = true
  const unpaid = await failureOf(ground.adapter.discover(loginFor(ground, 'twins'), call))
  assert.match(unpaid.detail, /the subscription at the SimpleFIN server has ended/)
})
