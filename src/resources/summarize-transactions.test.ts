/** Sums of rows by group (reading R44), against sums in whole cents. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiError } from '#contract/errors.ts'
import { makeSummarizeTransactions } from './summarize-transactions.ts'

const connectionId = 'c1'
const accounts = [
  { id: 'a-eur', connectionId, provider: 'enablebanking', name: 'Giro', currency: 'EUR' },
  { id: 'a-usd', connectionId, provider: 'enablebanking', name: 'Dollars', currency: 'USD' },
]
const merchants = 230

/** Row by row another merchant, account, category, month and sign; amounts beyond what a float holds. */
const rows = Array.from({ length: 1500 }, (_, at) => {
  const cents = 9_007_199_254_740_993n + BigInt(at * 7919)
  return {
    accountId: at % 3 === 0 ? 'a-usd' : 'a-eur',
    merchantName: at % 11 === 0 ? null : `Merchant ${at % merchants}`,
    category: at % 4 === 0 ? null : 'FOOD_AND_DRINK',
    date: `2026-${String(1 + (at % 12)).padStart(2, '0')}-15`,
    cents: at % 5 === 0 ? cents : -cents,
  }
})

const toText = (cents: bigint) => {
  const digits = (cents < 0n ? -cents : cents).toString().padStart(3, '0')
  return `${cents < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
const toCents = (text: string) => {
  const [whole = '', part = ''] = text.split('.')
  return BigInt(whole + part.padEnd(2, '0'))
}

type List = Parameters<typeof makeSummarizeTransactions>[1]

/** Sums what `list` gives of each of these connections. */
async function read(
  list: (query: { readonly connectionId: string }) => Promise<object>,
  groupBy: 'month' | 'category' | 'merchant' | 'account' = 'month',
  connections = [connectionId],
) {
  const banks = connections.map((id) => ({ ...accounts[0], id: `a-${id}`, connectionId: id }))
  const options = {
    clock: { now: () => Date.parse('2026-12-31T12:00:00Z') },
    store: {
      accounts: { list: async () => [...accounts, ...banks] },
      connections: { list: async () => connections.map((id) => ({ id, status: 'active' })) },
    },
  } as unknown as Parameters<typeof makeSummarizeTransactions>[0]
  const context = { caller: { userId: 'u', timezone: 'UTC' } } as unknown as Parameters<
    ReturnType<typeof makeSummarizeTransactions>
  >[1]
  const query = { from: '2026-01-01', to: '2026-12-31', groupBy }
  return makeSummarizeTransactions(options, list as unknown as List)(query, context)
}

async function summarize(groupBy: 'month' | 'category' | 'merchant' | 'account') {
  const data = rows.map(({ cents, ...row }) => ({ ...row, amount: toText(cents) }))
  return (await read(async () => ({ body: { data, pagination: { hasMore: false } } }), groupBy))
    .body
}

type Row = (typeof rows)[number]
const keys: Readonly<Record<string, (row: Row) => string | null>> = {
  month: ({ date }) => date.slice(0, 7),
  category: ({ category }) => category,
  merchant: ({ merchantName }) => merchantName,
  account: ({ accountId }) => accountId,
}
const currencyOf = ({ accountId }: Row) => (accountId === 'a-usd' ? 'USD' : 'EUR')

function sumsOf(own: readonly Row[]) {
  const sum = (some: readonly Row[]) => some.reduce((all, { cents }) => all + cents, 0n)
  return [
    sum(own.filter(({ cents }) => cents > 0n)),
    -sum(own.filter(({ cents }) => cents < 0n)),
    own.length,
  ]
}

const shown = (one: { moneyIn: string; moneyOut: string; count: number }) => [
  toCents(one.moneyIn),
  toCents(one.moneyOut),
  one.count,
]

for (const groupBy of ['month', 'category', 'merchant', 'account'] as const)
  test(`R44: each group by ${groupBy} is the exact sum of its own rows, and no row is in none`, async () => {
    const { data, others, count } = await summarize(groupBy)
    const keyOf = keys[groupBy] ?? assert.fail()
    const groups = Map.groupBy(rows, (row) => JSON.stringify([keyOf(row), currencyOf(row)]))
    for (const group of data) {
      const own = groups.get(JSON.stringify([group.key, group.currency])) ?? []
      assert.deepEqual(shown(group), sumsOf(own), String(group.key))
      groups.delete(JSON.stringify([group.key, group.currency]))
    }
    // What is beyond the largest number of groups is summed by currency.
    const rest = Map.groupBy([...groups.values()].flat(), currencyOf)
    assert.equal(others.length, rest.size)
    for (const other of others)
      assert.deepEqual(shown(other), sumsOf(rest.get(other.currency as 'EUR') ?? []))
    assert.equal(others.length > 0, groupBy === 'merchant')
    assert.equal(count, rows.length)
  })

/** One row of a connection, and what is known of its reading. */
const given = (date: string | null, facts: object = {}, hasMore = false) => ({
  body: {
    data: date === null ? [] : [{ accountId: 'a-eur', date, amount: '-1.00' }],
    pagination: { hasMore },
  },
  ...facts,
})

test('R44: of several banks that have more rows, the newest date that was reached counts for all', async () => {
  const found: Record<string, object> = {
    c1: given('2026-03-10', {}, true),
    c2: given('2026-05-20', {}, true),
    c3: given('2026-01-01'),
  }
  const ask = async (names: readonly string[]) => {
    const { body } = await read(async (asked) => found[asked.connectionId] ?? {}, 'month', [
      ...names,
    ])
    return [body.truncated, body.reachedDate]
  }
  assert.deepEqual(await ask(['c1', 'c2', 'c3']), [true, '2026-05-20'])
  assert.deepEqual(await ask(['c2', 'c1']), [true, '2026-05-20'])
  assert.deepEqual(await ask(['c3']), [false, null])
  found.c4 = given(null, {}, true)
  assert.deepEqual(await ask(['c1', 'c4']), [true, null])
})

test('R44: no date is told as reached where an earlier one was read before it, as with rows that come oldest first', async () => {
  const reach = async (...dates: readonly string[]) => {
    const data = dates.map((date) => ({ accountId: 'a-eur', date, amount: '-1.00' }))
    const { body } = await read(async () => ({ body: { data, pagination: { hasMore: true } } }))
    return [body.truncated, body.reachedDate]
  }
  assert.deepEqual(await reach('2026-03-10', '2026-03-11', '2026-05-20'), [true, null])
  assert.deepEqual(await reach('2026-05-20', '2026-03-11', '2026-03-10'), [true, '2026-03-10'])
  // Times of a day and days alone stand beside each other.
  assert.deepEqual(await reach('2026-05-20', '2026-05-19', '2026-05-20', '2026-05-19'), [
    true,
    '2026-05-19',
  ])
})

test('R36, R44: sums are good for as long as the oldest reading in them, and say its age', async () => {
  const found: Readonly<Record<string, object>> = {
    c1: given('2026-03-10', { staleAt: 2000, asOf: 700 }),
    c2: given('2026-03-10', { staleAt: 1000, asOf: 900 }),
    c3: given('2026-03-10'),
  }
  const names = Object.keys(found)
  const sums = await read(async (asked) => found[asked.connectionId] ?? {}, 'month', names)
  assert.deepEqual([sums.staleAt, sums.asOf, sums.cacheable], [1000, 700, true])
  const live = await read(async () => given('2026-03-10'))
  assert.deepEqual([live.staleAt, live.asOf], [undefined, undefined])
})

test('R44: sums that lack a bank are not kept, and say which', async () => {
  const list = async ({ connectionId: id }: { readonly connectionId: string }) => {
    if (id === 'c2') throw apiError('provider_unavailable', { retryAfterSeconds: 30 })
    return given('2026-03-10')
  }
  const { body, cacheable } = await read(list, 'month', ['c1', 'c2'])
  assert.equal(cacheable, false)
  assert.deepEqual(
    body.unread.map((one) => one.connectionId),
    ['c2'],
  )
  assert.equal(body.count, 1)
  await assert.rejects(read(list, 'month', ['c2']), { entry: 'provider_unavailable' })
})
