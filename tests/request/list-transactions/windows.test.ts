/**
 * Windows over long histories: ceiling, page caps, totals and what consecutive windows share (readings R17 to
 * R19).
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type Answer, type Service, startService } from '#tests/support/service.ts'
import {
  akahuRow,
  type BankUser,
  fiskilRow,
  makeBankUser,
  namesOf,
  plantAkahu,
  plantFiskil,
} from './planted.ts'

let service: Service
let bank: BankUser
let nz: BankUser
before(async () => {
  service = await startService()
  bank = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
  nz = await makeBankUser(service, { provider: 'akahu', name: 'Rainy Day' })
  // The other accounts of both banks are silent.
  for (const name of ['Everyday Account', 'Low Rate Card', 'Home Loan', 'Travel Card USD']) {
    plantFiskil(service, name, [])
  }
  for (const name of ['Joint Account', '12 Month Term Deposit']) plantFiskil(service, name, [])
  for (const { name } of service.sandbox.akahu.people.healthy.accounts) {
    plantAkahu(service, name, [])
  }
})
afterEach(() => {
  for (const emulator of [service.sandbox.fiskil, service.sandbox.akahu]) {
    emulator.clearFaults()
    emulator.requests.length = 0
  }
  service.sandbox.akahu.people.healthy.emptyPageEvery = null
  // Walks and cached answers of the test before are over.
  service.clock.advance(1_800_000)
})
after(() => service.close())

const isRead = ({ path }: { readonly path: string }) => path.endsWith('/transactions')
const pagesOf = (emulator: { readonly requests: readonly { readonly path: string }[] }) =>
  emulator.requests.filter(isRead).length

const newest = Date.parse('2026-11-20T00:00:00Z')
/** The instant of row number `index`, one minute older than the one before. */
const at = (index: number) => new Date(newest - index * 60_000).toISOString()
const rows = <Row>(count: number, make: (id: string, date: string) => Row): Row[] =>
  Array.from({ length: count }, (_, index) => make(`${index}`, at(index)))

function assertWindow(
  answer: Answer,
  expected: {
    readonly rows: number
    readonly total: number
    readonly hasMore: boolean
    readonly truncated: boolean
    readonly limit?: number
  },
): void {
  assert.equal(answer.status, 200, answer.text.slice(0, 200))
  const { pagination, data } = answer.body
  assert.deepEqual(
    {
      rows: data.length,
      total: pagination.total,
      hasMore: pagination.hasMore,
      truncated: answer.headers['x-service-truncated'] === 'true',
      ...(expected.limit === undefined ? {} : { limit: pagination.limit }),
    },
    expected,
  )
}

/** Walks over all windows as a client does; returns the names of the rows in their order. */
async function walkAll(ask: (query: string) => Promise<Answer>, query: string, limit: number) {
  const seen: string[] = []
  let offset = 0
  for (let window = 0; window < 400; window += 1) {
    const answer = await ask(`${query}&limit=${limit}&offset=${offset}`)
    assert.equal(answer.status, 200)
    seen.push(...namesOf(answer))
    const { pagination } = answer.body
    offset += pagination.limit
    if (!pagination.hasMore) {
      assert.equal(pagination.total, seen.length, 'the total is exact at the end')
      return seen
    }
    assert(pagination.total === null || pagination.total >= offset)
  }
  return assert.fail('the walk never ends')
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `${index}`)

test('R17: a total is exact whenever reading reached the end, also while there is more', async () => {
  plantFiskil(service, 'Bonus Saver', rows(7, fiskilRow))
  const whole = { total: 7, truncated: false }
  assertWindow(await bank.ask('&limit=3'), { rows: 3, hasMore: true, ...whole, limit: 3 })
  assertWindow(await bank.ask('&limit=3&offset=3'), { rows: 3, hasMore: true, ...whole })
  assertWindow(await bank.ask('&limit=3&offset=4'), { rows: 3, hasMore: false, ...whole })
  const last = await bank.ask('&limit=3&offset=6')
  assertWindow(last, { rows: 1, hasMore: false, ...whole, limit: 3 })
  assertWindow(await bank.ask('&limit=3&offset=7'), { rows: 0, hasMore: false, ...whole })
  assertWindow(await bank.ask('&limit=3&offset=99'), { rows: 0, hasMore: false, ...whole })
  assertWindow(await bank.ask('&limit=7'), { rows: 7, hasMore: false, ...whole })
})

