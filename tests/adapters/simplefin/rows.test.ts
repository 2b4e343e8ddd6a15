/** Rows of a SimpleFIN server: windows, identity by content, dates, and what is left out (reading R37). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getZone, toMicros } from '#kernel/time.ts'
import { keyRows, toRowContent, toTransactionId } from '#providers/row-identity.ts'
import type { SimplefinRow } from '#sandbox/simplefin/people.ts'
import {
  accountOf,
  bankOf,
  call,
  claimedAgain,
  dayMs,
  failureOf,
  type Ground,
  makeGround,
  queryFor,
  startOfTests,
  user,
  walk,
} from './harness.ts'

const noon = (day: string) => Date.parse(`${day}T12:00:00Z`)

function row(over: Partial<SimplefinRow> = {}): SimplefinRow {
  return {
    id: `TRN-${Math.random()}`,
    postedAt: noon('2026-11-18'),
    amount: '-12.50',
    description: 'Coffee',
    memo: 'SQ *COFFEE',
    ...over,
  }
}

/** The first account of a person has these rows alone. */
function plant(ground: Ground, rows: SimplefinRow[], name = 'twins') {
  accountOf(ground, name).rows = rows
}

async function rowsOf(ground: Ground, name = 'twins') {
  return (await walk(ground.adapter, queryFor(ground, name))).rows
}

test('R37: equal rows of a day are two rows, and keep their ids when the server issues its ids anew', async () => {
  await using ground = await makeGround()
  const query = queryFor(ground, 'twins')
  plant(ground, [row(), row(), row({ amount: '-1.00' })])
  const ids = (await walk(ground.adapter, query)).rows.map(({ id }) => id)
  assert.equal(new Set(ids).size, 3)
  for (const id of ids) assert.match(id, /^simplefin_tx_[0-9a-z]{26}$/)
  for (const one of accountOf(ground, 'twins').rows) one.id = `TRN-new-${Math.random()}`
  accountOf(ground, 'twins').rows.reverse()
  ground.clock.ms += dayMs
  const later = await walk(ground.adapter, { ...query, login: claimedAgain(query.login) })
  assert.deepEqual(later.rows.map(({ id }) => id).toSorted(), ids.toSorted())
})

test('R37: rows of a person whose server issues new ids at every read keep theirs', async () => {
  await using ground = await makeGround()
  const query = queryFor(ground, 'reissued')
  const read = async () => (await walk(ground.adapter, query)).rows.map(({ id }) => id)
  const before = await read()
  assert.ok(before.length > 10)
  ground.clock.ms += 3_600_001
  const after = await read()
  assert.deepEqual(after, before)
  assert.ok((ground.server.people.reissued?.readings ?? 0) > 1, 'the server was read again')
})

test('R37: a row whose text changed is another row, one whose category or payee was filled in is not', async () => {
  await using ground = await makeGround()
  const query = queryFor(ground, 'twins')
  const idNow = async (change: Partial<SimplefinRow>) => {
    plant(ground, [row(change)])
    ground.clock.ms += 3_600_001
    return (await walk(ground.adapter, query)).rows[0]?.id
  }
  const first = await idNow({})
  assert.equal(
    await idNow({ payee: 'A shop', mcc: '5814', transactedAt: noon('2026-11-17') }),
    first,
  )
  assert.notEqual(await idNow({ memo: 'SQ *COFFEE 2' }), first)
  assert.notEqual(await idNow({ amount: '-12.51' }), first)
  assert.notEqual(await idNow({ postedAt: noon('2026-11-17') }), first)
})

test('R37: equal rows that differ in payee or code keep their ids in every order of the server', async () => {
  await using ground = await makeGround()
  const query = queryFor(ground, 'twins')
  const planted = [
    row({ payee: 'A shop', mcc: '5814' }),
    row({ payee: 'B shop', mcc: '5814' }),
    row({ payee: 'B shop', mcc: '5411' }),
    row({ payee: 'B shop', mcc: '5411', transactedAt: noon('2026-11-17') }),
  ]
  const read = async (rows: SimplefinRow[]) => {
    plant(ground, rows)
    ground.clock.ms += 3_600_001
    const shown = (await walk(ground.adapter, query)).rows
    return shown.map(({ id, merchantName, merchantCategoryCode: code }) => [id, merchantName, code])
  }
  const before = await read(planted)
  assert.equal(new Set(before.map(([id]) => id)).size, 4)
  assert.deepEqual(await read(planted.toReversed()), before)
  assert.deepEqual(await read([...planted.slice(2), ...planted.slice(0, 2)]), before)
})

