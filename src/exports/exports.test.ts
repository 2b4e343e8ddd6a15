/** Files of an account's rows: exact amounts, every character, and no end before the end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Account, Balance, Trade, Transaction } from '#contract/resources.ts'
import type { CsvOptions, ExportFormat } from './exporter.ts'
import { makeExporter } from './make-exporter.ts'

const account = {
  id: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
  connectionId: '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10',
  provider: 'fiskil',
  name: 'Everyday',
  type: 'transaction',
  institutionName: 'Wattle Bank & Sons',
  accountNumber: 'xxxx4321',
  currency: 'AUD',
} as Account
const row = {
  id: 't1',
  accountId: account.id,
  accountName: 'Everyday',
  status: 'posted',
  date: '2026-11-20',
  datetime: null,
  description: 'GREENGROCER',
  amount: '-12.345',
  direction: 'debit',
  category: 'FOOD_AND_DRINK',
  merchantName: null,
  merchantCategoryCode: '5411',
} as Transaction
const balance = {
  accountId: account.id,
  currentBalance: '-5.00',
  availableBalance: null,
  currency: 'AUD',
} as Balance
const now = Date.parse('2026-11-25T02:00:00Z')

interface Wish {
  readonly rows: readonly Transaction[]
  readonly account?: Account
  readonly balance?: Balance | null
  readonly csv?: Partial<CsvOptions>
}

function write(format: ExportFormat, wish: Wish): string {
  const subject = {
    account: wish.account ?? account,
    from: '2026-11-01',
    to: null,
    zone: 'Pacific/Auckland',
    now,
  }
  const csv = { hasBom: false, isForSpreadsheet: false, ...wish.csv }
  const made = makeExporter(format, 'banking', subject, csv)
  assert(made?.category === 'banking')
  const { exporter } = made
  const pages = wish.rows.map((one) => exporter.add([one]))
  return [exporter.begin(), ...pages, exporter.end(wish.balance ?? null)].join('')
}

/** Cells of RFC 4180, read by another way than they are written. */
function readCsv(text: string): string[][] {
  const cells = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/g
  const lines: string[][] = [[]]
  for (const [, cell = '', end] of text.matchAll(cells)) {
    const value = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell
    lines.at(-1)?.push(value)
    if (end === '\r\n') lines.push([])
  }
  return lines.slice(0, -1)
}

const text = fc.string({ unit: 'grapheme', maxLength: 30 }).map((part) => part.replaceAll('\0', ''))

test('CSV has the header of the documentation, and every cell is read back as it was', () => {
  const [header = []] = readCsv(write('csv', { rows: [] }))
  assert.equal(
    header.join(','),
    'date,datetime,amount,currency,description,merchant,category,mcc,id,account_id,account_name',
  )
  fc.assert(
    fc.property(text, fc.option(text), (description, merchantName) => {
      const file = write('csv', { rows: [{ ...row, description, merchantName }] })
      const [, cells = [], ...more] = readCsv(file)
      assert.equal(more.length, 0)
      assert.deepEqual(cells.slice(2, 6), ['-12.345', 'AUD', description, merchantName ?? ''])
    }),
  )
})

test('for a spreadsheet no text is a formula, and amounts stay numbers; a byte order mark comes on request', () => {
  const formulas = ['=1+1', '+1', '-1', '@x', '\tx', '\r=1', ' =1', '＝1', '＋1', '－1', '＠x']
  const rows = [...formulas, 'x'].map((text) => ({ ...row, description: text, id: text }))
  const file = write('csv', { rows, csv: { isForSpreadsheet: true, hasBom: true } })
  assert(file.startsWith('\ufeffdate,'))
  const found = readCsv(file)
    .slice(1)
    .map((cells) => [cells[2], cells[4], cells[8]])
  assert.deepEqual(
    found,
    [...formulas.map((text) => `'${text}`), 'x'].map((one) => ['-12.345', one, one]),
  )
})

test('JSON is one document with the rows as the API has them, also without any', () => {
  for (const rows of [[], [row], [row, { ...row, id: 't2' }]]) {
    const file = JSON.parse(write('json', { rows, balance }))
    assert.deepEqual(
      [file.account, file.rows, file.balance, file.from, file.to],
      [account, rows, balance, '2026-11-01', null],
    )
  }
})

test('an OFX statement has the account, each row under its own id, and the balance', () => {
  const file = write('ofx', {
    rows: [row, { ...row, id: 'i'.repeat(300), direction: 'credit', amount: '7' as never }],
    balance,
  })
  assert(file.startsWith('OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\n'))
  const valuesOf = (tag: string) =>
    [...file.matchAll(new RegExp(`^<${tag}>(.*)\\r$`, 'gm'))].map(([, value]) => value)
  assert.deepEqual(valuesOf('ACCTID'), [account.id.replaceAll('-', '').slice(0, 22)])
  assert.deepEqual(valuesOf('CURDEF'), ['AUD'])
  assert.deepEqual(valuesOf('TRNAMT'), ['-12.345', '7'])
  assert.deepEqual(valuesOf('TRNTYPE'), ['DEBIT', 'CREDIT'])
  assert.deepEqual(valuesOf('BALAMT'), ['-5.00'])
  // Auckland is 13 hours ahead in November: halfway between the two noons is 05:30 UTC.
  assert.deepEqual(valuesOf('DTPOSTED'), ['20261120053000[0:GMT]', '20261120053000[0:GMT]'])
  const [first, second = ''] = valuesOf('FITID')
  assert.equal(first, 't1')
  assert.match(second, /^[0-9a-f]{64}$/)
  assert.deepEqual(valuesOf('DTSTART'), ['20261101053000[0:GMT]'])
})

