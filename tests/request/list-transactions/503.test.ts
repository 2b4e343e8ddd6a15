/**
 * When a bank is unavailable or its answer unreadable (readings R20, R20a, R23), and the breaker (contract,
 * Limits; R21).
 */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import type { Emulator, Misbehaviour } from '#sandbox/emulator.ts'
import { type Answer, codeOf, startService } from '#tests/support/service.ts'
import {
  akahuRow,
  type BankUser,
  fiskilRow,
  makeBankUser,
  plantAkahu,
  plantFiskil,
} from './planted.ts'

const service = await startService({ env: { UPSTREAM_TIMEOUT_MS: '1500' } })
const bank = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
const nz = await makeBankUser(service, { provider: 'akahu', name: 'Rainy Day' })
afterEach(() => {
  for (const emulator of [service.sandbox.fiskil, service.sandbox.akahu]) emulator.clearFaults()
  // Breakers and earlier walks have expired.
  service.clock.advance(3_800_000)
})
after(() => service.close())

const isRead = ({ path }: { readonly path: string }) => path.endsWith('/transactions')

function breakReads(emulator: Emulator, does: Misbehaviour, times?: number): void {
  emulator.clearFaults()
  emulator.addFault({ when: isRead, does, ...(times === undefined ? {} : { times }) })
}

const reply = (status: number, headers: Record<string, string> = {}): Misbehaviour => ({
  kind: 'reply',
  reply: { status, headers, body: { message: 'an internal sentence of the provider' } },
})

function assertUnavailable(answer: Answer, retryAfter: number, what: string): void {
  assert.equal(answer.status, 503, what)
  assert.equal(codeOf(answer), undefined, what)
  assert.equal(answer.headers['retry-after'], String(retryAfter), what)
  assert.doesNotMatch(answer.text, /internal sentence/, what)
}

const failures: readonly (readonly [string, Misbehaviour])[] = [
  ['500', reply(500)],
  ['502', reply(502)],
  ['503', reply(503)],
  ['599', reply(599)],
  ['no answer in time', { kind: 'hang' }],
  ['a reset connection', { kind: 'reset' }],
  ['a body that breaks off', { kind: 'truncate', afterBytes: 40 }],
  ['an empty body', { kind: 'reply', reply: { status: 200, body: '' } }],
  ['a page of HTML', { kind: 'reply', reply: { status: 200, body: '<html>login</html>' } }],
  ['another JSON', { kind: 'reply', reply: { status: 200, body: { transactions: null } } }],
  ['a list of null', { kind: 'reply', reply: { status: 200, body: 'null' } }],
  ['a redirect', { kind: 'reply', reply: { status: 302, headers: { location: '/login' } } }],
]
for (const [name, does] of failures) {
  test(`R20: ${name} is 503 without code, retry after 30, from either bank`, async () => {
    breakReads(service.sandbox.fiskil, does)
    assertUnavailable(await bank.ask('&from=2026-11-01'), 30, 'fiskil')
    breakReads(service.sandbox.akahu, does)
    assertUnavailable(await nz.ask('&from=2026-11-01'), 30, 'akahu')
  })
}

test('R20: a bank that answers 429 gets its own Retry-After passed on', async () => {
  const inSeconds = (seconds: number) =>
    new Date(service.clock.now() + seconds * 1000).toUTCString()
  const forms: readonly (readonly [() => string | null, number])[] = [
    [() => '7', 7],
    [() => '120', 120],
    [() => '0', 1],
    [() => inSeconds(45), 45],
    [() => 'soon', 30],
    [() => null, 30],
  ]
  for (const [makeHeader, seconds] of forms) {
    service.clock.advance(3_800_000)
    const header = makeHeader()
    const headers: Record<string, string> = header === null ? {} : { 'retry-after': header }
    breakReads(service.sandbox.fiskil, reply(429, headers))
    assertUnavailable(await bank.ask('&from=2026-11-01'), seconds, `fiskil ${header}`)
    breakReads(service.sandbox.akahu, reply(429, headers))
    assertUnavailable(await nz.ask('&from=2026-11-01'), seconds, `akahu ${header}`)
  }
})

