/**
 * Tests of the Akahu emulator itself: it is as strict as the documentation of the real one, and reproducible.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { demoApp, demoUserTokens, startAkahuEmulator } from './emulator.ts'
import { institutions } from './factories.ts'
import { migrateAccount } from './people.ts'

const now = Date.parse('2026-11-20T21:15:00.000Z')
const day = 86_400_000
let clockMs = now
const clock = { now: () => clockMs }

const akahu = await startAkahuEmulator({ clock })
after(() => akahu.close())

const userHeaders = (token: string) => ({
  authorization: `Bearer ${token}`,
  'x-akahu-id': demoApp.appToken,
})
const healthy = userHeaders(demoUserTokens.healthy)
const basic = `Basic ${Buffer.from(`${demoApp.appToken}:${demoApp.appSecret}`).toString('base64')}`

interface Envelope {
  success: boolean
  message?: string
  item?: Record<string, unknown>
  items?: Record<string, unknown>[]
  cursor?: { next: string | null }
  [key: string]: unknown
}

async function ask(path: string, init: RequestInit = {}, from = akahu) {
  const response = await fetch(`${from.baseUrl}${path}`, init)
  const text = await response.text()
  const body: Envelope = JSON.parse(text)
  return { status: response.status, body, text }
}

async function readAll(path: string, headers: Record<string, string>, from = akahu) {
  const range = new URLSearchParams({
    start: new Date(now - 800 * day).toISOString(),
    end: new Date(now + 2 * day).toISOString(),
  })
  const rows: Record<string, unknown>[] = []
  let pages = 0
  for (let next: string | null = null; pages < 200; ) {
    const cursor: string = next === null ? '' : `&cursor=${encodeURIComponent(next)}`
    const { body } = await ask(`${path}?${range}${cursor}`, { headers }, from)
    rows.push(...(body.items ?? []))
    pages += 1
    next = body.cursor?.next ?? null
    if (next === null) break
  }
  return { rows, pages }
}

test('user endpoints refuse a missing app id with 403 and a wrong or absent token with 401', async () => {
  const cases: [Record<string, string>, number][] = [
    [{ authorization: healthy.authorization }, 403],
    [{ ...healthy, 'x-akahu-id': 'app_token_other' }, 403],
    [userHeaders('user_token_wrong'), 401],
    [{ 'x-akahu-id': demoApp.appToken }, 401],
    [healthy, 200],
  ]
  for (const [headers, status] of cases) {
    const answer = await ask('/accounts', { headers })
    assert.equal(answer.status, status)
    assert.equal(answer.body.success, status === 200)
  }
})

test('app endpoints want HTTP Basic: 181 categories in ten groups, and the connections', async () => {
  const refused = await ask('/categories', { headers: healthy })
  assert.equal(refused.status, 401)
  const { body } = await ask('/categories', { headers: { authorization: basic } })
  assert.equal(body.items?.length, 181)
  assert.equal('category' in (body.items?.[0] ?? {}), false)
  const connections = await ask('/connections', { headers: { authorization: basic } })
  assert.ok(connections.body.items?.some((one) => one.name === 'Kiwibank'))
})

test('other paths and other methods are 404', async () => {
  for (const [method, path] of [
    ['GET', '/nothing'],
    ['PUT', '/accounts'],
    ['POST', '/me'],
    ['GET', '/accounts/acc_x/y'],
    ['GET', '/me/'],
  ] as const) {
    assert.equal((await ask(path, { method, headers: healthy })).status, 404, `${method} ${path}`)
  }
})

test('the history account has 5,400 rows within two years, in pages of 100', async () => {
  const { rows, pages } = await readAll('/transactions', userHeaders(demoUserTokens.history))
  assert.equal(rows.length, 5_400)
  assert.equal(pages, 54)
  assert.equal(new Set(rows.map((row) => row._id)).size, 5_400)
  const dates = rows.map((row) => String(row.date))
  assert.deepEqual(dates, dates.toSorted().reverse())
  assert.ok(Date.parse(dates.at(-1) ?? '') > now - 731 * day)
})

test('the healthy person shows every transaction type, and the last 30 days are not empty', async () => {
  const { rows } = await readAll('/transactions', healthy)
  const types = new Set(rows.map((row) => row.type))
  const documented = 'CREDIT DEBIT PAYMENT TRANSFER EFTPOS INTEREST FEE TAX ATM LOAN'.split(' ')
  for (const type of [
    ...documented,
    'STANDING ORDER',
    'CREDIT CARD',
    'DIRECT DEBIT',
    'DIRECT CREDIT',
  ]) {
    assert.ok(types.has(type), type)
  }
  const recent = await ask('/transactions', { headers: healthy })
  assert.ok((recent.body.items?.length ?? 0) > 50)
})

test('start is exclusive, end is inclusive, and a bare day is refused', async () => {
  const account = akahu.people.healthy.accounts[0]
  assert.ok(account)
  const path = `/accounts/${account._id}/transactions`
  const date = account.rows.at(-1)?.date ?? ''
  const before = new Date(Date.parse(date) - 1).toISOString()
  const from = await ask(`${path}?start=${date}&end=${date}`, { headers: healthy })
  assert.deepEqual(from.body.items, [])
  const to = await ask(`${path}?start=${before}&end=${date}`, { headers: healthy })
  assert.ok((to.body.items?.length ?? 0) > 0)
  const bare = await ask(`${path}?start=2026-11-01&end=2026-11-02`, { headers: healthy })
  assert.equal(bare.status, 400)
})

test('a cursor is good for its own query only', async () => {
  const range = 'start=2025-10-01T00:00:00.000Z&end=2026-11-01T00:00:00.000Z'
  const { body } = await ask(`/transactions?${range}`, { headers: healthy })
  const cursor = encodeURIComponent(body.cursor?.next ?? '')
  const other = range.replace('2025-10', '2025-09')
  assert.equal(
    (await ask(`/transactions?${other}&cursor=${cursor}`, { headers: healthy })).status,
    400,
  )
  assert.equal(
    (await ask(`/transactions?${range}&cursor=nonsense`, { headers: healthy })).status,
    400,
  )
})

test('the same seed and clock give the same rows, a later clock the same and more', async () => {
  const [same, other] = await Promise.all([
    startAkahuEmulator({ clock: { now: () => now } }),
    startAkahuEmulator({ clock: { now: () => now }, seed: 'other' }),
  ])
  try {
    const first = await readAll('/transactions', healthy)
    assert.deepEqual((await readAll('/transactions', healthy, same)).rows, first.rows)
    assert.notDeepEqual((await readAll('/transactions', healthy, other)).rows, first.rows)
    clockMs = now + 3 * day
    const later = (await readAll('/transactions', healthy)).rows.map((row) => row._id)
    for (const row of first.rows) assert.ok(later.includes(row._id))
    const { body } = await ask('/transactions', { headers: healthy })
    assert.ok(Date.parse(String(body.items?.[0]?.date)) > now)
  } finally {
    clockMs = now
    await Promise.all([same.close(), other.close()])
  }
})

test('amounts and balances are sent digit by digit, float noise and negative zero included', async () => {
  const accounts = await ask('/accounts', { headers: healthy })
  assert.match(accounts.text, /"current":\d+\.\d+9999999997/)
  const range = 'start=2025-10-01T00:00:00.000Z&end=2026-11-19T00:00:00.000Z'
  const everyday = akahu.people.healthy.accounts[0]
  assert.ok(everyday)
  assert.ok(everyday.rows.some((row) => row.amount === '-0'))
  everyday.rows.push({
    ...everyday.rows[0],
    _id: 'trans_exact',
    created_at: '',
    updated_at: '',
    date: '2026-11-18T11:00:00.000Z',
    description: 'EXACT',
    amount: '12345678901234567890.120',
    type: 'CREDIT',
  })
  const rows = await ask(`/accounts/${everyday._id}/transactions?${range}`, { headers: healthy })
  everyday.rows.pop()
  assert.match(rows.text, /"amount":12345678901234567890\.120[,}]/)
})

test('pending rows have no id and live under their own path', async () => {
  const { body } = await ask('/transactions/pending', { headers: healthy })
  assert.equal(body.items?.length, 2)
  assert.equal(body.items?.[0]?._id, undefined)
  assert.ok(Date.parse(String(body.items?.[0]?.date)) > now - day)
})

test('a code is exchanged once, for the redirect it was issued to, within a minute', async () => {
  const redirect = 'https://tributary.example.test/providers/akahu/callback'
  const exchange = (code: string, redirectUri: string) =>
    ask('/token', {
      method: 'POST',
      body: JSON.stringify({
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        client_id: demoApp.appToken,
        client_secret: demoApp.appSecret,
      }),
    })
  assert.equal((await exchange(akahu.issueCode('healthy', redirect), 'https://x.test')).status, 400)
  const code = akahu.issueCode('healthy', redirect)
  const good = await exchange(code, redirect)
  assert.equal(good.body.access_token, demoUserTokens.healthy)
  assert.equal((await exchange(code, redirect)).body.error, 'invalid_grant')
  const late = akahu.issueCode('healthy', redirect)
  clockMs = now + 61_000
  assert.equal((await exchange(late, redirect)).body.error, 'invalid_grant')
  clockMs = now
})

test('a moved account is found under its new id only, and its rows keep the former ids', async () => {
  const own = await startAkahuEmulator({ clock })
  try {
    const account = own.people.history.accounts[0]
    assert.ok(account)
    const former = account._id
    migrateAccount(account, institutions.kiwibank)
    const headers = userHeaders(demoUserTokens.history)
    assert.equal((await ask(`/accounts/${former}/transactions`, { headers }, own)).status, 404)
    const { body } = await ask(`/accounts/${account._id}/transactions`, { headers }, own)
    assert.equal(body.items?.[0]?._migrated_account, former)
    assert.equal(body.items?.[0]?._account, account._id)
  } finally {
    await own.close()
  }
})

test('one authorisation, the whole token and an official account are revoked by their own rules', async () => {
  const own = await startAkahuEmulator({ clock })
  try {
    const remove = (path: string) => ask(path, { method: 'DELETE', headers: healthy }, own)
    const [everyday] = own.people.healthy.accounts
    assert.ok(everyday)
    assert.equal((await remove(`/accounts/${everyday._id}`)).status, 400)
    assert.equal((await remove(`/authorisations/${everyday._authorisation}`)).status, 200)
    assert.equal((await remove(`/authorisations/${everyday._authorisation}`)).status, 404)
    assert.equal((await remove('/token')).status, 200)
    assert.equal((await remove('/token')).status, 401)
  } finally {
    await own.close()
  }
})
