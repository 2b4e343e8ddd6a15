import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { plantBank } from '#tests/support/bank.ts'
import { activity, linkBroker, position } from '#tests/support/broker.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
const broker = await linkBroker(service, user, [{ positions: [position()] }, {}])
after(() => service.close())
beforeEach(() => {
  service.sandbox.snaptrade.clearFaults()
  service.clock.advance(660_000)
})

const ask = (query: string) =>
  service.get(`/v1/holdings?connectionId=${broker.connection.id}${query}`, user)

for (const query of ['', '?connectionId=', '?connectionID=x', '?accountId=x']) {
  test(`/v1/holdings${query}: connectionId is missing`, async () => {
    const answer = await service.get(`/v1/holdings${query}`, user)
    assert.equal(answer.status, 400)
    assert.equal(codeOf(answer), 'invalid_params')
    assert.match(answer.body.error.details[0], /^connectionId: /)
  })
}

for (const query of [
  '&accountId=',
  '&accountIds=',
  '&accountIds=,,',
  '&accountId=a&accountId=b',
  '&accountIds=a&accountIds=b',
  '&connectionId=x',
  `&accountIds=${'a'.repeat(4001)}`,
]) {
  test(`R11, R12: ${query.slice(0, 30)} is refused`, async () => {
    const answer = await ask(query)
    assert.equal(answer.status, 400)
    assert.equal(codeOf(answer), 'invalid_params')
  })
}

test('a banking connection is the wrong category, and the message names the right endpoints', async () => {
  const bank = await plantBank(service, user, { accounts: [{}] })
  for (const account of ['', `&accountId=${bank.accounts[0]?.id}`, '&accountIds=nobody']) {
    const answer = await service.get(
      `/v1/holdings?connectionId=${bank.connection.id}${account}`,
      user,
    )
    assert.equal(answer.status, 400)
    assert.equal(codeOf(answer), 'wrong_endpoint_for_category')
    assert.match(answer.body.error.message, /\/v1\/transactions/)
    assert.match(answer.body.error.message, /\/v1\/balances/)
  }
})

test('R20: a refusal of the broker is shown in its words, cleaned of secrets', async () => {
  const { userSecret, userId } = broker.person
  service.sandbox.snaptrade.addFault({
    when: ({ path }) => path.endsWith('/positions/all'),
    does: {
      kind: 'reply',
      reply: { status: 400, body: { detail: `Bad input for ${userId}&userSecret=${userSecret}` } },
    },
  })
  const answer = await ask('')
  assert.equal(answer.status, 400)
  assert.equal(codeOf(answer), 'upstream_bad_request')
  assert.match(answer.body.error.message, /^Upstream rejected request: Bad input for /)
  assert(!answer.text.includes(userSecret))
  assert(!service.logLines.some((line) => line.includes(userSecret)))
})

test('R20b: for a revoked connection the provider is not called', async () => {
  const own = await linkBroker(service, user, [{ positions: [position()] }])
  await service.app.store.connections.setStatus(own.connection.id, 'revoked')
  service.sandbox.snaptrade.requests.length = 0
  const answer = await service.get(`/v1/holdings?connectionId=${own.connection.id}`, user)
  assert.equal(answer.status, 400)
  assert.equal(codeOf(answer), 'upstream_bad_request')
  assert.equal(answer.body.error.message, 'Upstream rejected request: consent withdrawn, reconnect')
  assert.equal(service.sandbox.snaptrade.requests.length, 0)
})

test('R20b: an empty answer of a disabled connection is not trusted', async () => {
  const own = await linkBroker(service, user, [{ positions: [] }])
  const [connection] = own.person.connections
  assert(connection !== undefined)
  connection.disabled = true
  const answer = await service.get(`/v1/holdings?connectionId=${own.connection.id}`, user)
  assert.equal(answer.status, 400)
  assert.equal(codeOf(answer), 'upstream_bad_request')
  assert.equal((await service.app.store.connections.find(own.connection.id))?.status, 'invalidated')
})

for (const path of ['/v1/holdings', '/v1/trades']) {
  test(`R20b: ${path}: rows of a disabled login are shown, but nothing is waited for that it cannot bring`, async () => {
    const own = await linkBroker(service, user, [
      {},
      { positions: [position()], activities: [activity()] },
      { holdingsSynced: false, transactionsSynced: false },
    ])
    const [connection] = own.person.connections
    assert(connection !== undefined)
    connection.disabled = true
    const [quiet, full, waiting] = own.accounts.map(({ id }) => id)
    const ask = (...ids: (string | undefined)[]) =>
      service.get(`${path}?connectionId=${own.connection.id}&accountIds=${ids.join()}`, user)
    const answer = await ask(quiet, full)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.data.length, 1)
    for (const ids of [[quiet], [waiting], [full, waiting]]) {
      const refused = await ask(...ids)
      assert.equal(refused.status, 400)
      assert.match(refused.body.error.message, /: login disabled, reconnect$/)
    }
  })
}

