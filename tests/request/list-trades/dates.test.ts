import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { addDays, getZone, toMicros } from '#kernel/time.ts'
import { callTool } from '#tests/support/agent.ts'
import { activity, type Broker, linkBroker } from '#tests/support/broker.ts'
import { codeOf, type ServiceUser, startService } from '#tests/support/service.ts'

const service = await startService()
after(() => service.close())
beforeEach(() => {
  service.sandbox.snaptrade.requests.length = 0
  service.clock.advance(61_000)
})

/** Day-only rows and instants around midnight in Sydney (13:00 UTC). */
const dates = [
  '2026-11-12T00:00:00Z',
  '2026-11-11T12:59:59.999Z',
  '2026-11-11T00:00:00Z',
  '2026-11-10T13:00:00Z',
  '2026-11-10T12:59:59Z',
  '2026-11-10T00:00:00Z',
]

async function prepare(timezone: string | null): Promise<{ user: ServiceUser; broker: Broker }> {
  const user = await service.createUser({ timezone })
  const activities = dates.map((tradeDate) => activity({ tradeDate, description: tradeDate }))
  return { user, broker: await linkBroker(service, user, [{ activities }]) }
}

const windows: readonly [query: string, zone: string | null, wanted: readonly number[]][] = [
  ['from=2026-11-11', null, [0, 1, 2, 3]],
  ['to=2026-11-11', null, [1, 2, 3, 4, 5]],
  ['from=2026-11-11&to=2026-11-11', null, [1, 2, 3]],
  ['from=2026-11-11&to=2026-11-11', 'UTC', [1, 2]],
  ['from=2026-11-11&to=2026-11-11', 'America/New_York', [1, 2]],
  ['from=2026-11-10T13:00:00Z&to=2026-11-10T13:00:00Z', null, [2, 3]],
  ['from=2026-11-10T13:00:00.001Z&to=2026-11-11T12:59:59.999Z', null, [1]],
  ['from=2026-11-11T00:00:00%2B11:00&to=2026-11-11T00:00:00%2B11:00', null, [2, 3]],
  ['from=2026-11-11T00:00:00+11:00&to=2026-11-11T00:00:00+11:00', null, [2, 3]],
  ['from=2026-11-11T00:00:00Z&to=2026-11-11T00:00:00Z', 'UTC', [2]],
  ['from=1990-01-01&to=2026-11-10', null, [4, 5]],
  ['from=0001-01-01&to=1970-01-01', null, []],
]

for (const [query, zone, wanted] of windows) {
  test(`R14, R16a: ${query} seen from ${zone ?? 'Sydney, the default'}`, async () => {
    const { user, broker } = await prepare(zone)
    const { body } = await service.get(
      `/v1/trades?connectionId=${broker.connection.id}&${query}`,
      user,
    )
    assert.deepEqual(
      body.data.map((row: { description: string }) => row.description),
      wanted.map((index) => dates[index]),
    )
    assert.equal(body.pagination.total, wanted.length)
  })
}

test('R16a: without to, a trade of a day that has begun somewhere is there, by REST and by agents', async () => {
  const user = await service.createUser({ timezone: 'Pacific/Pago_Pago' })
  const today = new Date(service.clock.now() + 14 * 3_600_000).toISOString().slice(0, 10)
  const activities = [activity({ tradeDate: `${today}T00:00:00Z` })]
  const broker = await linkBroker(service, user, [{ activities }])
  const { id: connectionId } = broker.connection
  const mine = getZone('Pacific/Pago_Pago').dayOf(toMicros(service.clock.now()))
  const froms = [addDays(mine, -366), addDays(mine, -2)]
  for (const from of ['', ...froms.map((day) => `&from=${day}`)]) {
    const { body } = await service.get(`/v1/trades?connectionId=${connectionId}${from}`, user)
    assert.equal(body.data[0]?.tradeDate, today, from)
  }
  for (const range of [{}, ...froms.map((from) => ({ from }))]) {
    const { result } = await callTool(service, user, 'list_trades', { connectionId, ...range })
    assert.equal(result.structuredContent.data[0]?.tradeDate, today, JSON.stringify(range))
  }
})