test('a row has the bank’s text, its merchant, exact amount, direction, code and category', async () => {
  await using ground = await makeGround()
  plant(ground, [
    row({ amount: '-1234567890123456789.0100', payee: 'Blue Door', mcc: '5814' }),
    row({ amount: '3.00', memo: '', mcc: null, postedAt: noon('2026-11-17') }),
  ])
  const [first, second] = await rowsOf(ground)
  assert.ok(first !== undefined && second !== undefined)
  const { id: _, accountId: __, ...shown } = first
  assert.deepEqual(shown, {
    accountName: 'Checking (4321)',
    status: 'posted',
    date: '2026-11-18',
    datetime: null,
    description: 'SQ *COFFEE',
    amount: '-1234567890123456789.0100',
    direction: 'debit',
    category: 'FOOD_AND_DRINK',
    merchantName: 'Blue Door',
    merchantCategoryCode: '5814',
  })
  assert.deepEqual(
    [second.description, second.direction, second.merchantName, second.category, second.date],
    ['Coffee', 'credit', null, null, '2026-11-17'],
  )
})

test('noon and midnight of UTC are days and never shifted; another time is an instant in the user’s zone', async () => {
  await using ground = await makeGround()
  plant(ground, [
    row({ postedAt: Date.parse('2026-11-18T00:00:00Z') }),
    row({ postedAt: Date.parse('2026-11-17T03:30:00Z') }),
    row({ postedAt: noon('2026-11-16'), transactedAt: Date.parse('2026-11-15T22:10:00Z') }),
  ])
  const rows = await rowsOf(ground)
  assert.deepEqual(
    rows.map(({ date, datetime }) => [date, datetime]),
    [
      ['2026-11-18', null],
      ['2026-11-16', '2026-11-17T03:30:00.000Z'],
      ['2026-11-16', '2026-11-15T22:10:00.000Z'],
    ],
  )
})

test('pending rows are left out in both forms, and appear once they settle', async () => {
  await using ground = await makeGround()
  const settlesAt = startOfTests + 2 * dayMs
  plant(ground, [
    row({ postedAt: settlesAt, settlesAt, pendingForm: 'zero' }),
    row({ postedAt: noon('2026-11-19'), settlesAt, pendingForm: 'mark' }),
  ])
  assert.deepEqual(await rowsOf(ground), [])
  // The one reading of R36 has them, for who asks for them.
  assert.equal(ground.server.requests.at(-1)?.query.get('pending'), '1')
  ground.clock.ms = settlesAt + 1
  assert.equal((await rowsOf(ground)).length, 2)
})

test('years of rows are read window by window to the end, each row once, newest first', async () => {
  await using ground = await makeGround()
  const { clock, adapter, server } = ground
  const from = toMicros(startOfTests - 690 * dayMs)
  const query = queryFor(ground, 'history', {
    scoped: true,
    window: { from, to: toMicros(clock.now()), isOpen: true },
  })
  const { rows, pages } = await walk(adapter, query)
  const expected = accountOf(ground, 'history').rows.filter(
    ({ postedAt }) => postedAt <= clock.now() && postedAt > startOfTests - 691 * dayMs,
  )
  const inside = expected.filter(({ postedAt }) => toMicros(postedAt) >= from)
  assert.ok(rows.length >= inside.length - 8 && rows.length <= expected.length, String(rows.length))
  assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length)
  assert.deepEqual(
    rows.map(({ date }) => date),
    rows
      .map(({ date }) => date)
      .toSorted()
      .reverse(),
  )
  assert.equal(pages.length, 16)
  const asked = server.requests.map(({ rawQuery }) => rawQuery)
  assert.equal(asked.filter((text) => text.includes('account=')).length, 15)
  assert.ok(asked.every((text) => text.includes('version=2') && text.includes('start-date=')))
  // No window is longer than the server answers without a warning.
  assert.deepEqual(ground.oddities, [])
})

