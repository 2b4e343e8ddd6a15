/**
 * Checks a page of transactions: which rows are wanted, their time, the mapping of each field, and that
 * unreadable rows are never skipped silently.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Transaction } from '#contract/resources.ts'
import { newId, upstreamId } from '#kernel/ids.ts'
import { getZone, parseInstant } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type { AccountRef, RowsQuery } from '../port.ts'
import { openTransactionPage } from './reader.ts'

const connectionId = newId<RowsQuery['connection']['id']>()
const account: AccountRef = {
  id: newId(),
  connectionId,
  upstreamId: upstreamId('acc-1'),
  name: 'Everyday',
  currency: 'AUD',
}
const query: RowsQuery = {
  userId: newId(),
  login: { id: newId(), upstreamUserId: 'eu_1', secret: null, version: 1 },
  connection: { id: connectionId, upstreamId: upstreamId('arr-1'), status: 'active' },
  accounts: [account],
  scoped: false,
  window: { from: null, to: null },
  zone: getZone('Australia/Sydney'),
}

const full = {
  fiskil_id: 'bank_tx_1',
  transaction_id: 't1',
  account_id: 'acc-1',
  arrangement_id: 'arr-1',
  institution_id: '22',
  amount: '-12.50',
  currency: 'AUD',
  description: 'SECOND CRACK COFFEE',
  reference: 'REF 1',
  status: 'POSTED',
  type: 'PAYMENT',
  posting_date_time: '2026-11-19T13:30:00Z',
  execution_date_time: '2026-11-18T01:00:00Z',
  value_date_time: '2026-11-17T01:00:00Z',
  merchant_name: 'Second Crack',
  merchant_category_code: '5814',
  is_detail_available: false,
  category: {
    primary_category: 'FOOD_AND_DRINK',
    secondary_category: 'X',
    confidence_level: 'LOW',
  },
}

function openText(text: string, options: { cursor?: string; oddities?: string[] } = {}) {
  return openTransactionPage({
    query,
    cursor: options.cursor ?? null,
    body: new TextEncoder().encode(text),
    base: new URL('https://api.example.test'),
    odd: (what) => options.oddities?.push(what),
  })
}

const open = (rows: readonly unknown[], oddities: string[] = []) =>
  openText(JSON.stringify({ transactions: rows, links: {} }), { oddities })

/** The row with some fields set; undefined removes a field. */
const map = (fields: Record<string, unknown>) => open([{ ...full, ...fields }]).map(0)

const isMalformed = (error: unknown) =>
  error instanceof UpstreamError && error.failure.kind === 'malformed'

test('every field is mapped as the table says', () => {
  const row = open([full]).map(0)
  assert.deepEqual(row, {
    id: 'bank_tx_1',
    accountId: account.id,
    accountName: 'Everyday',
    status: 'posted',
    date: '2026-11-20',
    datetime: '2026-11-19T13:30:00Z',
    description: 'SECOND CRACK COFFEE',
    amount: '-12.50',
    direction: 'debit',
    category: 'FOOD_AND_DRINK',
    merchantName: 'Second Crack',
    merchantCategoryCode: '5814',
  })
  Transaction.parse(row)
})

test('missing optional fields are null, a missing description falls back', () => {
  const bare = {
    merchant_name: undefined,
    merchant_category_code: undefined,
    category: undefined,
    transaction_id: undefined,
  }
  const row = map(bare)
  assert.deepEqual([row.merchantName, row.merchantCategoryCode, row.category], [null, null, null])
  const blank = map({ merchant_name: '', merchant_category_code: '', category: null })
  assert.deepEqual([blank.merchantName, blank.merchantCategoryCode], [null, null])
  assert.equal(map({ description: '' }).description, 'REF 1')
  assert.equal(map({ description: '', reference: '' }).description, 'Second Crack')
  assert.equal(map({ ...bare, description: '', reference: '' }).description, '')
  assert.equal(map({ ...bare, description: undefined, reference: null }).description, '')
})

test('a BPAY row shows its biller where it names no merchant', () => {
  const biller = { biller_name: 'Lyrebird Telecom', merchant_name: undefined }
  assert.equal(map(biller).merchantName, 'Lyrebird Telecom')
  assert.equal(map({ ...biller, merchant_name: 'Shop' }).merchantName, 'Shop')
})