test('a truncated answer says so from the cache, too', async () => {
  plantFiskil(service, 'Bonus Saver', rows(2100, fiskilRow))
  const fresh = await bank.ask('&limit=10')
  const warm = await bank.ask('&limit=10')
  assert.equal(fresh.headers['x-service-truncated'], 'true')
  assert.deepEqual([warm.headers['x-cache'], warm.headers['x-service-truncated']], ['HIT', 'true'])
  assert.equal(warm.text, fresh.text)
})

test('R17: a scoped read stops after ceil((offset+limit)/1000)+1 pages of Fiskil', async () => {
  plantFiskil(service, 'Bonus Saver', rows(3500, fiskilRow))
  const first = await bank.ask('&limit=500')
  assertWindow(first, { rows: 500, total: 2000, hasMore: true, truncated: true, limit: 500 })
  assert.equal(pagesOf(service.sandbox.fiskil), 2)
  const other = await bank.ask('&limit=500&offset=1500&to=2026-11-20')
  assertWindow(other, { rows: 500, total: 3000, hasMore: true, truncated: true })
  assert.equal(pagesOf(service.sandbox.fiskil), 2 + 3)
})

test('R17: the page of Akahu is 100 rows, and its cap is counted in those', async () => {
  plantAkahu(service, 'Rainy Day', rows(900, akahuRow))
  const answer = await nz.ask('&limit=250')
  assertWindow(answer, { rows: 250, total: 400, hasMore: true, truncated: true })
  assert.equal(pagesOf(service.sandbox.akahu), 4)
})

test('R17: shared pages do not count towards the cap, so that every row is reached', async () => {
  plantAkahu(service, 'Rainy Day', rows(640, akahuRow))
  assert.deepEqual(await walkAll(nz.ask, '', 30), names(640))
  assert.equal(pagesOf(service.sandbox.akahu), 7, 'R19: each page was read once')
})

test('R18: windows of any size show each row once, with or without empty pages in between', async () => {
  plantAkahu(service, 'Rainy Day', rows(333, akahuRow))
  for (const every of [null, 1, 2]) {
    service.sandbox.akahu.people.healthy.emptyPageEvery = every
    for (const limit of [1, 7, 100, 101, 499]) {
      if (limit === 1 && every !== null) continue
      const seen = await walkAll(nz.ask, `&from=2026-11-${10 + (limit % 7)}`, limit)
      assert.deepEqual(seen, names(333), `limit ${limit}, an empty page after ${every}`)
    }
    service.clock.advance(1_800_000)
  }
})

test('R18: a walk without its snapshot still shows every row once', async () => {
  plantFiskil(service, 'Bonus Saver', rows(2300, fiskilRow))
  const ask = (query: string) => {
    service.clock.advance(1_800_000)
    return bank.ask(query)
  }
  assert.deepEqual(await walkAll(ask, '&from=2026-11-01&to=2026-11-20', 400), names(2300))
})

test('R18: about 5,000 rows past the offset are collected, skipped ones do not count', async () => {
  plantFiskil(service, 'Bonus Saver', rows(12_100, fiskilRow))
  const deep = await bank.ask('&limit=500&offset=6500')
  const { data, pagination } = deep.body
  assert.deepEqual([data.length, data[0].description], [500, '6500'])
  assert(pagination.total >= 7000 && pagination.hasMore)
  assert.equal(deep.headers['x-service-truncated'], 'true')
  assert.deepEqual(await walkAll(bank.askAll, '&from=2026-10-01', 500), names(12_100))
})

test('the row ceiling fires at 5,000 rows when no cap comes first', async () => {
  const full = rows(5200, fiskilRow)
  plantFiskil(service, 'Bonus Saver', full)
  const over = await bank.askAll('&limit=500')
  assertWindow(over, { rows: 500, total: 5000, hasMore: true, truncated: true })
  assert.equal(pagesOf(service.sandbox.fiskil), 5)
  plantFiskil(service, 'Bonus Saver', full.slice(0, 4999))
  const under = await bank.askAll('&limit=500&from=2026-10-30')
  assertWindow(under, { rows: 500, total: 4999, hasMore: true, truncated: false })
})

