/** Arguments of tools: strict types, nothing clamped, every problem named (readings R11, R12, R29, R30). */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { OperationName } from '#contract/operations.ts'
import { callTool } from '#tests/support/agent.ts'
import { activity, linkBroker } from '#tests/support/broker.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
const broker = await linkBroker(service, user, [
  {
    activities: ['2026-11-20', '2025-11-21', '2025-11-20', '2025-11-19', '2024-05-05'].map((day) =>
      activity({ tradeDate: `${day}T01:00:00Z`, description: day }),
    ),
  },
])
after(() => service.close())

const unknownId = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'
const whole = (max: number) => `must be a whole number from 1 to ${max}`
const skip = 'offset: must be a whole number from 0 to 2147483647'
const many = Array.from({ length: 21 }, () => unknownId)

const wrong: readonly (readonly [OperationName, object, readonly string[]])[] = [
  ['list_accounts', { limit: 0 }, [`limit: ${whole(200)}`]],
  ['list_accounts', { limit: 201 }, [`limit: ${whole(200)}`]],
  ['list_accounts', { limit: 1.5 }, [`limit: ${whole(200)}`]],
  ['list_accounts', { limit: -1, offset: -1 }, [`limit: ${whole(200)}`, skip]],
  ['list_accounts', { limit: '50' }, [`limit: ${whole(200)}`]],
  ['list_accounts', { limit: null }, [`limit: ${whole(200)}`]],
  ['list_accounts', { limit: 1e300 }, [`limit: ${whole(200)}`]],
  ['list_accounts', { limit: [5] }, [`limit: ${whole(200)}`]],
  ['list_accounts', { offset: 2 ** 31 }, [skip]],
  ['list_accounts', { offset: true }, [skip]],
  ['list_transactions', {}, ['connectionId: is required']],
  ['list_transactions', { connectionId: '' }, ['connectionId: must not be empty']],
  [
    'list_transactions',
    { connectionId: 7, limit: 501, from: '' },
    [
      'connectionId: Invalid input: expected string, received number',
      'from: must not be empty',
      `limit: ${whole(500)}`,
    ],
  ],
  ['list_holdings', { accountId: unknownId }, ['connectionId: is required']],
  ['list_trades', { connectionId: unknownId, limit: 501 }, [`limit: ${whole(500)}`]],
  ['list_balances', {}, ['accountIds: is required']],
  ['list_balances', { accountIds: [] }, ['accountIds: must name at least one account id']],
  ['list_balances', { accountIds: many }, ['accountIds: must name at most 20 account ids']],
  [
    'list_balances',
    { accountIds: ['x', unknownId, 'y\u0000z'] },
    ['accountIds: not a UUID: x', 'accountIds: not a UUID: y?z'],
  ],
  [
    'list_balances',
    { accountIds: unknownId },
    ['accountIds: Invalid input: expected array, received string'],
  ],
  [
    'list_balances',
    { accountIds: `${unknownId},${unknownId}` },
    ['accountIds: Invalid input: expected array, received string'],
  ],
]

for (const [name, args, details] of wrong) {
  test(`R29: ${name} ${JSON.stringify(args).slice(0, 60)} is an error that names ${details.length}`, async () => {
    const { result } = await callTool(service, user, name, args)
    assert.equal(result.isError, true)
    assert.deepEqual(result.structuredContent, {
      error: { message: 'Invalid request parameters', code: 'invalid_params', details },
    })
  })
}

test('R11: unknown arguments are ignored, however they are called', async () => {
  const args = JSON.parse('{"limit":1,"colour":"red","__proto__":{"offset":3},"constructor":1}')
  const { result } = await callTool(service, user, 'list_accounts', args)
  assert.equal(result.isError, undefined)
  assert.deepEqual(result.structuredContent.pagination, {
    total: 1,
    limit: 1,
    offset: 0,
    hasMore: false,
  })
})

test('R12: ids are looked up as given, in any case; what no URL can carry is simply not found', async () => {
  const { result } = await callTool(service, user, 'list_holdings', {
    connectionId: broker.connection.id.toUpperCase(),
  })
  assert.equal(result.isError, undefined)
  for (const connectionId of ['\ud800', 'a&b=c', '../x', '\u0000', '%', '💰'.repeat(100)]) {
    const answer = await callTool(service, user, 'list_holdings', { connectionId })
    assert.equal(answer.result.structuredContent.error.code, 'connection_not_found')
  }
})

test('20 accounts at once are allowed, and repeated ids count once', async () => {
  const accountIds = many.slice(1)
  const { result } = await callTool(service, user, 'list_balances', { accountIds })
  assert.match(result.structuredContent.error.message, /not found/)
})

const daysOf = (result: { structuredContent: { data: { tradeDate: string }[] } }) =>
  result.structuredContent.data.map(({ tradeDate }) => tradeDate.slice(0, 10))

const ranges = [
  [{}, ['2026-11-20', '2025-11-21', '2025-11-20']],
  [{ from: '2024-05-01' }, ['2024-05-05']],
  [{ from: '2025-11-19' }, ['2026-11-20', '2025-11-21', '2025-11-20', '2025-11-19']],
  [{ to: '2025-11-19' }, ['2025-11-19']],
  [{ to: '0000-01-01' }, []],
  [{ to: '0000-01-01T00:00:00+14:00' }, []],
  [
    { from: '2025-11-19', to: '2026-11-20' },
    ['2026-11-20', '2025-11-21', '2025-11-20', '2025-11-19'],
  ],
] as const

for (const [dates, days] of ranges) {
  test(`R30: trades of ${JSON.stringify(dates)} are those of ${days.length} days`, async () => {
    const args = { connectionId: broker.connection.id, ...dates }
    const { result } = await callTool(service, user, 'list_trades', args)
    assert.deepEqual(daysOf(result), days)
  })
}

test('R30: more than 366 days between from and to is an error, which REST does not know', async () => {
  const dates = { from: '2025-11-19', to: '2026-11-21' }
  const args = { connectionId: broker.connection.id, ...dates }
  const { result } = await callTool(service, user, 'list_trades', args)
  assert.deepEqual(result.structuredContent, {
    error: {
      message: 'Invalid request parameters',
      code: 'invalid_params',
      details: ['to: must be at most 366 days after from; ask year by year'],
    },
  })
  const path = `/v1/trades?connectionId=${broker.connection.id}&from=2025-11-19&to=2026-11-21`
  assert.equal((await service.get(path, user)).status, 200)
})