test('an unknown category is null and counted', () => {
  const oddities: string[] = []
  const row = { ...full, category: { primary_category: 'PETS' } }
  assert.equal(open([row], oddities).map(0).category, null)
  assert.deepEqual(oddities, ['unknown category'])
})

test('R24: amounts keep their digits; the direction follows the sign, nothing is a credit', () => {
  const rows: [string, string, string][] = [
    ['-12.50', '-12.50', 'debit'],
    ['0.00', '0.00', 'credit'],
    ['-0.00', '0.00', 'credit'],
    ['+5', '5', 'credit'],
    ['12345678901234567890.123456789', '12345678901234567890.123456789', 'credit'],
    ['-1e-7', '-0.0000001', 'debit'],
  ]
  for (const [sent, amount, direction] of rows) {
    const row = map({ amount: sent })
    assert.deepEqual([row.amount, row.direction], [amount, direction])
  }
})

test('R24: amounts that suddenly come as numbers lose no digit', () => {
  const page = openText(
    JSON.stringify({ transactions: [full, { ...full, fiskil_id: 'bank_tx_2' }] })
      .replace('"-12.50"', '-12345678901234567890.10')
      .replace('"amount":"-12.50"', '"\\u0061mount":9007199254740993.50'),
  )
  assert.deepEqual(
    [page.map(0).amount, page.map(1).amount],
    ['-12345678901234567890.10', '9007199254740993.50'],
  )
})

test('R16a: the date is the instant seen in the zone; a day without a time is never shifted', () => {
  assert.equal(map({ posting_date_time: '2026-11-19T12:59:59Z' }).date, '2026-11-19')
  assert.equal(map({ posting_date_time: '2026-11-19T13:00:00Z' }).date, '2026-11-20')
  assert.equal(map({ posting_date_time: '2026-11-19T23:30:00+10:00' }).date, '2026-11-20')
  const page = open([{ ...full, posting_date_time: '2026-11-19' }])
  assert.equal(page.map(0).date, '2026-11-19')
  assert.equal(page.head(0)?.time, query.zone.startOfDay('2026-11-19'))
})

test('a row counts at its posting, else execution, else value time, shown as sent', () => {
  const without = (...names: (keyof typeof full)[]) =>
    open([{ ...full, ...Object.fromEntries(names.map((name) => [name, undefined])) }])
  const cases = [
    [without(), full.posting_date_time],
    [without('posting_date_time'), full.execution_date_time],
    [without('posting_date_time', 'execution_date_time'), full.value_date_time],
  ] as const
  for (const [page, text] of cases) {
    assert.equal(page.map(0).datetime, text)
    assert.equal(page.head(0)?.time, parseInstant(text))
  }
})

test('head gives identity, account and time', () => {
  assert.deepEqual(open([full]).head(0), {
    id: 'bank_tx_1',
    account,
    time: parseInstant(full.posting_date_time),
  })
})

test('pending rows, other banks and other accounts are not wanted; own rows count them by consent', () => {
  const page = open([
    { ...full, status: 'PENDING', posting_date_time: undefined, fiskil_id: undefined },
    { ...full, arrangement_id: 'arr-2' },
    { arrangement_id: 'arr-2' },
    { ...full, account_id: 'acc-9' },
    { ...full, status: 'REVERSED' },
    full,
  ])
  assert.equal(page.length, 6)
  assert.equal(page.ownRows, 4)
  const wanted = Array.from({ length: 6 }, (_, index) => page.head(index) !== null)
  assert.deepEqual(wanted, [false, false, false, false, false, true])
})

test('R23: a row without a readable identity or time is malformed already when it is counted', () => {
  for (const fields of [
    { fiskil_id: undefined },
    { fiskil_id: '' },
    { fiskil_id: 7 },
    { status: undefined },
    { status: null },
    { arrangement_id: undefined },
    { account_id: undefined },
    { posting_date_time: 'yesterday' },
    { posting_date_time: '2026-02-30T00:00:00Z' },
    { posting_date_time: '2026-11-19T13:30:00' },
    { posting_date_time: 5 },
    { posting_date_time: null, execution_date_time: '', value_date_time: undefined },
  ]) {
    assert.throws(() => open([{ ...full, ...fields }]).head(0), isMalformed, JSON.stringify(fields))
  }
  for (const row of [null, 5, 'text', []]) assert.throws(() => open([full, row]), isMalformed)
})