test('absent bounds are not sent to the provider, given ones are a day wider', async () => {
  const { user, broker } = await prepare(null)
  const sent = async (query: string) => {
    service.sandbox.snaptrade.requests.length = 0
    await service.get(`/v1/trades?connectionId=${broker.connection.id}${query}`, user)
    const call = service.sandbox.snaptrade.requests.find(({ path }) => path.endsWith('/activities'))
    return [call?.query.get('startDate'), call?.query.get('endDate')]
  }
  assert.deepEqual(await sent(''), [null, null])
  assert.deepEqual(await sent('&from=2026-11-10'), ['2026-11-08', null])
  assert.deepEqual(await sent('&to=2026-11-10'), [null, '2026-11-11'])
})

const bad = [
  '2026-02-30',
  '2026-13-01',
  '20261110',
  '2026-11-10T10:00:00',
  '2026-11-10 10:00:00Z',
  '2026-11-10T10:00Z',
  '2026-11-10T25:00:00Z',
  '2026-11-10T10:00:00%2B1100',
  '2026-11-10T10:00:00%2B25:00',
  'yesterday',
  '1700000000',
  '2026-11-10%00',
  '%F0%9F',
]

for (const text of bad) {
  test(`R14: from=${text} is refused without code, the field is named`, async () => {
    const { user, broker } = await prepare(null)
    const url = `/v1/trades?connectionId=${broker.connection.id}`
    const answer = await service.get(`${url}&from=${text}`, user)
    assert.equal(answer.status, 400)
    assert.equal(codeOf(answer), undefined)
    assert.equal(answer.body.error.message, 'Invalid date parameters')
    assert.equal(answer.body.error.details.length, 1)
    assert.match(answer.body.error.details[0], /^from: Must be YYYY-MM-DD or RFC3339 with timezone/)
    const both = await service.get(`${url}&from=${text}&to=${text}`, user)
    assert.equal(both.body.error.details.length, 2)
  })
}

test('R15: from after to is invalid_date_range, a missing to counts as now', async () => {
  const { user, broker } = await prepare(null)
  const url = `/v1/trades?connectionId=${broker.connection.id}`
  for (const query of [
    'from=2026-11-11&to=2026-11-10',
    'from=2026-11-10T10:00:00.002Z&to=2026-11-10T10:00:00.001Z',
    'from=2026-11-23',
    'from=2999-01-01',
  ]) {
    const answer = await service.get(`${url}&${query}`, user)
    assert.equal(answer.status, 400)
    assert.equal(codeOf(answer), 'invalid_date_range', query)
  }
})

test('R3: dates are judged before the connection is looked up, the parameters before the dates', async () => {
  const { user } = await prepare(null)
  const dated = await service.get('/v1/trades?connectionId=nobody&from=x', user)
  assert.equal(dated.body.error.message, 'Invalid date parameters')
  const both = await service.get('/v1/trades?connectionId=nobody&from=x&limit=0', user)
  assert.equal(codeOf(both), 'invalid_params')
})

test('R11: an empty from, two of them, and a bad limit are invalid_params', async () => {
  const { user, broker } = await prepare(null)
  for (const query of ['from=', 'to=', 'from=2026-11-10&from=2026-11-10', 'limit=0', 'offset=-1']) {
    const answer = await service.get(
      `/v1/trades?connectionId=${broker.connection.id}&${query}`,
      user,
    )
    assert.equal(codeOf(answer), 'invalid_params', query)
  }
})

test('a banking connection is the wrong category, and the message names the right endpoint', async () => {
  const user = await service.createUser()
  await service.link(user, 'healthy', 'fiskil')
  const [row] = (await service.get('/v1/connections', user)).body.data
  const answer = await service.get(`/v1/trades?connectionId=${row.id}`, user)
  assert.equal(answer.status, 400)
  assert.equal(codeOf(answer), 'wrong_endpoint_for_category')
  assert.match(answer.body.error.message, /\/v1\/transactions/)
})