test('an OFX statement begins 30 days before its end, or before today, when no first day is asked for (R14)', () => {
  const daysOf = (from: string | null, to: string | null) => {
    const subject = { account, from, to, zone: 'UTC', now }
    const made = makeExporter('ofx', 'banking', subject, { hasBom: false, isForSpreadsheet: false })
    assert(made?.category === 'banking')
    const { exporter } = made
    return [...exporter.begin().matchAll(/<DT(?:START|END)>(\d{8})/g)].map(([, day]) => day)
  }
  assert.deepEqual(daysOf(null, '2026-06-30'), ['20260531', '20260630'])
  assert.deepEqual(daysOf(null, '2026-12-24T08:00:00+11:00'), ['20261026', '20261223'])
  assert.deepEqual(daysOf('2026-10-01T23:30:00-02:00', null), ['20261002', '20261125'])
  assert.deepEqual(daysOf(null, null), ['20261026', '20261125'])
  assert.deepEqual(daysOf('2026-01-01', null), ['20260101', '20261125'])
})

test('where the dates may be those of another zone, an OFX statement has a day more at each end', () => {
  const daysOf = (from: string | null, to: string | null) => {
    const subject = { account, from, to, zone: 'UTC', isOtherZone: true, now } as const
    const made = makeExporter('ofx', 'banking', subject, { hasBom: false, isForSpreadsheet: false })
    assert(made?.category === 'banking')
    const begun = made.exporter.begin()
    return [...begun.matchAll(/<DT(?:START|END)>(\d{8})/g)].map(([, day]) => day)
  }
  assert.deepEqual(daysOf(null, null), ['20261025', '20261126'])
  assert.deepEqual(daysOf('2026-10-01T23:30:00Z', '2026-10-05'), ['20260930', '20261005'])
})

test('a row in another currency is named with it in a CSV file, and refused by an OFX file', () => {
  const yen = { ...row, amount: '-7000', currency: 'JPY' } as Transaction
  const [, first, second] = readCsv(write('csv', { rows: [row, yen] }))
  assert.deepEqual(
    [first?.slice(2, 4), second?.slice(2, 4)],
    [
      ['-12.345', 'AUD'],
      ['-7000', 'JPY'],
    ],
  )
  assert.throws(() => write('ofx', { rows: [row, yen] }), {
    name: 'UnfitRowError',
    message:
      'A transaction is in JPY, and an OFX file has one currency, here AUD: choose csv or json',
  })
})

test('texts of an OFX file are no longer than OFX allows', () => {
  const description = '𝒳'.repeat(2000)
  const file = write('ofx', { rows: [{ ...row, description }] })
  const lengthOf = (name: string) =>
    [...(new RegExp(`<${name}>(.*)\r`).exec(file)?.[1] ?? '')].length
  assert.deepEqual([lengthOf('NAME'), lengthOf('MEMO')], [32, 255])
})

test('an OFX file without a known balance has none, and a card is a statement of a card', () => {
  const card = write('ofx', { rows: [row], account: { ...account, type: 'credit-card' } })
  assert(!card.includes('BALAMT'))
  assert(card.includes('<CCACCTFROM>') && !card.includes('<BANKACCTFROM>'))
  assert(card.trimEnd().endsWith('</CREDITCARDMSGSRSV1>\r\n</OFX>'))
})

test('no text of a bank can end its line or open a tag of an OFX file', () => {
  fc.assert(
    fc.property(text, (description) => {
      const hostile = `${description}\r\n</STMTTRN>\n<TRNAMT>1000`
      const file = write('ofx', { rows: [{ ...row, id: hostile, description: hostile }] })
      assert.equal(file.split('<TRNAMT>').length, 2)
      assert.equal(file.split('</STMTTRN>').length, 2)
    }),
  )
})

test('trades of a broker are written as CSV and JSON; OFX has no form for them', () => {
  const trade = {
    id: 'x-1',
    accountId: account.id,
    accountName: 'Shares',
    symbol: 'VAS',
    name: null,
    type: 'buy',
    quantity: '1.5',
    price: '90.10',
    currency: 'AUD',
    totalAmount: '-135.15',
    fees: null,
    tradeDate: '2026-11-20',
    settlementDate: null,
    description: 'Bought, at market',
  } as Trade
  const subject = { account, from: null, to: null, zone: 'UTC', now }
  const csv = { hasBom: false, isForSpreadsheet: false }
  const made = makeExporter('csv', 'brokerage', subject, csv)
  assert(made?.category === 'brokerage')
  const [names = [], cells = []] = readCsv(made.exporter.begin() + made.exporter.add([trade]))
  const found = Object.fromEntries(names.map((name, column) => [name, cells[column]]))
  assert.deepEqual(
    [found.quantity, found.total_amount, found.description, found.symbol],
    ['1.5', '-135.15', 'Bought, at market', 'VAS'],
  )
  assert.equal(makeExporter('ofx', 'brokerage', subject, csv), null)
})