test('R23: a mistyped field is malformed only where the row is mapped', () => {
  for (const fields of [
    { amount: undefined },
    { amount: null },
    { amount: 'twelve' },
    { amount: '' },
    { amount: '1e41' },
    { amount: {} },
    { description: 5 },
    { merchant_name: {} },
    { merchant_category_code: 5411 },
    { category: 'INCOME' },
    { category: { primary_category: 3 } },
  ]) {
    const page = open([{ ...full, ...fields }])
    assert.notEqual(page.head(0), null)
    assert.throws(() => page.map(0), isMalformed, JSON.stringify(fields))
  }
})

test('the error names the place and never the value', () => {
  try {
    open([{ ...full, amount: 'SECRET-12' }]).map(0)
    assert.fail('it must throw')
  } catch (error) {
    assert.ok(error instanceof UpstreamError)
    assert.match(error.message, /transactions\[0\]\.amount/)
    assert.doesNotMatch(error.message, /SECRET/)
  }
})

test('the cursor is the page[after] of links.next, whatever its host, or relative', () => {
  const next = (link: unknown, rows: unknown[] = [full]) =>
    openText(JSON.stringify({ transactions: rows, links: { next: link } })).next
  const path = '/v1/banking/transactions?page%5Bafter%5D=a%2Bb&x=1'
  assert.equal(next(`https://api.example.test${path}`), 'a+b')
  assert.equal(next(`https://api.fiskil.com${path}`), 'a+b')
  assert.equal(next(`http://localhost:4010${path}`), 'a+b')
  assert.equal(next(path), 'a+b')
  for (const end of [undefined, null, '']) assert.equal(next(end), null)
  assert.equal(next(path, []), null, 'an empty page is the end')
})

test('a cursor without a value or back to the same page is malformed', () => {
  const path = '/v1/banking/transactions?page[after]=c1'
  for (const next of [
    '/v1/banking/transactions',
    '/v1/banking/transactions?page[after]=',
    'javascript:alert(1)',
    'http://',
    7,
    {},
  ]) {
    const text = JSON.stringify({ transactions: [full], links: { next } })
    assert.throws(() => openText(text), isMalformed, String(next))
  }
  const text = JSON.stringify({ transactions: [full], links: { next: path } })
  assert.equal(openText(text).next, 'c1')
  assert.throws(() => openText(text, { cursor: 'c1' }), isMalformed)
})

test('R23: on a page with amounts as numbers a bare number is no row either', () => {
  assert.throws(() => open([{ ...full, amount: 1.5 }, 7]), isMalformed)
  const page = open([{ ...full, amount: 1.5, merchant_category_code: 5411 }])
  assert.throws(() => page.map(0), isMalformed)
})

test('a body that is not a page is malformed, a bare list is a page', () => {
  for (const text of [
    '',
    '{',
    'null',
    '"x"',
    '{}',
    '{"transactions":{}}',
    '{"transactions":null}',
  ]) {
    assert.throws(() => openText(text), isMalformed, text)
  }
  const links = JSON.stringify({ transactions: [full], links: [] })
  assert.throws(() => openText(links), isMalformed)
  assert.equal(openText(JSON.stringify([full])).length, 1)
  const broken = new Uint8Array([...Buffer.from('{"transactions":["'), 0xff, ...Buffer.from('"]}')])
  assert.throws(
    () =>
      openTransactionPage({
        query,
        cursor: null,
        body: broken,
        base: new URL('https://api.example.test'),
        odd: () => undefined,
      }),
    isMalformed,
  )
})

test('any row is mapped into the contract or malformed: nothing else is thrown', () => {
  const junk = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.constant(null), fc.object())
  const fields = fc.dictionary(fc.constantFrom(...Object.keys(full)), junk, { maxKeys: 3 })
  fc.assert(
    fc.property(fields, (some) => {
      try {
        const page = open([{ ...full, ...some }])
        if (page.head(0) !== null) Transaction.parse(page.map(0))
      } catch (error) {
        if (!isMalformed(error)) throw error
      }
    }),
  )
})
