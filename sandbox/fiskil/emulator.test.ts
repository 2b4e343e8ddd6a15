/**
 * Tests of the Fiskil emulator: it is as strict as the provider's documentation, its data is the same for the
 * same seed and clock, and it shows every feature that the adapter maps.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type FiskilEmulator, fiskilDemoCredentials, startFiskilEmulator } from './index.ts'

const clock = { ms: Date.parse('2026-11-20T03:00:00Z'), now: () => clock.ms }
let emulator: FiskilEmulator
let token: string

before(async () => {
  emulator = await startFiskilEmulator({ clock })
  token = await mint()
})
after(() => emulator.close())

interface Answer {
  readonly status: number
  readonly body: Body
}

/** What the tests look at in a reply, whichever it is. */
interface Body {
  readonly name: string
  readonly token?: string
  readonly accounts: readonly unknown[]
  readonly consents: readonly { readonly active: boolean }[]
  readonly transactions: readonly Record<string, unknown>[]
  readonly links: { readonly next?: string }
}

/** Reads a reply as what the provider would send: the assertions after it prove the parts that matter. */
async function readBody(response: Response): Promise<Body> {
  return (await response.json()) as Body
}

async function ask(path: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, ...init.headers }
  const response = await fetch(new URL(path, emulator.url), { ...init, headers })
  return { status: response.status, body: await readBody(response) }
}

async function mint(body: unknown = null): Promise<string> {
  const { clientId, clientSecret } = fiskilDemoCredentials
  const response = await fetch(`${emulator.url}/v1/token`, {
    method: 'POST',
    body: JSON.stringify(body ?? { client_id: clientId, client_secret: clientSecret }),
  })
  return (await readBody(response)).token ?? `${response.status}`
}

async function walk(query: string): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = []
  let path: string | undefined = `/v1/banking/transactions?page[size]=1000&${query}`
  for (let pages = 0; path !== undefined && pages < 20; pages += 1) {
    const { body }: Answer = await ask(path)
    rows.push(...body.transactions)
    path = body.links.next
  }
  return rows
}

const healthy = 'end_user_id=eu_sandbox_healthy'
const history = 'end_user_id=eu_sandbox_history'

test('a token needs the right credentials and lives for fifteen minutes', async () => {
  assert.equal(await mint({ client_id: 'nobody', client_secret: 'x' }), '401')
  assert.equal(await mint({ client_id: 'nobody' }), '400')
  const old = token
  assert.equal((await ask(`/v1/consent?${healthy}`)).status, 200)
  clock.ms += 900_000
  try {
    assert.equal((await ask(`/v1/consent?${healthy}`)).status, 401)
    token = await mint()
    assert.equal((await ask(`/v1/consent?${healthy}`)).status, 200)
  } finally {
    clock.ms -= 900_000
    token = old
  }
})

test('tokens of another signature, other schemes and no token at all are refused', async () => {
  for (const authorization of [`Bearer ${token}x`, `Bearer a.b.c`, `Basic ${token}`, '']) {
    const { status, body } = await ask(`/v1/consent?${healthy}`, { headers: { authorization } })
    assert.equal(status, 401)
    assert.deepEqual(Object.keys(body), ['id', 'name', 'message'])
  }
})

test('lists are wrapped in v3 and bare in v1 and v2; other versions are refused', async () => {
  for (const version of ['v1', 'v2', 'v3', 'v4']) {
    const reply = await ask(`/v1/consent?${healthy}`, { headers: { 'x-fiskil-version': version } })
    if (version === 'v4') assert.equal(reply.status, 400)
    else assert.equal(Array.isArray(reply.body), version !== 'v3')
  }
})

test('a required parameter that is missing, a bare date and a bad status are 400', async () => {
  for (const path of [
    '/v1/banking/transactions',
    '/v1/consent',
    '/v1/institutions',
    `/v1/banking/transactions?${healthy}&from=2026-11-01`,
    `/v1/banking/transactions?${healthy}&to=2026-11-01T00:00:00`,
    `/v1/banking/transactions?${healthy}&status=posted`,
    `/v1/banking/transactions?${healthy}&page[size]=0`,
    `/v1/banking/balances?${healthy}&fetch=true`,
  ]) {
    assert.equal((await ask(path)).status, 400, path)
  }
})

