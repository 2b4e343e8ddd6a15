/** The TypeScript client: the cases that both clients share, and what only this one does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import * as sdk from '../../sdk/typescript/index.js'
import { allCases, type Case, openStub } from './stub.ts'

const apiKey = 'trib_live_0123456789abcdefghijklmnop'

interface Row {
  readonly id?: string
  readonly accountId?: string
}

function listOf(client: sdk.Tributary, { list, query }: Case['call']): AsyncIterable<Row> {
  const lists: Record<string, { list(query?: never): AsyncIterable<Row> }> = { ...client } as never
  const found = lists[list] ?? assert.fail(`the client has no ${list}`)
  return found.list(query as never)
}

for (const one of allCases) {
  test(`both clients: ${one.name}`, async (t) => {
    const stub = await openStub(t, one.answers)
    const client = new sdk.Tributary({ apiKey, baseUrl: stub.baseUrl })
    const rows: Row[] = []
    const failure = await (async () => {
      const isBare = one.call.list === 'connections' || one.call.list === 'categories'
      const call = isBare ? { ...one.call, query: {} } : one.call
      for await (const row of listOf(client, call)) rows.push(row)
    })().then(
      () => null,
      (error: unknown) => error,
    )
    assert.deepEqual(
      stub.requests.map(({ path }) => path),
      one.requests,
    )
    for (const { headers } of stub.requests) {
      assert.equal(headers.authorization, `Bearer ${apiKey}`)
      assert.match(headers['user-agent'] ?? '', /^tributary-client\//)
    }
    if (one.error === undefined) {
      assert.equal(failure, null)
      assert.deepEqual(
        rows.map(({ id, accountId }) => id ?? accountId),
        one.ids,
      )
      for (const [field, values] of Object.entries(one.values ?? {})) {
        assert.deepEqual(
          rows.map((row) => (row as Record<string, unknown>)[field]),
          values,
        )
      }
      return
    }
    assert(failure instanceof sdk.ApiError)
    const { name, status, code, message, details, requestId, retryAfter } = failure
    assert.deepEqual(
      { class: name, status, code, message, details, requestId, retryAfter },
      one.error,
    )
    assert(!inspect(failure, { depth: 5 }).includes(apiKey), 'no error shows the key')
  })
}

const accounts = (count: number, more: object) => ({
  status: 200,
  headers: {
    'x-request-id': 'r1',
    'x-ratelimit-limit': '60',
    'x-ratelimit-remaining': '59',
    'x-ratelimit-reset': '1795144560',
    'x-cache': 'MISS',
  },
  body: {
    data: Array.from({ length: count }, (_, index) => `account a${index}`),
    pagination: { total: null, limit: count, offset: 0, hasMore: false, ...more },
  },
  reset: false,
  cut: false,
})

test('an awaited list is its first page, with the headers of the answer', async (t) => {
  const { baseUrl } = await openStub(t, [
    accounts(2, { hasMore: true }),
    accounts(1, { offset: 2 }),
  ])
  const client = new sdk.Tributary({ apiKey, baseUrl })
  const page = await client.accounts.list()
  assert.deepEqual([page.data.length, page.hasNextPage(), page.truncated], [2, true, false])
  const next = await page.nextPage()
  assert.deepEqual([next.data.length, next.hasNextPage()], [1, false])
  await assert.rejects(next.nextPage(), RangeError)
})

test('withResponse has the request id, the limits and where the answer came from', async (t) => {
  const { baseUrl } = await openStub(t, [accounts(1, {})])
  const given = await new sdk.Tributary({ apiKey, baseUrl }).accounts.list().withResponse()
  assert.deepEqual(
    [given.data.length, given.requestId, given.rateLimit, given.cache, given.deprecation],
    [1, 'r1', { limit: 60, remaining: 59, reset: 1795144560 }, 'MISS', null],
  )
})

test('toArray refuses a list that is longer than its limit, and reads a list that changed again', async (t) => {
  const changed = {
    status: 503,
    headers: { 'retry-after': '1' },
    body: { error: { message: 'the list changed while it was read: start again at offset 0' } },
    reset: false,
    cut: false,
  }
  const stub = await openStub(t, [accounts(2, { hasMore: true }), changed, accounts(3, {})])
  const client = new sdk.Tributary({ apiKey, baseUrl: stub.baseUrl })
  const rows = await client.accounts.list().toArray({ limit: 3 })
  assert.deepEqual([rows.length, stub.requests.length], [3, 3])
  const longer = await openStub(t, [accounts(3, {})])
  const other = new sdk.Tributary({ apiKey, baseUrl: longer.baseUrl })
  await assert.rejects(other.accounts.list().toArray({ limit: 2 }), RangeError)
})

test('a server that gives no row and no end is an error, not an endless loop', async (t) => {
  const answers = Array.from({ length: 300 }, () => accounts(0, { hasMore: true }))
  const stub = await openStub(t, answers)
  const client = new sdk.Tributary({ apiKey, baseUrl: stub.baseUrl })
  await assert.rejects(client.accounts.list().toArray({ limit: 10 }), /gives no row/)
  assert(stub.requests.length < 110)
})

test('a cache that passes over the query is an error, and no row comes twice', async (t) => {
  const page = accounts(1, { hasMore: true })
  const stub = await openStub(t, [page, page])
  const client = new sdk.Tributary({ apiKey, baseUrl: stub.baseUrl })
  const rows: unknown[] = []
  await assert.rejects(async () => {
    for await (const row of client.accounts.list({ limit: 1 })) rows.push(row)
  }, /has not the rows from 1 on/)
  assert.equal(rows.length, 1)
})

test('a body without an end is left after 64 MiB', async () => {
  let sent = 0
  const part = new Uint8Array(1024 * 1024).fill(32)
  const fetch = async () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += part.length
          controller.enqueue(part)
        },
      }),
    )
  const options = { apiKey, baseUrl: 'https://tributary.example', fetch: fetch as never }
  const client = new sdk.Tributary(options)
  await assert.rejects(async () => client.connections.list(), /more than 67108864 bytes/)
  assert(sent < 70 * 1024 * 1024)
})

test('more than a hundred balances are asked for in several requests, each account once', async (t) => {
  const answer = { status: 200, headers: {}, body: { data: [] }, reset: false, cut: false }
  const stub = await openStub(t, [answer, answer])
  const ids = Array.from({ length: 150 }, (_, index) => `a${index}`)
  const client = new sdk.Tributary({ apiKey, baseUrl: stub.baseUrl })
  for await (const _ of client.balances.list({ accountIds: [...ids, ...ids] })) assert.fail()
  const asked = stub.requests.map(({ path }) =>
    (new URL(path, 'http://x').searchParams.get('accountIds') ?? '').split(','),
  )
  assert.deepEqual([asked.map((some) => some.length), asked.flat()], [[100, 50], ids])
})

test('one deadline counts for the whole call, and the own signal is told apart', async () => {
  const fetch = (_url: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const options = { apiKey, baseUrl: 'https://tributary.example', fetch: fetch as never }
  const client = new sdk.Tributary({ ...options, timeout: 30 })
  await assert.rejects(async () => client.connections.list(), sdk.TimeoutError)
  const stop = new AbortController()
  const waiting = new sdk.Tributary(options).connections.list({ signal: stop.signal })
  const rejection = assert.rejects(async () => waiting, sdk.AbortedError)
  stop.abort()
  await rejection
})

test('what the own onResponse throws reaches the caller, and nothing is sent again', async (t) => {
  const stub = await openStub(t, [accounts(1, {}), accounts(1, {})])
  const onResponse = () => {
    throw new RangeError('the log is full')
  }
  const client = new sdk.Tributary({ apiKey, baseUrl: stub.baseUrl, onResponse })
  await assert.rejects(async () => client.accounts.list(), RangeError)
  assert.equal(stub.requests.length, 1)
})

test('leaving a loop early asks for no further page', async (t) => {
  const stub = await openStub(t, [accounts(2, { hasMore: true }), accounts(2, {})])
  for await (const _ of new sdk.Tributary({ apiKey, baseUrl: stub.baseUrl }).accounts.list()) break
  assert.equal(stub.requests.length, 1)
})

test('days and instants go as they are; local times without a zone are refused before anything is sent', async (t) => {
  const page = accounts(0, {})
  const stub = await openStub(t, [page, page, page, page])
  const { transactions } = new sdk.Tributary({ apiKey, baseUrl: stub.baseUrl })
  const instant = Temporal.Instant.from('2026-01-01T00:00:00Z')
  for (const from of [
    Temporal.PlainDate.from('2026-01-01'),
    instant,
    instant.toZonedDateTimeISO('Australia/Sydney'),
    new Date(Date.UTC(2026, 0, 1)),
  ]) {
    await transactions.list({ connectionId: 'c1', from })
  }
  assert.deepEqual(
    stub.requests.map(({ path }) => new URL(path, 'http://x').searchParams.get('from')),
    ['2026-01-01', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z'],
  )
  for (const from of [
    Temporal.PlainDateTime.from('2026-01-01T00:00:00'),
    '2026-01-01T00:00:00',
    '1 January',
    new Date(Number.NaN),
    '',
  ]) {
    assert.throws(() => transactions.list({ connectionId: 'c1', from }), TypeError)
  }
  assert.throws(() => transactions.list({ connectionId: '' }), TypeError)
})

test('a browser, plain http to another machine, and what is no key or address are refused', () => {
  const baseUrl = 'https://tributary.example/base/'
  const open = (more: sdk.ClientOptions) => () => new sdk.Tributary({ apiKey, baseUrl, ...more })
  assert.doesNotThrow(open({}))
  for (const url of ['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000']) {
    assert.doesNotThrow(open({ baseUrl: url }))
  }
  for (const [more, message] of [
    [{ baseUrl: 'http://tributary.example' }, /https/],
    [{ baseUrl: 'https://user:pass@tributary.example' }, /credentials/],
    [{ baseUrl: 'tributary.example' }, /https/],
    [{ baseUrl: '' }, /TRIBUTARY_BASE_URL/],
    [{ apiKey: '' }, /TRIBUTARY_API_KEY/],
    [{ apiKey: `${apiKey}\n` }, /line end/],
    [{ timeout: 0 }, /timeout/],
    [{ maxRetries: -1 }, /maxRetries/],
  ] as const) {
    assert.throws(open(more), { message })
  }
  Object.assign(globalThis, { window: {}, document: {} })
  try {
    assert.throws(open({}), /browser/)
    assert.doesNotThrow(open({ dangerouslyAllowBrowser: true }))
  } finally {
    for (const name of ['window', 'document']) Reflect.deleteProperty(globalThis, name)
  }
})

test('a client that is printed shows the ends of its key alone', () => {
  const client = new sdk.Tributary({ apiKey, baseUrl: 'https://tributary.example' })
  for (const text of [inspect(client), JSON.stringify(client)]) {
    assert(text.includes('trib_live_…mnop') && !text.includes('0123456789'), text)
  }
})

test('sums are exact, and minor units never lose a digit', () => {
  assert.equal(sdk.sum(['0.1', '0.2']), '0.3')
  assert.equal(sdk.sum(['90071992547409931.005', '-0.005', '-1']), '90071992547409930.000')
  assert.equal(sdk.sum([]), '0')
  assert.equal(sdk.sum(['-0.50', '0.25']), '-0.25')
  assert.deepEqual(['2', '-1.50', '10', '-1.5'].toSorted(sdk.compare), ['-1.50', '-1.5', '2', '10'])
  assert.equal(sdk.toMinorUnits('-655.00', 'AUD'), -65500n)
  assert.equal(sdk.toMinorUnits('655', 'jpy'), 655n)
  assert.equal(sdk.toMinorUnits('1.5', 'KWD'), 1500n)
  assert.equal(sdk.toMinorUnits('1.500', 'AUD'), 150n)
  assert.throws(() => sdk.toMinorUnits('1.505', 'AUD'), RangeError)
  for (const text of ['', '1e5', '+1', '1.', 'NaN']) assert.throws(() => sdk.sum([text]), TypeError)
})
