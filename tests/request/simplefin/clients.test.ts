/**
 * What the code of known clients demands of `/simplefin/accounts`, each row by the requests that it sends.
 * The demands were read in the clients' own code; none of that code is here.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { type Service, startService } from '#tests/support/service.ts'
import { bind, openAccess, type ProgramWorld } from './world.ts'

let service: Service
let world: ProgramWorld
let access: string
before(async () => {
  service = await startService()
  const user = await service.createUser({ timezone: 'Pacific/Auckland' })
  for (const provider of ['fiskil', 'akahu', 'snaptrade'] as const)
    await service.link(user, 'healthy', provider)
  world = bind(service, user)
  access = await openAccess(world)
})
after(() => service.close())

interface Row {
  readonly [field: string]: unknown
}
// biome-ignore lint/suspicious/noExplicitAny: clients read fields without types.
type Any = any

const seconds = (day: string) => Date.parse(`${day}T00:00:00Z`) / 1000
const dayOf = (posted: number) => new Date(posted * 1000).toISOString().slice(0, 10)
const rowsOf = (answer: Any): Row[] => answer.accounts.flatMap((one: Any) => one.transactions)

/** Account by account what REST shows of the same days. */
async function restRows(from: string, to: string): Promise<Row[]> {
  const { body } = await service.get('/v1/accounts?limit=200', world.user)
  const connections = await service.get('/v1/connections', world.user)
  const banks = new Set(
    connections.body.data.filter((one: Any) => one.category === 'banking').map(({ id }: Any) => id),
  )
  const rows: Row[] = []
  for (const { id, connectionId } of body.data.filter((one: Any) => banks.has(one.connectionId))) {
    for (let offset = 0; ; ) {
      const query = `connectionId=${connectionId}&accountId=${id}&from=${from}&to=${to}&limit=500&offset=${offset}`
      const page = await service.get(`/v1/transactions?${query}`, world.user)
      rows.push(...page.body.data)
      if (!page.body.pagination.hasMore) break
      offset = page.body.pagination.offset + page.body.pagination.limit
    }
  }
  return rows
}

test('Actual Budget: amounts by leaving the point out, days by UTC, errors as an array, one request for several accounts', async () => {
  const listing = await world.accounts(access, '?balances-only=1')
  assert(Array.isArray(listing.errors))
  assert(listing.accounts.length > 3)
  for (const one of listing.accounts) {
    assert.equal(typeof one.org.name, 'string')
    assert.equal(typeof one.org.domain, 'string')
    assert.match(one.balance, /^-?\d+\.\d{2}$/)
    assert.deepEqual(one.transactions, [])
    assert(Array.isArray(one.holdings), 'its next version goes through them without a question')
  }
  const ids = listing.accounts.map(({ id }: Any) => id)
  const filter = ids.map((id: string) => `&account=${id}`).join('')
  const [start, end] = ['2026-08-23', '2026-12-01']
  const answer = await world.accounts(
    access,
    `?start-date=${seconds(start)}&end-date=${seconds(end)}&pending=1${filter}`,
  )
  assert.deepEqual(answer.errors, [])
  assert.deepEqual(answer.accounts.map(({ id }: Any) => id).toSorted(), ids.toSorted())
  const rows = rowsOf(answer)
  const wanted = await restRows(start, '2026-11-30')
  const read = (amount: unknown) => Number.parseInt(String(amount).replace('.', ''), 10)
  const cents = (list: Row[]) => list.reduce((sum, { amount }) => sum + read(amount), 0)
  assert.deepEqual(rows.map(({ id }) => id).toSorted(), wanted.map(({ id }) => id).toSorted())
  const padded = wanted.map((row) => ({ ...row, amount: Number(row.amount).toFixed(2) }))
  assert.equal(cents(rows), cents(padded))
  const days = new Map(wanted.map(({ id, date }) => [id, date]))
  for (const row of rows) {
    assert.equal(dayOf(row.posted as number), days.get(row.id), 'the UTC day is the day')
    assert.equal(row.pending, false)
    assert(String(row.payee).length > 0, 'a blank payee shows as an empty row')
  }
})