for (const scoped of [true, false]) {
  const whose = scoped ? 'one account' : 'all accounts'
  test(`R17: a walk of ${whose} goes on over windows without rows, to the beginning of the query`, async () => {
    await using ground = await makeGround()
    const yearly = ['2026-11-17', '2026-06-20', '2025-12-22'].map((day) =>
      row({ postedAt: noon(day), description: 'Interest' }),
    )
    plant(ground, yearly)
    const from = toMicros(startOfTests - 365 * dayMs)
    const window = { from, to: toMicros(ground.clock.now()), isOpen: true }
    const { rows, pages } = await walk(
      ground.adapter,
      queryFor(ground, 'twins', { window, scoped }),
    )
    assert.deepEqual([rows.length, pages.length], [3, 9])
  })
}

test('a cursor that counts windows without rows, as former versions made them, is read on', async () => {
  await using ground = await makeGround()
  plant(ground, [row({ postedAt: noon('2026-09-20') })])
  const from = toMicros(startOfTests - 365 * dayMs)
  const query = queryFor(ground, 'twins', { window: { from, to: null } })
  const former = JSON.stringify({ from: '2026-08-24', until: '2026-10-07', empty: 1 })
  const page = await ground.adapter.transactions.read(query, former, call)
  assert.equal(page.length, 1)
  assert.deepEqual(JSON.parse(page.next ?? ''), { from: '2026-07-11', until: '2026-08-24' })
})

test('a query of the past begins with the window that has its end', async () => {
  await using ground = await makeGround()
  const window = {
    from: toMicros(noon('2026-05-31')),
    to: toMicros(noon('2026-06-30')),
  }
  const query = queryFor(ground, 'history', { window })
  const { rows } = await walk(ground.adapter, query)
  assert.equal(rows.length, 30 * 8)
  assert.equal(ground.server.requests.length, 1)
  assert.ok(rows.every(({ date }) => date >= '2026-06-01' && date <= '2026-06-30'))
})

test('rows of a server that widens a window are not shown twice', async () => {
  await using ground = await makeGround()
  const from = toMicros(startOfTests - 80 * dayMs)
  const window = { from, to: toMicros(ground.clock.now()), isOpen: true }
  const query = queryFor(ground, 'history', { window })
  const exact = (await walk(ground.adapter, query)).rows.map(({ id }) => id)
  const all = accountOf(ground, 'history').rows
  ground.server.addFault({
    does: {
      kind: 'edit',
      edit: (reply) => {
        const body = reply.body as { accounts: { transactions: object[] }[] }
        const wide = all
          .filter(({ postedAt }) => postedAt <= ground.clock.now())
          .map(({ id, postedAt, amount, description, payee, memo, mcc }) => ({
            ...{ id, posted: postedAt / 1000, amount, description, payee, memo, mcc },
          }))
        for (const account of body.accounts) account.transactions = wide
        return reply
      },
    },
  })
  const again = { ...query, login: claimedAgain(query.login) }
  assert.deepEqual(
    (await walk(ground.adapter, again)).rows.map(({ id }) => id),
    exact,
  )
})

test('an id that two accounts or two banks share is not mixed up', async () => {
  await using ground = await makeGround()
  const [first, second] = [bankOf(ground, 'healthy'), bankOf(ground, 'healthy', 1)]
  for (const bank of [first, second]) {
    const [account] = bank.accounts
    assert.ok(account !== undefined)
    account.id = 'ACT-1'
    account.rows = [row({ id: 'TRN-1', amount: bank === first ? '-1.00' : '-2.00' })]
    bank.accounts = [account]
  }
  const rows = await rowsOf(ground, 'healthy')
  assert.deepEqual(
    rows.map(({ amount }) => amount),
    ['-1.00'],
  )
})

test('R23: a row that cannot be read fails the read, and balances do not mind it', async () => {
  await using ground = await makeGround()
  for (const amount of ['12,5', '', '1e999']) {
    plant(ground, [row({ amount })])
    ground.clock.ms += 3_600_001
    assert.equal((await failureOf(rowsOf(ground))).kind, 'malformed', amount)
  }
})