test('unknown paths and methods are 404, an unknown end user has empty lists', async () => {
  assert.equal((await ask('/v1/accounts')).status, 404)
  assert.equal((await ask('/v1/banking/accounts/x')).status, 404)
  assert.equal((await ask(`/v1/banking/accounts?${healthy}`, { method: 'POST' })).status, 404)
  assert.equal((await ask('/v1/end-users/eu_nobody')).body.name, 'end_user_not_found')
  const { status, body } = await ask('/v1/banking/accounts?end_user_id=eu_nobody')
  assert.deepEqual([status, body.accounts], [200, []])
})

test('pages are clamped to 1,000 rows, and a bad cursor answers 503', async () => {
  const first = await ask(`/v1/banking/transactions?${history}&page[size]=5000`)
  assert.equal(first.body.transactions.length, 1000)
  assert.ok(first.body.links.next?.startsWith(`${emulator.url}/v1/banking/transactions?`))
  const bad = await ask(`/v1/banking/transactions?${history}&page[after]=nonsense`)
  assert.equal(bad.status, 503)
})

test('the person with a history has 5,400 posted rows of two years, newest first, each once', async () => {
  const rows = await walk(history)
  assert.equal(rows.length, 5400)
  assert.equal(new Set(rows.map((row) => row.fiskil_id)).size, 5400)
  const times = rows.map((row) => String(row.posting_date_time))
  assert.deepEqual(times, [...times].sort().reverse())
  assert.ok(String(times.at(-1)) > '2024-11-20')
})

test('the healthy person shows every feature that is mapped', async () => {
  const rows = await walk(healthy)
  const has = (what: string, found: (row: Record<string, unknown>) => boolean) =>
    assert.ok(rows.some(found), what)
  for (const type of [
    'DIRECT_DEBIT',
    'FEE',
    'INTEREST_CHARGED',
    'INTEREST_PAID',
    'OTHER',
    'PAYMENT',
    'TRANSFER_INCOMING',
    'TRANSFER_OUTGOING',
  ]) {
    has(type, (row) => row.type === type)
  }
  has('pending', (row) => row.status === 'PENDING' && !('posting_date_time' in row))
  has('zero', (row) => row.amount === '0.00')
  has('foreign currency', (row) => row.currency === 'USD')
  has('no merchant', (row) => !('merchant_name' in row))
  has('no category', (row) => !('category' in row))
  has('executed only', (row) => row.status === 'POSTED' && !('posting_date_time' in row))
  has('an offset', (row) => String(row.posting_date_time).endsWith('+10:00'))
  has('BPAY', (row) => row.biller_name !== undefined)
  has('NPP', (row) => row.extended_data !== undefined)
  has('no description', (row) => row.description === '')
  assert.equal(new Set(rows.map((row) => row.arrangement_id)).size, 2)
})

test('the last thirty days are never empty, however long the sandbox runs', async () => {
  const running = await startFiskilEmulator({ clock })
  const before = clock.ms
  try {
    clock.ms += 200 * 86_400_000
    const bearer = { authorization: `Bearer ${await mint()}` }
    const from = new Date(clock.ms - 30 * 86_400_000).toISOString()
    const url = `${running.url}/v1/banking/transactions?${healthy}&from=${from}`
    const { transactions } = await readBody(await fetch(url, { headers: bearer }))
    assert.ok(transactions.length > 10)
  } finally {
    clock.ms = before
    await running.close()
  }
})

test('the same seed and clock give the same rows, another seed gives others', async () => {
  const started = performance.now()
  const [same, other] = await Promise.all([
    startFiskilEmulator({ clock }),
    startFiskilEmulator({ clock, seed: 'another' }),
  ])
  assert.ok(performance.now() - started < 2_000)
  try {
    assert.deepEqual(toText(same), toText(emulator))
    assert.notDeepEqual(toText(other), toText(emulator))
  } finally {
    await Promise.all([same.close(), other.close()])
  }
})

function toText(made: FiskilEmulator): string {
  return JSON.stringify(made.people.history.consents)
}

test('a revoked consent ends the data at once, and revoking may be repeated', async () => {
  const own = await startFiskilEmulator({ clock })
  const headers = { authorization: `Bearer ${token}` }
  try {
    const [consent] = own.people.history.consents
    const url = `${own.url}/v1/consent/${consent?.arrangementId}`
    for (let round = 0; round < 2; round += 1) {
      assert.equal((await fetch(url, { method: 'DELETE', headers })).status, 204)
    }
    const list = await readBody(await fetch(`${own.url}/v1/consent?${history}`, { headers }))
    assert.equal(list.consents[0]?.active, false)
    const rows = await fetch(`${own.url}/v1/banking/transactions?${history}`, { headers })
    assert.deepEqual((await readBody(rows)).transactions, [])
  } finally {
    await own.close()
  }
})