test('R20b: accounts that cannot share their holdings are named when there is nothing else to show', async () => {
  const own = await linkBroker(service, user, [
    { name: 'Quiet' },
    { name: 'Shut', holdingsUnavailable: true },
  ])
  const [quiet, shut] = own.accounts
  const ask = (query = '') =>
    service.get(`/v1/holdings?connectionId=${own.connection.id}${query}`, user)
  for (const query of ['', `&accountId=${shut?.id}`]) {
    const answer = await ask(query)
    assert.equal(answer.status, 400)
    assert.equal(codeOf(answer), 'upstream_bad_request')
    assert.match(answer.body.error.message, /^Upstream rejected request: the brokerage /)
    assert(answer.body.error.message.includes(`the account "Shut" (${shut?.id})`))
    assert(!answer.body.error.message.includes('Quiet'))
  }
  assert.deepEqual((await ask(`&accountId=${quiet?.id}`)).body.data, [])
})

test('R20: a 404 of the broker keeps its message while the connection is active', async () => {
  for (const path of ['positions/all', 'activities']) {
    service.sandbox.snaptrade.addFault({
      when: (request) => request.path.endsWith(`/${path}`),
      does: { kind: 'reply', reply: { status: 404, body: { detail: 'No such thing, sorry' } } },
    })
    const url = path === 'activities' ? '/v1/trades' : '/v1/holdings'
    const answer = await service.get(`${url}?connectionId=${broker.connection.id}`, user)
    assert.equal(answer.status, 400)
    assert.equal(answer.body.error.message, 'Upstream rejected request: No such thing, sorry')
  }
})

test('R20b: a connection that broke before its first sync is to be reconnected, not waited for', async () => {
  const own = await linkBroker(service, user, [
    { holdingsSynced: false, transactionsSynced: false },
  ])
  const read = (path: string) => service.get(`${path}?connectionId=${own.connection.id}`, user)
  assert.equal((await read('/v1/holdings')).status, 503)
  for (const connection of own.person.connections) connection.disabled = true
  for (const path of ['/v1/holdings', '/v1/trades']) {
    const answer = await read(path)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.body.error.message, /login disabled, reconnect$/)
  }
})

test('R20b: invalidated and pending_mfa connections are still read, since the login may be repaired', async () => {
  const own = await linkBroker(service, user, [{ positions: [position()] }])
  for (const status of ['invalidated', 'pending_mfa'] as const) {
    await service.app.store.connections.setStatus(own.connection.id, status)
    const answer = await service.get(`/v1/holdings?connectionId=${own.connection.id}`, user)
    assert.equal(answer.status, 200)
  }
})

test('R20: a connection deleted at the broker turns revoked', async () => {
  const own = await linkBroker(service, user, [{ positions: [position()] }])
  own.person.connections = []
  const answer = await service.get(`/v1/holdings?connectionId=${own.connection.id}`, user)
  assert.equal(answer.status, 400)
  assert.equal(codeOf(answer), 'upstream_bad_request')
  assert.equal((await service.app.store.connections.find(own.connection.id))?.status, 'revoked')
})

test('R20: a user secret that works no more invalidates the connection', async () => {
  const own = await linkBroker(service, user, [{ positions: [position()] }])
  own.person.userSecret = 'another'
  const answer = await service.get(`/v1/holdings?connectionId=${own.connection.id}`, user)
  assert.equal(answer.status, 400)
  assert.equal((await service.app.store.connections.find(own.connection.id))?.status, 'invalidated')
})

test('R20: a user secret that works no more invalidates every connection of that person', async () => {
  const rows = await service.link(user, 'healthy', 'snaptrade')
  const [asked, other] = rows
  assert(asked !== undefined && other !== undefined)
  const { healthy } = service.sandbox.snaptrade.people
  const secret = healthy.userSecret
  healthy.userSecret = 'another'
  const answer = await service.get(`/v1/holdings?connectionId=${asked.id}`, user)
  healthy.userSecret = secret
  assert.equal(answer.status, 400)
  for (const { id } of rows) {
    assert.equal((await service.app.store.connections.find(id))?.status, 'invalidated')
  }
})

for (const path of ['/v1/holdings', '/v1/trades']) {
  test(`R20b: ${path}: a connection without any account is trusted only while its consent is active`, async () => {
    const own = await linkBroker(service, user, [])
    const url = `${path}?connectionId=${own.connection.id}`
    assert.deepEqual((await service.get(url, user)).body.data, [])
    service.clock.advance(660_000)
    own.person.connections = []
    const answer = await service.get(url, user)
    assert.equal(answer.status, 400)
    assert.equal(codeOf(answer), 'upstream_bad_request')
  })
}
