import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import type { Misbehaviour } from '#sandbox/emulator.ts'
import { activity, type BrokerAccount, linkBroker, position } from '#tests/support/broker.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
const broker = await linkBroker(service, user, [
  { positions: [position()], activities: [activity()] },
])
after(() => service.close())
beforeEach(() => {
  service.sandbox.snaptrade.clearFaults()
  service.clock.advance(660_000)
})

const isRead = ({ path }: { path: string }) => /\/(?:positions\/all|activities)$/.test(path)
const reply = (status: number, body: unknown, headers = {}): Misbehaviour => ({
  kind: 'reply',
  reply: { status, body, headers },
})

const failures: readonly [name: string, does: Misbehaviour, retryAfter: string][] = [
  ['401 of our own signature', reply(401, { detail: 'Bad signature', code: 1076 }), '30'],
  ['402 of our own plan', reply(402, { detail: 'Plan', code: '4002' }), '30'],
  ['410 retired', reply(410, { detail: 'Gone', code: '1141' }), '30'],
  ['425 preparing', reply(425, { detail: 'Populating', code: '3012' }), '30'],
  ['429 with its seconds', reply(429, { detail: 'x' }, { 'X-RateLimit-Reset': '7' }), '7'],
  ['429 with Retry-After', reply(429, { detail: 'x' }, { 'Retry-After': '12' }), '12'],
  ['429 without seconds', reply(429, { detail: 'x' }), '30'],
  ['500', reply(500, 'oops'), '30'],
  ['501', reply(501, { error: 'not implemented' }), '30'],
  ['502 of a proxy', reply(502, '<html>'), '30'],
  ['503', reply(503, { detail: 'x', code: '3002' }), '30'],
  ['a redirect', reply(302, '', { location: 'http://127.0.0.1:1/' }), '30'],
  ['an empty body', reply(200, ''), '30'],
  ['no JSON', reply(200, '<html>'), '30'],
  ['JSON of another shape', reply(200, []), '30'],
  ['rows that are no list', reply(200, { results: {}, data: {} }), '30'],
  [
    'rows that are text',
    reply(200, '{"results":["row"],"data":["row"],"pagination":{"total":1}}'),
    '30',
  ],
  ['a reset', { kind: 'reset' }, '30'],
  ['a body cut short', { kind: 'truncate', afterBytes: 12 }, '30'],
]

for (const path of ['/v1/holdings', '/v1/trades']) {
  for (const [name, does, retryAfter] of failures) {
    test(`R20, R20a: ${path}: ${name} is 503, never an empty list, never cached`, async () => {
      service.sandbox.snaptrade.addFault({ when: isRead, does })
      const url = `${path}?connectionId=${broker.connection.id}`
      const answer = await service.get(url, user)
      assert.equal(answer.status, 503, answer.text)
      assert.equal(codeOf(answer), undefined)
      assert.equal(answer.headers['retry-after'], retryAfter)
      assert.equal(answer.headers['x-cache'], 'MISS')
      service.sandbox.snaptrade.clearFaults()
      const mended = await service.get(url, user)
      assert.equal(mended.status, 200)
      assert.equal(mended.body.data.length, 1)
      assert.equal(
        (await service.app.store.connections.find(broker.connection.id))?.status,
        'active',
      )
    })
  }

  test(`R21: ${path} has no breaker: ten failures later it is still asked`, async () => {
    service.sandbox.snaptrade.addFault({ when: isRead, times: 10, does: reply(500, {}) })
    const url = `${path}?connectionId=${broker.connection.id}`
    for (let count = 0; count < 10; count += 1) {
      assert.equal((await service.get(url, user)).status, 503)
    }
    assert.equal((await service.get(url, user)).status, 200)
  })

  test(`R20c: ${path}: a connection reset before any byte is tried again, once`, async () => {
    service.sandbox.snaptrade.addFault({ when: isRead, times: 1, does: { kind: 'reset' } })
    const url = `${path}?connectionId=${broker.connection.id}`
    assert.equal((await service.get(url, user)).status, 200)
  })
}

test('R20a: a 425 of the broker is an alert in log and metrics, each time', async () => {
  const alerts = async () => {
    const shown = /^tributary_provider_alerts_total\{provider="snaptrade"\} (\d+)$/m
    return Number(shown.exec(await service.metrics.text())?.[1] ?? 0)
  }
  const reported = () => service.logLines.filter((line) => line.includes('425: Populating')).length
  const before = { alerts: await alerts(), reported: reported() }
  const body = { detail: 'Populating', code: '3012' }
  service.sandbox.snaptrade.addFault({ when: isRead, times: 2, does: reply(425, body) })
  for (let count = 1; count <= 2; count += 1) {
    const url = `/v1/holdings?connectionId=${broker.connection.id}`
    assert.equal((await service.get(url, user)).status, 503)
    assert.equal(await alerts(), before.alerts + count)
    assert.equal(reported(), before.reported + count)
  }
})

const unready: readonly [string, Partial<BrokerAccount>, named: boolean][] = [
  ['is being populated (425)', { refuses: 'populating' }, true],
  ['is not supported (501)', { refuses: 'unsupported' }, false],
  ['has nothing before its first sync', { holdingsSynced: false, transactionsSynced: false }, true],
]
for (const [name, fields, named] of unready) {
  test(`R20a, R20b: an account that ${name} is 503, not an empty list`, async () => {
    const own = await linkBroker(service, user, [{}, { name: 'Margin', ...fields }])
    for (const path of ['/v1/holdings', '/v1/trades']) {
      const answer = await service.get(`${path}?connectionId=${own.connection.id}`, user)
      assert.equal(answer.status, 503)
      assert.equal(answer.headers['retry-after'], '30')
      const name = `the account "Margin" (${own.accounts[1]?.id})`
      assert.equal(answer.body.error.message.includes(name), named, answer.text)
    }
  })
}

const unreadable: readonly [string, Record<string, unknown>][] = [
  ['units null (R24b)', { units: null }],
  ['units that are no number', { units: 'many' }],
  ['an exponent beyond 40 (R24b)', { units: '1e41' }],
  ['a price that is an object', { price: { amount: '1' } }],
  ['a cost that is true', { cost_basis: true }],
  ['no instrument', { instrument: null }],
  ['an instrument without symbol', { instrument: { kind: 'stock', id: 'x' } }],
  ['an unreadable currency', { currency: 'U$D' }],
]
for (const [name, overrides] of unreadable) {
  test(`R23: a position with ${name} fails the request instead of vanishing`, async () => {
    const own = await linkBroker(service, user, [
      { positions: [position(), position({ overrides })] },
    ])
    const answer = await service.get(`/v1/holdings?connectionId=${own.connection.id}`, user)
    assert.equal(answer.status, 503)
    assert.equal(codeOf(answer), undefined)
  })
}

test('SnapTrade: our own budget is used up before the provider throttles us', async () => {
  const { snaptrade } = service.sandbox
  snaptrade.requests.length = 0
  let last = 200
  let asked = 0
  for (; asked < 240 && last === 200; asked += 1) {
    last = (await service.get(`/v1/holdings?connectionId=${broker.connection.id}&n=${asked}`, user))
      .status
  }
  assert.equal(last, 503)
  assert(snaptrade.requests.length <= 200)
})