test('Sure: an undated discovery, then windows of 60 days backwards; both balances, types in names, holdings', async () => {
  const discovery = await world.accounts(access)
  const names = discovery.accounts.map(({ name }: Any) => name)
  assert.equal(new Set(names).size, names.length)
  for (const one of discovery.accounts) {
    assert.equal(typeof one['available-balance'], 'string')
    assert(Number.isInteger(one['balance-date']))
  }
  const now = Math.floor(service.clock.now() / 1000)
  const seen: unknown[] = []
  for (let window = 0; window < 6; window += 1) {
    const [end, start] = [now - window * 60 * 86_400 + 1, now - (window + 1) * 60 * 86_400 + 1]
    const answer = await world.accounts(access, `?start-date=${start}&end-date=${end}&pending=1`)
    seen.push(...rowsOf(answer).map(({ id }) => id))
  }
  assert.equal(new Set(seen).size, seen.length, 'windows that join repeat nothing')
  const oldest = dayOf(now - 360 * 86_400)
  const wanted = await restRows(oldest, '2026-11-21')
  // A row of today is told by the midday of its day, which may lie ahead.
  const missing = wanted.filter(
    ({ id, date }) => String(date) > oldest && String(date) < dayOf(now) && !seen.includes(id),
  )
  assert.deepEqual(missing, [])
})

test('Firefly III: token of a fixed form, one account at a time in windows of 44 days from 1970 on, a strictly typed account', async () => {
  const token = await world.makeToken()
  assert.match(token, /^[A-Za-z0-9+/]+=*$/)
  assert.match(Buffer.from(token, 'base64').toString(), /^https?:\/\/[^/]+\/simplefin\/claim\/\w+$/)
  const { accounts } = await world.accounts(access, '?balances-only=1')
  const asked = service.sandbox.fiskil.requests.length
  const old = await world.accounts(
    access,
    `?account=${accounts[0].id}&start-date=0&end-date=${44 * 86_400}`,
  )
  assert.deepEqual(old.accounts[0].transactions, [])
  assert.equal(service.sandbox.fiskil.requests.length, asked, 'no provider is asked for 1970')
  for (const one of accounts) {
    const answer = await world.accounts(access, `?account=${one.id}`)
    const [only, ...more] = answer.accounts
    assert.deepEqual(
      [only.id, only.name, more],
      [one.id, one.name, []],
      'rows are taken from the first account',
    )
    for (const field of ['id', 'name', 'currency', 'balance'])
      assert.equal(typeof only[field], 'string')
    assert.equal(typeof only['balance-date'], 'number')
    for (const field of ['name', 'domain', 'sfin-url'])
      assert.equal(typeof only.org[field], 'string')
    for (const row of only.transactions) assert(Number.isInteger(row.transacted_at))
  }
})

test('Home Assistant: no parameters at all; every key of transactions, accounts and holdings is there', async () => {
  const answer = await world.accounts(access)
  assert(rowsOf(answer).length > 0, 'without a date it is the last 30 days')
  for (const row of rowsOf(answer)) {
    for (const key of [
      'id',
      'posted',
      'amount',
      'description',
      'payee',
      'memo',
      'transacted_at',
      'pending',
    ]) {
      assert(key in row, key)
    }
  }
  const keys =
    'id created currency cost_basis description market_value purchase_price shares symbol'.split(
      ' ',
    )
  for (const one of answer.accounts) {
    assert('available-balance' in one && Array.isArray(one.transactions))
    for (const holding of one.holdings ?? []) for (const key of keys) assert(key in holding, key)
  }
})