test('R20a: what only the operator can fix is 503, an alert, and no failure of the bank', async () => {
  const alerts = () =>
    service.logLines.filter((line) => line.includes('operator action required')).length
  for (const status of [401, 410]) {
    breakReads(service.sandbox.fiskil, reply(status))
    const before = alerts()
    for (const limit of [1, 2, 3, 4]) {
      assertUnavailable(await bank.ask(`&limit=${limit}`), 30, `fiskil ${status}`)
    }
    assert.equal(alerts(), before + 4)
  }
  breakReads(service.sandbox.akahu, reply(410))
  assertUnavailable(await nz.ask('&limit=1'), 30, 'akahu 410')
  assert.match(await service.metrics.text(), /alert/)
})

const brokenFiskil: Readonly<Record<string, Record<string, unknown>>> = {
  'no id': { fiskil_id: undefined },
  'an id that is no text': { fiskil_id: 7 },
  'no status': { status: undefined },
  'no time': { posting_date_time: undefined },
  'a time that is none': { posting_date_time: '2026-11-31T00:00:00Z' },
  'no amount': { amount: undefined },
  'an amount of null': { amount: null },
  'an amount in words': { amount: '12 dollars' },
  'an amount with a comma': { amount: '1,200.00' },
  'an amount that is no number': { amount: 'NaN' },
  'an empty amount': { amount: '' },
  'no consent': { arrangement_id: undefined },
}
for (const [name, body] of Object.entries(brokenFiskil)) {
  test(`R23: a row of Fiskil with ${name} fails the request, it is never left out`, async () => {
    plantFiskil(service, 'Bonus Saver', [
      fiskilRow('good', '2026-11-12T00:00:00Z'),
      fiskilRow('broken', '2026-11-11T00:00:00Z'),
    ])
    breakReads(service.sandbox.fiskil, {
      kind: 'edit',
      edit: (given) => {
        const text = JSON.parse(JSON.stringify(given.body))
        Object.assign(text.transactions[1], body)
        return { ...given, body: text }
      },
    })
    assertUnavailable(await bank.ask('&from=2026-11-01'), 30, name)
  })
}

const brokenAkahu: Readonly<Record<string, Record<string, unknown>>> = {
  'no id': { _id: undefined },
  'no date': { date: undefined },
  'a date that is none': { date: '2026-02-30T00:00:00.000Z' },
  'no amount': { amount: undefined },
  'an amount as text': { amount: 'twelve' },
  'no account': { _account: undefined },
}
for (const [name, overrides] of Object.entries(brokenAkahu)) {
  test(`R23: a row of Akahu with ${name} fails the request, it is never left out`, async () => {
    plantAkahu(service, 'Rainy Day', [
      akahuRow('good', '2026-11-12T01:00:00.000Z'),
      akahuRow('broken', '2026-11-11T01:00:00.000Z', { overrides }),
    ])
    assertUnavailable(await nz.ask('&from=2026-11-01'), 30, name)
  })
}

test('R23: an amount that cannot be read fails the windows that show it, and no other', async () => {
  plantFiskil(service, 'Bonus Saver', [
    fiskilRow('one', '2026-11-12T00:00:00Z'),
    fiskilRow('two', '2026-11-11T00:00:00Z', { amount: 'x' }),
    fiskilRow('three', '2026-11-10T00:00:00Z'),
  ])
  const window = (offset: number) => bank.ask(`&from=2026-11-01&limit=1&offset=${offset}`)
  const first = await window(0)
  assert.deepEqual([first.status, first.body.pagination.total], [200, 3])
  assertUnavailable(await window(1), 30, 'the window with the row')
  const last = await window(2)
  assert.deepEqual([last.status, last.body.data[0].description], [200, 'three'])
})

test('R23: pending rows are left out and never shown as posted', async () => {
  plantFiskil(service, 'Bonus Saver', [fiskilRow('posted', '2026-11-12T00:00:00Z')])
  // Although only posted rows are asked for, a provider may send others.
  breakReads(service.sandbox.fiskil, {
    kind: 'edit',
    edit: (given) => {
      const text = JSON.parse(JSON.stringify(given.body))
      const pending = { ...text.transactions[0], fiskil_id: 'p', status: 'PENDING' }
      delete pending.posting_date_time
      return { ...given, body: { ...text, transactions: [pending, ...text.transactions] } }
    },
  })
  const { body } = await bank.ask('&from=2026-11-01')
  assert.deepEqual([body.data.length, body.pagination.total], [1, 1])
  assert.equal(body.data[0].status, 'posted')
})

let windows = 0
/** A request that was not made before. */
const askAnew = (who: BankUser = bank) => {
  windows += 1
  return who.ask(`&from=2026-11-01T00:00:00.${String(windows).padStart(6, '0')}Z`)
}