const beyond: readonly (readonly [string, object])[] = [
  ['a day of the year 10000', { posted: 253_402_300_800 }],
  ['milliseconds in place of seconds', { posted: 1_795_000_000_000 }],
  ['a time before 1970', { posted: -86_400 }],
  ['a purchase of the year 10000', { transacted_at: 253_402_300_800 }],
  ['a purchase in milliseconds', { transacted_at: 1_795_000_000_000 }],
]

for (const [name, over] of beyond) {
  test(`R23: a row with ${name} cannot be read, and the balance of its account can`, async () => {
    await using ground = await makeGround()
    plant(ground, [row()])
    ground.server.addFault({
      does: {
        kind: 'edit',
        edit: (reply) => {
          const { accounts } = reply.body as { accounts: { transactions: object[] }[] }
          Object.assign(accounts[0]?.transactions[0] ?? {}, over)
          return reply
        },
      },
    })
    const query = queryFor(ground, 'twins')
    assert.equal((await failureOf(walk(ground.adapter, query))).kind, 'malformed')
    const { login, connection } = query
    const accounts = query.accounts.map((account) => ({ account, connection }))
    const reading = await ground.adapter.balances?.({ login, accounts }, call)
    assert.ok(reading?.balances.every(({ currentBalance }) => currentBalance !== null))
  })
}

test('the texts of a row are cut, in whole characters; one below the bound has the id that it had', async () => {
  await using ground = await makeGround()
  const long = `x${'😀'.repeat(2000)}`
  plant(ground, [
    row({ memo: long, payee: long, description: long }),
    row({ memo: 'a\ud800b', postedAt: noon('2026-11-17') }),
    row({ memo: 'm'.repeat(2048), postedAt: noon('2026-11-16') }),
  ])
  const query = queryFor(ground, 'twins')
  const { rows } = await walk(ground.adapter, query)
  const cut = `x${'😀'.repeat(1023)}`
  assert.deepEqual([rows[0]?.description, rows[0]?.merchantName], [cut, cut])
  assert.equal(rows[1]?.description, 'a\ufffdb')
  const [account] = query.accounts
  assert.ok(account !== undefined)
  const parts = ['-12.50', 'USD', 'Coffee', 'm'.repeat(2048)]
  const known = { account: account.id, day: '2026-11-16', parts }
  const [key = ''] = keyRows([known], { contentOf: toRowContent })
  assert.equal(rows[2]?.id, toTransactionId('simplefin', user, key))
})

test('event details have the day of posting, the currency of the account and the other text', async () => {
  await using ground = await makeGround()
  plant(ground, [row({ transactedAt: Date.parse('2026-11-17T18:00:00Z') })])
  const page = await ground.adapter.transactions.read(queryFor(ground, 'twins'), null, call)
  assert.ok('details' in page)
  assert.deepEqual(page.details(0), {
    currency: 'USD',
    class: 'debit',
    transactionDate: '2026-11-17T18:00:00.000Z',
    postDate: '2026-11-18T12:00:00.000Z',
    reference: null,
    extendedDescription: 'Coffee',
    formerId: null,
  })
})

test('a row of a day is in a window by that day in the user’s zone, on both sides of midnight', async () => {
  await using ground = await makeGround()
  plant(ground, [row({ postedAt: noon('2026-11-10') })])
  for (const zone of ['Pacific/Auckland', 'America/Los_Angeles'].map(getZone)) {
    const day = (text: string) => ({ from: zone.startOfDay(text), to: zone.endOfDay(text) })
    const count = async (text: string) =>
      (await walk(ground.adapter, queryFor(ground, 'twins', { zone, window: day(text) }))).rows
        .length
    assert.deepEqual(
      [await count('2026-11-09'), await count('2026-11-10'), await count('2026-11-11')],
      [0, 1, 0],
      zone.id,
    )
  }
})

test('R40: no age is told where the server does not say when the bank was read', async () => {
  await using ground = await makeGround()
  const query = queryFor(ground, 'twins')
  for (const account of bankOf(ground, 'twins').accounts) account.balanceAt = 0
  const { pages } = await walk(ground.adapter, query)
  const { login, connection, accounts } = query
  const asked = accounts.map((account) => ({ account, connection }))
  const balances = await ground.adapter.balances?.({ login, accounts: asked }, call)
  const ages = [...pages, balances].map((reading) => reading?.age?.asOf)
  assert.deepEqual(new Set(ages), new Set([null]))
})
