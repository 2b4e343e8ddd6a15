/** Rows as text: what they say, and how long they are kept. The file collects garbage, in its own process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { Account, Connection, Transaction } from '#contract/resources.ts'
import type { Answer } from '#gate/gate.ts'
import type { Decimal } from '#kernel/decimal.ts'
import { toMidday } from '#kernel/midday.ts'
import { anyCharacter } from '#tests/support/any-character.ts'
import { makeAnswer } from './answer.ts'
import { toTransaction } from './map.ts'
import { makeRowTexts, type RowTexts } from './row-texts.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

const nzd = { stored: 'NZD', shown: 'NZD' }
const zone = 'Australia/Sydney'

const makeRow = (id: string, date: string, description: string) =>
  ({
    id,
    accountId: 'a1',
    status: 'posted',
    date,
    datetime: null,
    description,
    amount: '-4.50' as Decimal,
    category: 'FOOD_AND_DRINK',
    merchantName: null,
    merchantCategoryCode: '5812',
  }) as unknown as Transaction

const makeCached = (rows: readonly Transaction[]) => {
  const pagination = { offset: 0, limit: 500, hasMore: false }
  const body = Buffer.from(JSON.stringify({ data: rows, pagination }))
  return { body, truncated: false, cache: 'HIT' } as const
}

const oneRow = () => makeCached([makeRow('t1', '2026-11-24', 'Café')])

const connection = {
  id: 'c1',
  provider: 'akahu',
  category: 'banking',
  institutionId: 'b1',
  institutionName: 'Bank',
  lastRefreshedAt: null,
  createdAt: '2026-11-02T09:12:45.000Z',
} as unknown as Connection
const account = { id: 'a1', connectionId: 'c1', name: 'Everyday', currency: 'NZD' } as Account

function answer(windows: readonly RowTexts[], start: number | null, end: number | null) {
  const one = {
    account,
    connection,
    balance: { currentBalance: '1.00' as Decimal, availableBalance: null },
    rows: windows.flatMap(({ days }) => days),
    holdings: [],
  }
  const reading = {
    connections: [connection],
    accounts: [account],
    readings: [one],
    problems: [],
    cache: 'HIT',
  } as const
  const facts = { root: 'https://t.example/simplefin', now: 0, start, end, notes: [] }
  return Buffer.concat(makeAnswer(reading, facts)).toString()
}

test('an answer from remembered windows has the bytes of one that is written row by row', () => {
  const toRowTexts = makeRowTexts()
  const day = fc.integer({ min: 1, max: 9 }).map((of) => `2026-11-0${of}`)
  const rows = fc.array(fc.tuple(day, fc.string({ unit: anyCharacter })), { maxLength: 12 })
  const instant = fc.option(
    fc.integer({ min: 0, max: 10 * 86_400 }).map((after) => toMidday('2026-10-31', zone) + after),
  )
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 3 }), instant, instant, (texts, start, end) => {
      const windows = texts.map((window, of) =>
        window.map(([date, description], at) => makeRow(`${of}-${at}`, date, description)),
      )
      const cached = windows.map(makeCached)
      const read = () =>
        answer(
          cached.map((one) => toRowTexts(one, zone, nzd)),
          start,
          end,
        )
      const first = read()
      const plain = windows
        .flat()
        .map((row) => toTransaction(row, toMidday(row.date, zone)))
        .filter(({ posted }) => posted >= (start ?? posted) && posted < (end ?? Infinity))
        .toSorted((one, other) => other.posted - one.posted)
      assert(first.endsWith(`,"transactions":${JSON.stringify(plain)},"holdings":[]}]}`))
      assert.equal(read(), first)
      assert.equal(JSON.parse(first).accounts.length, 1)
    }),
  )
})

test('the same cached bytes are translated once, other bytes and another zone anew', () => {
  const toRowTexts = makeRowTexts()
  const cached = oneRow()
  const texts = toRowTexts(cached, zone, nzd)
  assert.equal(toRowTexts({ ...cached }, zone, nzd), texts)
  assert.notEqual(toRowTexts(oneRow(), zone, nzd), texts)
  const posted = (zoneName: string) =>
    toRowTexts(cached, zoneName, nzd).days.map((day) => day.posted)
  assert.deepEqual(posted('Pacific/Kiritimati'), [toMidday('2026-11-24', 'Pacific/Kiritimati')])
  assert.deepEqual(posted(zone), [toMidday('2026-11-24', zone)])
  const fresh = { ...oneRow(), cache: 'MISS' } as const
  assert.notEqual(toRowTexts(fresh, zone, nzd), toRowTexts(fresh, zone, nzd))
})

test('rows in another currency than the account is shown in are left out and named', () => {
  const toRowTexts = makeRowTexts()
  const own = makeRow('1', '2026-11-24', 'own')
  const yen = { ...makeRow('2', '2026-11-24', 'yen'), currency: 'JPY' }
  const cached = makeCached([own, yen])
  const read = (shown: string, stored = 'NZD') => {
    const { days, leftOut, rows } = toRowTexts(cached, zone, { stored, shown })
    const text = days.map((one) => Buffer.from(one.text).toString().slice(1)).join()
    const rowsShown = JSON.parse(`[${text}]`) as { id: string }[]
    return { ids: rowsShown.map(({ id }) => id), leftOut, rows }
  }
  assert.deepEqual(read('NZD'), { ids: ['1'], leftOut: ['JPY'], rows: 2 })
  assert.deepEqual(read('JPY'), { ids: ['2'], leftOut: ['NZD'], rows: 2 })
  assert.deepEqual(read('JPY', 'JPY'), { ids: ['1', '2'], leftOut: [], rows: 2 })
})

test('texts are kept up to a bound; those in use stay', () => {
  const toRowTexts = makeRowTexts(6000)
  const used = oneRow()
  const first = toRowTexts(used, zone, nzd)
  const unused = oneRow()
  const second = toRowTexts(unused, zone, nzd)
  for (let count = 0; count < 10; count += 1) {
    toRowTexts(oneRow(), zone, nzd)
    assert.equal(toRowTexts(used, zone, nzd), first)
  }
  assert.notEqual(toRowTexts(unused, zone, nzd), second)
})

test('a text is gone with the cached bytes that it was made from', async () => {
  const toRowTexts = makeRowTexts()
  const cached = oneRow()
  const make = (answer: Answer) => new WeakRef(toRowTexts(answer, zone, nzd))
  const [held, dropped] = [make(cached), make(oneRow())]
  // What was just referred to is held until the end of the turn.
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  assert.equal(dropped.deref(), undefined)
  assert.equal(held.deref(), toRowTexts(cached, zone, nzd))
})