test('version 2: connections, errlist and conn_id beside version 1; an unknown version is a note to the developer', async () => {
  const answer = await world.accounts(access, '?version=2')
  const codes = new Set(answer.errlist.map(({ code }: Any) => code))
  assert.deepEqual([...codes], ['act.missingdata'], 'accounts with positions in several currencies')
  for (const one of answer.connections) {
    for (const field of ['conn_id', 'name', 'org_id', 'sfin_url'])
      assert.equal(typeof one[field], 'string')
  }
  const ids = new Set(answer.connections.map((one: Any) => one.conn_id))
  for (const one of answer.accounts) assert(ids.has(one.conn_id))
  const unknown = await world.accounts(access, '?version=9&start-date=soon&end-date=1795219200.9')
  const notes = unknown.errlist.filter(({ code }: Any) => code === 'gen.api')
  assert.equal(notes.length, 2)
  assert(
    notes.every(({ msg }: Any) => !unknown.errors.includes(msg)),
    'people need not know',
  )
})

test('the two small clients: pending as a word, extra as an object, day by local time in every zone', async () => {
  const answer = await world.accounts(access, '?pending=true')
  const byId = new Map((await restRows('2026-10-20', '2026-11-21')).map((row) => [row.id, row]))
  for (const row of rowsOf(answer)) {
    const { extra } = row as Any
    assert(extra === undefined || (typeof extra === 'object' && !Array.isArray(extra)))
    for (const zone of ['Pacific/Auckland', 'UTC', 'Australia/Sydney']) {
      const at = Temporal.Instant.fromEpochMilliseconds((row.posted as number) * 1000)
      assert.equal(at.toZonedDateTimeISO(zone).toPlainDate().toString(), byId.get(row.id)?.date)
    }
  }
})

test('an answer with rows of several accounts comes in one chunk: one client takes the first for the whole', async () => {
  const query = `?start-date=${seconds('2026-11-12')}`
  const { accounts } = await world.accounts(access, query)
  assert(accounts.filter(({ transactions }: Any) => transactions.length > 1).length > 1)
  service.clock.advance(1000)
  const url = new URL(access)
  const basic = Buffer.from(`${url.username}:${url.password}`).toString('base64')
  const socket = connect(Number(url.port), url.hostname)
  socket.write(
    `GET /simplefin/accounts${query} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Basic ${basic}\r\n\r\n`,
  )
  const [chunk] = await once(socket, 'data')
  socket.destroy()
  const body = chunk.toString().split('\r\n\r\n')[1] ?? assert.fail()
  assert.deepEqual(JSON.parse(body).accounts, accounts)
})

test('rows are newest first, and a window that is reversed or in the future is empty, with balances', async () => {
  const { accounts } = await world.accounts(access)
  for (const { transactions } of accounts) {
    const times = transactions.map(({ posted }: Any) => posted)
    assert.deepEqual(
      times,
      times.toSorted((one: number, other: number) => other - one),
    )
  }
  for (const query of [
    `?start-date=${seconds('2026-11-01')}&end-date=${seconds('2026-10-01')}`,
    `?start-date=${seconds('2027-05-01')}`,
  ]) {
    const answer = await world.accounts(access, query)
    assert.equal(answer.accounts.length, accounts.length)
    assert.deepEqual(rowsOf(answer), [])
  }
})

test('R19: half a day of a client that asks every five minutes reads the providers no more often than REST would', async () => {
  const user = await service.createUser()
  await service.link(user, 'healthy', 'fiskil')
  const poller = bind(service, user)
  const url = await openAccess(poller)
  const transactionsAsked = () =>
    service.sandbox.fiskil.requests.filter(({ path }: Any) => /transactions/.test(path)).length
  const before = transactionsAsked()
  await poller.accounts(url, '?start-date=1787443200&pending=1')
  const once = transactionsAsked() - before
  assert(once > 0)
  for (let polls = 1; polls < 144; polls += 1) {
    service.clock.advance(5 * 60_000)
    await poller.accounts(url, '?start-date=1787443200&pending=1')
  }
  const most = once * (12 * 2 + 1)
  assert(transactionsAsked() - before <= most, `${transactionsAsked() - before} of ${most}`)
})
