/** Rows as events show them, validated against the schemas of the contract. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TradeEvent, TransactionEvent } from '#contract/events.ts'
import type { Trade, Transaction } from '#contract/resources.ts'
import { type Decimal, fromScaled } from '#kernel/decimal.ts'
import type { AccountId } from '#kernel/ids.ts'
import { parseWithBigIntegers } from '#kernel/json.ts'
import type { TransactionDetails } from '#providers/port.ts'
import { anyCharacter } from '#tests/support/any-character.ts'
import { contentVersions, toTradeObject, toTransactionObject } from './event-objects.ts'

const accountId = '1b4e28ba-2fa1-41d2-883f-0016d3cca427' as AccountId

const row: Transaction = {
  id: 'bank_tx_1',
  accountId,
  accountName: 'Everyday',
  status: 'posted',
  date: '2026-11-20',
  datetime: '2026-11-19T20:15:00Z',
  description: 'Coffee',
  amount: '-4.50' as Decimal,
  direction: 'debit',
  category: 'FOOD_AND_DRINK',
  merchantName: 'Bean Bar',
  merchantCategoryCode: '5814',
}

const details: TransactionDetails = {
  currency: 'AUD',
  class: 'payment',
  transactionDate: '2026-11-19T20:15:00Z',
  postDate: '2026-11-20T01:00:00Z',
  reference: null,
  extendedDescription: 'Card 1234',
  formerId: null,
}

const trade: Trade = {
  id: '2026-11-20-BHP-BUY--100.00-2-2026-11-22-1.50-Bought',
  accountId,
  accountName: 'Shares',
  symbol: 'BHP',
  name: 'BHP Group',
  type: 'buy',
  quantity: '2' as Decimal,
  price: '49.25' as Decimal,
  currency: 'AUD',
  totalAmount: '-100.00' as Decimal,
  fees: '1.50' as Decimal,
  tradeDate: '2026-11-20',
  settlementDate: null,
  description: null,
}

test('a transaction has the fields of the contract, its amount as an integer of the minor unit', () => {
  const { toText, month, isRounded } = toTransactionObject(row, details)
  assert.deepEqual(TransactionEvent.parse(JSON.parse(toText())), {
    id: 'bank_tx_1',
    object: 'transaction',
    amount: -450,
    currency: 'aud',
    status: 'posted',
    description: 'Coffee',
    direction: 'debit',
    class: 'payment',
    account_id: accountId,
    account_name: 'Everyday',
    account: 'Everyday',
    local_date: '2026-11-20',
    transaction_date: '2026-11-19T20:15:00Z',
    post_date: '2026-11-20T01:00:00Z',
    merchant_name: 'Bean Bar',
    category: 'FOOD_AND_DRINK',
    merchant_category_code: '5814',
    reference: null,
    extended_description: 'Card 1234',
  })
  assert.match(
    toText(),
    /^\{"id":"bank_tx_1","object":"transaction","amount":-450,"currency":"aud",/,
  )
  assert.deepEqual([month, isRounded], [2026 * 12 + 10, false])
})

test('a transaction is valid JSON, whatever characters its id and its texts have', () => {
  const text = fc.string({ unit: anyCharacter })
  fc.assert(
    fc.property(text, text, (id, description) => {
      const written = JSON.parse(toTransactionObject({ ...row, id, description }, details).toText())
      assert.deepEqual([written.id, written.description], [id, description])
    }),
  )
})

test('R34: a trade has the fields of REST in snake_case, and its decimals stay text', () => {
  const { toText, month } = toTradeObject(trade)
  assert.deepEqual(TradeEvent.parse(JSON.parse(toText())), {
    id: trade.id,
    object: 'trade',
    account_id: accountId,
    account_name: 'Shares',
    symbol: 'BHP',
    name: 'BHP Group',
    type: 'buy',
    quantity: '2',
    price: '49.25',
    currency: 'AUD',
    total_amount: '-100.00',
    fees: '1.50',
    trade_date: '2026-11-20',
    settlement_date: null,
    description: null,
  })
  assert.equal(month, 2026 * 12 + 10)
  const intraday = toTradeObject({ ...trade, tradeDate: '2026-10-31T23:59:59+11:00' })
  assert.equal(intraday.month, 2026 * 12 + 9)
})

const amountOf = (text: string) => /"amount":(-?\d+),/.exec(text)?.[1]

test('minor units follow the currency: none of a yen, a thousandth of a dinar', () => {
  for (const [currency, amount, units] of [
    ['JPY', '1500', '1500'],
    ['KWD', '1.234', '1234'],
    ['USD', '0.07', '7'],
    ['AUD', '-0.00', '0'],
    ['AUD', '12', '1200'],
  ] as const) {
    const shown = toTransactionObject(
      { ...row, amount: amount as Decimal },
      { ...details, currency },
    )
    assert.equal(amountOf(shown.toText()), units)
    assert.equal(shown.isRounded, false)
  }
})

test('R24b: an amount finer than the minor unit is rounded half to even, and the rounding is reported', () => {
  for (const [amount, units] of [
    ['0.125', '12'],
    ['0.135', '14'],
    ['-2.005', '-200'],
    ['-2.0151', '-202'],
  ] as const) {
    const shown = toTransactionObject({ ...row, amount: amount as Decimal }, details)
    assert.deepEqual([amountOf(shown.toText()), shown.isRounded], [units, true])
  }
})

test('an amount keeps every digit, however large', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), (units) => {
      const shown = toTransactionObject({ ...row, amount: fromScaled(units, 2) }, details)
      assert.equal(amountOf(shown.toText()), String(units))
      assert.equal(shown.isRounded, false)
    }),
  )
})

test('the contract takes every amount that is sent, exactly: at 2^53, behind it, and far from it', () => {
  for (const units of [2n ** 53n - 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 10n ** 30n + 1n]) {
    const { toText } = toTransactionObject({ ...row, amount: fromScaled(units, 2) }, details)
    const { amount } = TransactionEvent.parse(parseWithBigIntegers(toText()))
    assert.equal(BigInt(amount), units)
    assert.ok(!TransactionEvent.safeParse({ ...JSON.parse(toText()), amount: 0.5 }).success)
  }
})

test('the contract refuses an amount that was read as a float', () => {
  const amount = fromScaled(2n ** 53n + 1n, 2)
  const { toText } = toTransactionObject({ ...row, amount }, details)
  assert.ok(!TransactionEvent.safeParse(JSON.parse(toText())).success)
})

test('the canonical content changes with every field but the id, the name of the account and the local day', () => {
  const { content } = toTransactionObject(row, details)
  assert.equal(toTransactionObject({ ...row, id: 'moved' }, details).content, content)
  assert.equal(toTransactionObject({ ...row, accountName: 'Daily' }, details).content, content)
  assert.equal(toTransactionObject({ ...row, date: '2026-11-21' }, details).content, content)
  assert.equal(
    toTradeObject({ ...trade, accountName: 'Daily' }).content,
    toTradeObject(trade).content,
  )
  const changes: Partial<Transaction>[] = [
    { amount: '-4.51' as Decimal },
    { description: 'Tea' },
    { category: null },
    { merchantName: null },
    { merchantCategoryCode: null },
  ]
  const others: Partial<TransactionDetails>[] = [
    { currency: 'NZD' },
    { class: 'fee' },
    { transactionDate: '2026-11-19T20:16:00Z' },
    { postDate: '2026-11-20T01:00:01Z' },
    { reference: 'r' },
    { extendedDescription: null },
  ]
  const contents = [
    content,
    ...changes.map((change) => toTransactionObject({ ...row, ...change }, details).content),
    ...others.map((change) => toTransactionObject(row, { ...details, ...change }).content),
  ]
  assert.equal(new Set(contents).size, contents.length)
  assert.notEqual(
    toTradeObject({ ...trade, price: '49.26' as Decimal }).content,
    toTradeObject(trade).content,
  )
})

test('the canonical content is the values of the event in their order, without the id, the names of the account and the local day', () => {
  const left = new Set(['id', 'account_name', 'account', 'local_date'])
  const valuesOf = (text: string) =>
    Object.entries(JSON.parse(text))
      .filter(([field]) => !left.has(field))
      .map(([field, value]) => (field === 'amount' ? row.amount : value))
  for (const shown of [toTransactionObject(row, details), toTradeObject(trade)]) {
    assert.deepEqual(JSON.parse(shown.content), valuesOf(shown.toText()))
  }
})

test('what an event does not show is no part of the content', () => {
  const { content } = toTransactionObject(row, details)
  const same = { ...row, datetime: null, amount: '-4.500' as Decimal }
  assert.equal(toTransactionObject(same, details).content, content)
})

test('the versions of the lists of fields fit into the header of the ledger', () => {
  for (const version of Object.values(contentVersions)) {
    assert.ok(Number.isInteger(version) && version >= 1 && version <= 255)
  }
})

test('R37: a reference that the bank makes anew at every read changes no content, and is shown', () => {
  const own = { ...details, isReferenceUnstable: true as const }
  const first = toTransactionObject(row, { ...own, reference: 'a' })
  const other = toTransactionObject(row, { ...own, reference: 'b' })
  assert.equal(first.content, other.content)
  assert.equal(JSON.parse(other.toText()).reference, 'b')
  const kept = toTransactionObject(row, { ...details, reference: 'a' })
  assert.notEqual(kept.content, toTransactionObject(row, { ...details, reference: 'b' }).content)
})