/** Lets Akahu answer with pages of so many rows each (of at most 100 planted ones), whatever its own size. */
function serveInPages(counts: readonly number[]): void {
  let all: readonly unknown[] | null = null
  service.sandbox.akahu.addFault({
    when: isRead,
    does: {
      kind: 'edit',
      edit(given) {
        all ??= JSON.parse(JSON.stringify(given.body)).items
        const page = pagesOf(service.sandbox.akahu)
        const start = counts.slice(0, page - 1).reduce((sum, count) => sum + count, 0)
        const items = all?.slice(start, start + (counts[page - 1] ?? 0)) ?? []
        const next = page < counts.length ? `page-${page + 1}` : null
        return { status: 200, body: { success: true, items, cursor: { next } } }
      },
    },
  })
}

const empty = (count: number): number[] => Array.from({ length: count }, () => 0)

test('R17: an unscoped read stops after 50 pages, and says so even without a row', async () => {
  plantAkahu(service, 'Rainy Day', rows(40, akahuRow))
  serveInPages([...empty(70), 40])
  const capped = await nz.askAll('&limit=10')
  assertWindow(capped, { rows: 0, total: 0, hasMore: true, truncated: true, limit: 0 })
  assert.equal(capped.headers['x-cache'], 'MISS')
  assert.equal(pagesOf(service.sandbox.akahu), 50)
  const again = await nz.askAll('&limit=10')
  assert.equal(again.headers['x-cache'], 'MISS', 'an empty capped page is not cached')
  assertWindow(again, { rows: 10, total: 40, hasMore: true, truncated: false, limit: 10 })
  assert.equal(pagesOf(service.sandbox.akahu), 71)
})

test('R17: a page cut short says its rows in limit: offset + limit is where the next begins', async () => {
  plantAkahu(service, 'Rainy Day', rows(90, akahuRow))
  serveInPages([30, ...empty(59), 30, ...empty(59), 30])
  const first = await nz.askAll('&limit=150')
  assertWindow(first, { rows: 30, total: 30, hasMore: true, truncated: true, limit: 30 })
  assert.deepEqual(await walkAll(nz.askAll, '', 150), names(90))
  assert.equal(pagesOf(service.sandbox.akahu), 121)
})

test('R19: windows within the cache life are one snapshot, whatever is posted meanwhile', async () => {
  plantFiskil(service, 'Bonus Saver', rows(30, fiskilRow))
  const first = await bank.ask('&limit=10')
  plantFiskil(service, 'Bonus Saver', [
    fiskilRow('new', '2026-11-20T12:00:00Z'),
    ...rows(30, fiskilRow),
  ])
  const second = await bank.ask('&limit=10&offset=10')
  assert.deepEqual([...namesOf(first), ...namesOf(second)], names(20))
  service.clock.advance(1_800_000)
  assert.equal(namesOf(await bank.ask('&limit=10'))[0], 'new')
})

test('R19: a cursor that the bank takes no longer is no failure: the walk goes on from its first row', async () => {
  // The anchors of other tests have expired.
  service.clock.advance(7_200_000)
  plantFiskil(service, 'Bonus Saver', rows(7500, fiskilRow))
  await bank.ask('&limit=500')
  // Just after it was read a 5xx is an outage.
  service.clock.advance(61_000)
  let refused = 0
  service.sandbox.fiskil.addFault({
    times: 1,
    when: (request) => isRead(request) && request.query.has('page[after]'),
    does: {
      kind: 'edit',
      edit() {
        refused += 1
        return { status: 503, body: { error: 'no such cursor' } }
      },
    },
  })
  const later = await bank.ask('&limit=500&offset=2000')
  assertWindow(later, { rows: 500, total: 5000, hasMore: true, truncated: true })
  assert.equal(namesOf(later)[0], '2000')
  assert.equal(refused, 1)
})

test('R19: a snapshot is not shared between users of the same bank login', async () => {
  plantFiskil(service, 'Bonus Saver', rows(30, fiskilRow))
  await bank.ask('&limit=10')
  const other = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
  const asked = pagesOf(service.sandbox.fiskil)
  await other.ask('&limit=10&offset=10')
  assert.equal(pagesOf(service.sandbox.fiskil), asked + 1)
})

test('R18: a row that the provider sends twice is shown once', async () => {
  plantAkahu(service, 'Rainy Day', rows(150, akahuRow))
  service.sandbox.akahu.addFault({
    when: (request) => isRead(request) && request.query.has('cursor'),
    does: {
      kind: 'edit',
      edit: (given) => {
        const body = JSON.parse(JSON.stringify(given.body))
        return { ...given, body: { ...body, items: [body.items[0], ...body.items] } }
      },
    },
  })
  assert.deepEqual(await walkAll(nz.ask, '', 40), names(150))
})
