/** Rows and balances of banks at Enable Banking: identity by content, signs, dates, pages (reading R37). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getZone, toMicros } from '#kernel/time.ts'
import type { BankRow } from '#sandbox/enablebanking/people.ts'
import {
  accountOf,
  adopt,
  call,
  dayMs,
  failureOf,
  type Ground,
  hourMs,
  link,
  makeGround,
  queryFor,
  walk,
} from './harness.ts'

const noon = (day: string) => Date.parse(`${day}T12:00:00Z`)

function row(over: Partial<BankRow> = {}): BankRow {
  return {
    id: `N${Math.random()}`,
    bookedAt: noon('2026-11-18'),
    amount: '-12.50',
    description: 'PKORTTIMAKSU\nCAFE  NORDLICHT',
    payee: 'Café Nordlicht',
    ...over,
  }
}

function plant(ground: Ground, rows: BankRow[], name = 'twins') {
  accountOf(ground, name).rows = rows
}

async function rowsOf(ground: Ground, name = 'twins') {
  const login = await adopt(ground, name)
  return (await walk(ground.adapter, await queryFor(ground, login))).rows
}

test('a row has the bank’s text in one line, the other side, exact amount, direction, code and category', async () => {
  await using ground = await makeGround()
  plant(ground, [
    row({ amount: '-1234567890123456789.0100', mcc: '5814' }),
    row({ amount: '3.00', description: '', payee: 'Acme Oy', bookedAt: noon('2026-11-17') }),
    row({ amount: '0.00', description: 'x', payee: null, bookedAt: noon('2026-11-16') }),
  ])
  const [first, second, third] = await rowsOf(ground)
  assert.ok(first !== undefined && second !== undefined && third !== undefined)
  const { id, accountId: _, ...shown } = first
  assert.match(id, /^enablebanking_tx_[0-9a-z]{26}$/)
  assert.deepEqual(shown, {
    accountName: 'Käyttötili',
    status: 'posted',
    date: '2026-11-18',
    datetime: null,
    description: 'PKORTTIMAKSU CAFE NORDLICHT',
    amount: '-1234567890123456789.0100',
    direction: 'debit',
    category: 'FOOD_AND_DRINK',
    merchantName: 'Café Nordlicht',
    merchantCategoryCode: '5814',
  })
  assert.deepEqual(
    [second.description, second.amount, second.direction, second.merchantName, second.category],
    ['Acme Oy', '3.00', 'credit', 'Acme Oy', null],
  )
  assert.deepEqual([third.amount, third.direction, third.merchantName], ['0', 'credit', null])
})

test('an amount with a sign follows its indicator, and that is reported', async () => {
  await using ground = await makeGround()
  plant(ground, [
    row({ amountText: '-12.50' }),
    row({ amount: '7.00', amountText: '-7.00', bookedAt: noon('2026-11-17') }),
  ])
  assert.deepEqual(
    (await rowsOf(ground)).map(({ amount, direction }) => [amount, direction]),
    [
      ['-12.50', 'debit'],
      ['7.00', 'credit'],
    ],
  )
  assert.ok(ground.oddities.includes('an amount has a sign'))
})

test('the holder of the account and a card number are no merchants', async () => {
  await using ground = await makeGround()
  const login = await link(ground, 'twins')
  plant(ground, [
    row({ payee: 'SAM  VIRTANEN' }),
    row({ payee: 'CARD-1234', bookedAt: noon('2026-11-17') }),
  ])
  ground.clock.ms += 6 * hourMs + 1
  const { rows } = await walk(ground.adapter, await queryFor(ground, login))
  assert.deepEqual(
    rows.map(({ merchantName }) => merchantName),
    [null, null],
  )
})

for (const name of ['reissued', 'positional'] as const) {
  test(`R37: rows keep their ids while those of the bank change at every read (${name})`, async () => {
    await using ground = await makeGround()
    const login = await adopt(ground, name)
    const query = await queryFor(ground, login)
    const before = (await walk(ground.adapter, query)).rows
    assert.ok(before.length > 10)
    assert.equal(new Set(before.map(({ id }) => id)).size, before.length)
    ground.clock.ms += 6 * hourMs + 1
    accountOf(ground, name).rows.push(row({ id: 'A-first', description: 'inserted' }))
    const after = (await walk(ground.adapter, query)).rows
    const inserted = after.filter(({ description }) => description === 'inserted')
    assert.equal(inserted.length, 1)
    const old = after.filter((one) => !inserted.includes(one)).map(({ id }) => id)
    assert.deepEqual(new Set(old), new Set(before.map(({ id }) => id)))
  })
}

test('R37: equal rows of a day are two, with the same balance after them one that was sent twice', async () => {
  await using ground = await makeGround()
  plant(ground, [
    row(),
    row(),
    row({ amount: '-1.00', balanceAfter: '10.00' }),
    row({ amount: '-1.00', balanceAfter: '9.00' }),
    row({ amount: '-2.00', balanceAfter: '8.00', id: 'R-1' }),
    row({ amount: '-2.00', balanceAfter: '8.00', id: 'R-1' }),
  ])
  const rows = await rowsOf(ground)
  assert.deepEqual(
    rows.map(({ amount }) => amount).toSorted(),
    ['-1.00', '-1.00', '-12.50', '-12.50', '-2.00'].toSorted(),
  )
  assert.equal(new Set(rows.map(({ id }) => id)).size, 5)
})

test('R37: a payment, its refund and the same payment again are three rows, where the bank tells them apart', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'twins')
  const query = await queryFor(ground, login)
  const read = async (rows: BankRow[]) => {
    plant(ground, rows)
    ground.clock.ms += 12 * hourMs + 1
    return (await walk(ground.adapter, query)).rows.map(({ id, amount }) => ({ id, amount }))
  }
  const [again, refund, first] = ['-10.00', '10.00', '-10.00'].map((amount, at) =>
    row({ amount, id: `R-${at}`, balanceAfter: amount === '10.00' ? '100.00' : '90.00' }),
  )
  assert.ok(again !== undefined && refund !== undefined && first !== undefined)
  const before = await read([refund, first])
  const after = await read([again, refund, first])
  assert.deepEqual(after.map(({ amount }) => amount).toSorted(), ['-10.00', '-10.00', '10.00'])
  assert.equal(new Set(after.map(({ id }) => id)).size, 3)
  assert.ok(before.every(({ id }) => after.some((one) => one.id === id)))
  assert.deepEqual((await read([again, again, refund, first])).toSorted(byId), after.toSorted(byId))
})

const byId = (one: { readonly id: string }, other: { readonly id: string }) =>
  one.id < other.id ? -1 : 1

test('R37: equal rows that differ in code, note, date or reference keep their ids in every order of the bank', async () => {
  await using ground = await makeGround()
  const query = await queryFor(ground, await adopt(ground, 'twins'))
  const rows = [{ mcc: '5814' }, { mcc: '5411' }, { id: 'R-1' }, { id: 'R-2' }].map(row)
  const read = async (planted: BankRow[]) => {
    plant(ground, planted)
    ground.clock.ms += 12 * hourMs + 1
    const page = await ground.adapter.transactions.read(query, null, call)
    const told = Array.from({ length: page.length }, (_one, at) => {
      const { id, merchantCategoryCode } = page.map(at)
      return [id, merchantCategoryCode, page.details(at).reference]
    })
    return told.toSorted()
  }
  const before = await read(rows)
  assert.equal(new Set(before.map(([id]) => id)).size, 4)
  assert.deepEqual(await read(rows.toReversed()), before)
})

test('R37: what is filled in later changes no id; another text, amount or day makes another row', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'twins')
  const query = await queryFor(ground, login)
  const idNow = async (change: Partial<BankRow>) => {
    plant(ground, [row(change)])
    ground.clock.ms += 12 * hourMs + 1
    return (await walk(ground.adapter, { ...query, window: { from: null, to: null } })).rows[0]?.id
  }
  const first = await idNow({})
  assert.equal(await idNow({ mcc: '5814', id: 'other' }), first)
  assert.notEqual(await idNow({ description: 'ANOTHER' }), first)
  assert.notEqual(await idNow({ amount: '-12.51' }), first)
  assert.notEqual(await idNow({ payee: 'Somebody else' }), first)
  assert.notEqual(await idNow({ iban: 'FI2112345600000785' }), first)
  assert.notEqual(await idNow({ bookedAt: noon('2026-11-17') }), first)
})

test('only booked rows are shown; a pending one proves that the consent is alive', async () => {
  await using ground = await makeGround()
  plant(ground, [row({ settlesAt: Number.MAX_SAFE_INTEGER })])
  const login = await adopt(ground, 'twins')
  const query = await queryFor(ground, login)
  const page = await ground.adapter.transactions.read(query, null, call)
  assert.deepEqual([page.length, page.ownRows], [0, 1])
  const { transaction_status: asked } = Object.fromEntries(
    ground.server.requests.at(-1)?.query ?? [],
  )
  assert.equal(asked, undefined)
})

test('R16a: without to, a booked or pending row of today is there from the first minute of its day, wherever that is', async () => {
  await using ground = await makeGround()
  const days = ['2026-11-20', '2026-11-19', '2026-11-18']
  const held = row({ bookedAt: noon('2026-11-19'), settlesAt: Number.MAX_SAFE_INTEGER })
  plant(ground, [...days.map((day) => row({ bookedAt: noon(day) })), held])
  // Half past midnight in Helsinki; in Auckland it is noon.
  const to = toMicros(Date.parse('2026-11-18T22:30:00Z'))
  const window = { from: null, to, isOpen: true }
  const open = await queryFor(ground, await adopt(ground, 'twins'), { window })
  const { pending } = ground.adapter
  assert.ok(typeof pending === 'function')
  for (const zone of ['Pacific/Auckland', 'Europe/Helsinki', 'Pacific/Pago_Pago'].map(getZone)) {
    const query = { ...open, zone }
    const { rows } = await walk(ground.adapter, query)
    const shown = rows.map(({ date }) => date)
    assert.deepEqual(shown, ['2026-11-19', '2026-11-18'], zone.id)
    const reading = await pending(query, call)
    const times = reading.rows.map(({ time }) => time !== null && time <= to)
    assert.deepEqual(times, [true], zone.id)
  }
})

test('an empty page with a key is not the end, and the other parameters are repeated with it', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'history')
  const query = await queryFor(ground, login, {
    window: { from: null, to: toMicros(ground.clock.now()) },
  })
  const { rows } = await walk(ground.adapter, query)
  assert.equal(rows.length, 5_400)
  const lists = ground.server.requests.filter(({ path }) => path.endsWith('/transactions'))
  assert.equal(new Set(lists.map((one) => one.query.get('date_from'))).size, 1)
})

test('a page ends with its day, and every page has a hundred rows or more but the last', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'history')
  const query = await queryFor(ground, login, { window: { from: null, to: null } })
  const days = new Set<string>()
  for (let cursor: string | null = null; ; ) {
    const page = await ground.adapter.transactions.read(query, cursor, call)
    const own = Array.from({ length: page.length }, (_one, index) => page.map(index).date)
    assert.ok(own.every((day) => !days.has(day)))
    for (const day of own) days.add(day)
    if (page.next === null) break
    assert.ok(page.length >= 100)
    cursor = page.next
  }
  const pages = ground.bankCalls().filter((one) => one.endsWith('/transactions'))
  assert.equal(pages.length, 541)
})

test('older rows than those of the window are not read on to, and no row of the window is missing', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'history')
  const from = toMicros(ground.clock.now() - 60 * dayMs)
  const everything = await queryFor(ground, login, { window: { from: null, to: null } })
  const all = await walk(ground.adapter, everything)
  const some = await walk(ground.adapter, { ...everything, window: { from, to: null } })
  // Sixty rows a day, seventeen days on a page.
  assert.deepEqual([some.pages.length, all.pages.length], [4, 6])
  const ids = all.rows.map(({ id }) => id)
  assert.equal(some.rows.map(({ id }) => id).join(), ids.slice(0, some.rows.length).join())
  assert.deepEqual(
    [some.rows.at(-1)?.date, all.rows[some.rows.length]?.date],
    ['2026-09-23', '2026-09-22'],
  )
})

test('a window in the past begins with its own rows, not with those of today', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'history')
  const now = ground.clock.now()
  const [from, to] = [toMicros(now - 60 * dayMs), toMicros(now - 50 * dayMs)]
  const query = await queryFor(ground, login, { window: { from, to } })
  const page = await ground.adapter.transactions.read(query, null, call)
  const newest = page.map(0).date
  assert.ok(['2026-09-30', '2026-10-01', '2026-10-02'].includes(newest), newest)
  assert.equal((await walk(ground.adapter, query)).rows.length, 600)
})

test('R23: a row that cannot be read fails the request, and is never left out', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'malformed')
  const failure = await failureOf(walk(ground.adapter, await queryFor(ground, login)))
  assert.deepEqual(
    [failure.kind, failure.detail],
    ['malformed', 'the amount of a transaction is not exact'],
  )
  plant(ground, [row()])
  ground.server.addFault({
    when: ({ path }) => path.endsWith('/transactions'),
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: { transactions: [{ status: 'BOOK', booking_date: 'soon' }], continuation_key: null },
      }),
    },
  })
  const other = await adopt(ground, 'twins')
  const unread = await failureOf(walk(ground.adapter, await queryFor(ground, other)))
  assert.equal(unread.detail, 'a transaction cannot be read')
})

test('R23: a row that cannot be read fails no window of other days', async () => {
  await using ground = await makeGround()
  plant(ground, [row(), row({ bookedAt: noon('2026-10-02'), amountText: '1,5' })])
  const login = await adopt(ground, 'twins')
  const days = async (from: string, to: string) => {
    const window = { from: toMicros(noon(from)), to: toMicros(noon(to)) }
    return walk(ground.adapter, await queryFor(ground, login, { window }))
  }
  assert.equal((await days('2026-11-10', '2026-11-20')).rows.length, 1)
  assert.equal((await days('2026-09-01', '2026-09-20')).rows.length, 0)
  assert.equal((await failureOf(days('2026-10-01', '2026-11-20'))).kind, 'malformed')
})

test('a page with more rows than a walk may have ends it, and none of them is read', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'twins')
  const transactions = new Array<object>(200_001).fill({})
  ground.server.addFault({
    when: ({ path }) => path.endsWith('/transactions'),
    does: {
      kind: 'edit',
      edit: (reply) => ({ ...reply, body: { transactions, continuation_key: null } }),
    },
  })
  const failure = await failureOf(walk(ground.adapter, await queryFor(ground, login)))
  assert.deepEqual([failure.kind, failure.detail], ['unavailable', 'the bank’s list does not end'])
})

test('a key that comes again, and a body that is cut or no JSON, are unreadable and keep nothing', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'twins')
  const query = await queryFor(ground, login)
  const when = ({ path }: { path: string }) => path.endsWith('/transactions')
  ground.server.addFault({
    when,
    does: {
      kind: 'edit',
      edit: () => ({ status: 200, body: { transactions: [], continuation_key: 'same' } }),
    },
  })
  assert.equal((await failureOf(walk(ground.adapter, query))).kind, 'malformed')
  ground.server.clearFaults()
  ground.server.addFault({ when, does: { kind: 'truncate', afterBytes: 40 } })
  assert.equal((await failureOf(walk(ground.adapter, query))).kind, 'unavailable')
  ground.server.clearFaults()
  ground.server.addFault({
    when,
    does: { kind: 'reply', reply: { status: 502, body: '<html>Bad gateway</html>' } },
  })
  ground.clock.ms += dayMs + 1
  assert.equal((await failureOf(walk(ground.adapter, query))).kind, 'unavailable')
  ground.server.clearFaults()
  assert.ok((await walk(ground.adapter, query)).rows.length > 0)
})