test('R21: three failures within a minute open the breaker; Retry-After is what remains', async () => {
  plantAkahu(service, 'Rainy Day', [akahuRow('good', '2026-11-12T01:00:00.000Z')])
  const neighbour = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
  breakReads(service.sandbox.fiskil, reply(500))
  for (let count = 0; count < 3; count += 1) {
    assertUnavailable(await askAnew(), 30, `failure ${count}`)
    service.clock.advance(20_000)
  }
  service.sandbox.fiskil.clearFaults()
  const open = await askAnew()
  assert.deepEqual([open.status, codeOf(open)], [503, 'upstream_breaker_open'])
  assert.equal(open.headers['retry-after'], '40')
  service.clock.advance(39_500)
  assert.equal((await askAnew()).headers['retry-after'], '1')
  assert.equal((await askAnew(neighbour)).status, 200, 'another user of the same bank')
  assert.equal((await askAnew(nz)).status, 200, 'another bank')
  const other = (await service.accounts(bank.user)).find((row) => row.name === 'Joint Account')
  const path = `/v1/transactions?connectionId=${other?.connectionId}`
  assert.equal((await service.get(path, bank.user)).status, 200, 'another connection')
  const balances = await service.get(`/v1/balances?accountIds=${bank.account.id}`, bank.user)
  assert.notEqual(balances.body.data[0].currentBalance, null, 'balances know no breaker')
  service.clock.advance(500)
  assert.equal((await askAnew()).status, 200)
  assert.equal((await askAnew()).status, 200, 'it is closed again')
})

test('R21: failures that lie a minute apart do not add up', async () => {
  breakReads(service.sandbox.fiskil, reply(500))
  for (let count = 0; count < 6; count += 1) {
    assertUnavailable(await askAnew(), 30, `failure ${count}`)
    service.clock.advance(30_001)
  }
})

test('R21: one probe at a time is let through; if it fails, another minute', async () => {
  breakReads(service.sandbox.fiskil, reply(500))
  for (let count = 0; count < 3; count += 1) await askAnew()
  service.clock.advance(60_000)
  breakReads(service.sandbox.fiskil, { kind: 'hang' }, 1)
  const asked = service.sandbox.fiskil.requests.length
  const probe = askAnew()
  while (service.sandbox.fiskil.requests.length === asked) {
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const beside = await askAnew()
  assert.equal(codeOf(beside), 'upstream_breaker_open')
  assert.match(String(beside.headers['retry-after']), /^[1-9]\d*$/)
  assertUnavailable(await probe, 30, 'the probe')
  const again = await askAnew()
  assert.equal(codeOf(again), 'upstream_breaker_open')
  assert.equal(again.headers['retry-after'], '60')
  service.clock.advance(60_000)
  assert.equal((await askAnew()).status, 200)
})

test('R21: a 429 counts, another 4xx does not', async () => {
  breakReads(service.sandbox.fiskil, reply(400))
  for (let count = 0; count < 4; count += 1) assert.equal((await askAnew()).status, 400)
  breakReads(service.sandbox.fiskil, reply(429))
  for (let count = 0; count < 3; count += 1) assert.equal(codeOf(await askAnew()), undefined)
  assert.equal(codeOf(await askAnew()), 'upstream_breaker_open')
})

test('R21: one request is one failure, however many pages it had read', async () => {
  const history = await makeBankUser(service, {
    provider: 'akahu',
    name: 'Streamline Business',
    person: 'history',
  })
  let pages = 0
  service.sandbox.akahu.addFault({
    when: (request) => isRead(request) && pages++ % 4 === 3,
    does: reply(500),
  })
  const codes: unknown[] = []
  for (const year of [2023, 2024, 2025]) {
    codes.push(codeOf(await history.ask(`&from=${year}-12-01&limit=500`)))
  }
  assert.deepEqual(codes, [undefined, undefined, undefined])
  assert.equal(pages, 12)
  assert.equal(codeOf(await history.ask('&limit=9')), 'upstream_breaker_open')
})

test('R21: failing balances open no breaker of transactions', async () => {
  service.sandbox.fiskil.addFault({
    when: ({ path }) => path.endsWith('/balances'),
    does: reply(500),
  })
  for (const x of [1, 2, 3, 4]) {
    const path = `/v1/balances?accountIds=${bank.account.id}&x=${x}`
    assert.equal((await service.get(path, bank.user)).body.data[0].currentBalance, null)
  }
  assert.equal((await askAnew()).status, 200)
})
