/**
 * What rows of Up become over HTTP: which are served, exact amounts, names, categories, cashbacks, and the
 * details of events.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toMicros } from '#kernel/time.ts'
import { categoryIds } from '#sandbox/up/categories.ts'
import {
  connectionOf,
  failureOf,
  makeGround,
  personOf,
  plantedQuery,
  scopedQuery,
  startOfTests,
  walk,
  withRows,
} from './harness.ts'

test('without an account every account is read, and rows of a closed saver are dropped', async () => {
  await using ground = await makeGround()
  const person = personOf(ground, 'healthy')
  const { connection, refs } = connectionOf(person)
  const query = scopedQuery(ground, 'healthy', { connection, accounts: refs, scoped: false })
  const { pages, rows } = await walk(ground.adapter, query)
  const sent = pages.reduce((sum, page) => sum + page.length, 0)
  const closed = person.accounts.find(({ isClosed }) => isClosed)
  assert.ok(closed !== undefined && closed.rows.length > 50)
  const idsOfClosed = new Set(closed.rows.map(({ id }) => id))
  assert.ok(sent >= rows.length + 50)
  assert.ok(rows.every(({ id }) => !idsOfClosed.has(id)))
  assert.equal(new Set(rows.map(({ accountId }) => accountId)).size, 3)
  assert.ok(ground.exchanges.every((line) => line === '200 GET /transactions'))
})

test('R23: a sync reads every made-up row in full, with the details of its event', async () => {
  await using ground = await makeGround()
  const query = scopedQuery(ground, 'healthy')
  const { pages } = await walk(ground.adapter, query)
  const details = pages.flatMap((page) =>
    Array.from({ length: page.length }, (_, index) => page.details(index)),
  )
  assert.ok(details.length > 100)
  assert.ok(details.every((one) => one.currency === 'AUD' && /^[a-z_]+$/.test(one.class)))
  const classes = new Set(details.map((one) => one.class))
  for (const one of ['purchase', 'bpay_payment', 'cashback', 'other']) assert.ok(classes.has(one))
  assert.ok(details.some((one) => one.extendedDescription === 'Pizza night'))
  assert.ok(details.some((one) => one.postDate !== one.transactionDate))
  assert.ok(details.every((one) => one.reference === null && one.formerId === null))
})

test('the note stands in for a message that is missing', async () => {
  await using ground = await makeGround()
  withRows(ground, [
    { id: '1', note: 'Split in two' },
    { id: '2', note: '  ', message: ' ' },
  ])
  const { pages } = await walk(ground.adapter, plantedQuery(ground))
  assert.equal(pages[0]?.details(0).extendedDescription, 'Split in two')
  assert.equal(pages[0]?.details(1).extendedDescription, null)
})

test('a class is the type of the row in one word, whatever blanks it has', async () => {
  await using ground = await makeGround()
  withRows(ground, [
    { id: '1', transactionType: 'BPAY Payment' },
    { id: '2', transactionType: ' Direct\tDebit  Return ' },
    { id: '3', transactionType: ' ' },
  ])
  const { pages } = await walk(ground.adapter, plantedQuery(ground))
  const classes = [0, 1, 2].map((index) => pages[0]?.details(index).class)
  assert.deepEqual(classes, ['bpay_payment', 'direct_debit_return', 'other'])
})

test('R24: no digit of an amount is lost, and text and integer must be the same amount', async () => {
  await using ground = await makeGround()
  const amounts = ['90071992547409931234.12', '-0.10', '-0.00', '12.30', '-9007199254740993.01']
  withRows(
    ground,
    amounts.map((amount, index) => ({ id: `row-${index}`, amount })),
  )
  const { rows } = await walk(ground.adapter, plantedQuery(ground))
  assert.deepEqual(
    rows.map(({ amount, direction }) => [amount, direction]),
    [
      ['90071992547409931234.12', 'credit'],
      ['-0.10', 'debit'],
      ['0.00', 'credit'],
      ['12.30', 'credit'],
      ['-9007199254740993.01', 'debit'],
    ],
  )
  const wrong: unknown[] = [
    { currencyCode: 'AUD', value: '-12.50', valueInBaseUnits: -1251 },
    { currencyCode: 'AUD', value: '-12.505', valueInBaseUnits: -1250 },
    { currencyCode: 'AUD', value: '-12,50', valueInBaseUnits: -1250 },
    { currencyCode: 'AUD', value: -12.5, valueInBaseUnits: -1250 },
    { currencyCode: 'AUD', value: '-12.50', valueInBaseUnits: -1250.5 },
    { currencyCode: 'JPY', value: '-12.50', valueInBaseUnits: -1250 },
    { currencyCode: 'dollars', value: '-12.50', valueInBaseUnits: -1250 },
    { value: '-12.50', valueInBaseUnits: -1250 },
    null,
  ]
  for (const amount of wrong) {
    withRows(ground, [{ id: 'one', overrides: { amount } }])
    const failure = await failureOf(walk(ground.adapter, plantedQuery(ground)))
    assert.equal(failure.kind, 'malformed', JSON.stringify(amount))
    assert.doesNotMatch(failure.detail, /12/)
  }
})

test('an integer beyond a float still proves its text, digit by digit', async () => {
  await using ground = await makeGround()
  withRows(ground, [{ id: 'one', amount: '90071992547409.93' }])
  ground.up.addFault({
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: JSON.stringify(reply.body).replace('9007199254740993', '9007199254740992'),
      }),
    },
  })
  assert.equal((await failureOf(walk(ground.adapter, plantedQuery(ground)))).kind, 'malformed')
})

test('what a purchase, a person and a transfer are called, and which category they get', async () => {
  await using ground = await makeGround()
  const other = 'an-account'
  withRows(ground, [
    { id: '1', description: 'Aldi', rawText: 'ALDI STORES', category: 'groceries' },
    { id: '2', description: 'Aldi', rawText: '  ', cardPurchase: true },
    { id: '3', description: 'Sam', message: 'Pizza' },
    { id: '4', description: 'Round Up', transferAccount: other, amount: '-0.40' },
    { id: '5', description: 'Cover', transferAccount: other, amount: '5.00', category: 'booze' },
    { id: '6', description: 'Shares', rawText: 'CHESS', category: 'investments' },
    { id: '7', description: 'New', rawText: 'NEW', category: 'space-travel' },
    { id: '8', description: ' ', rawText: 'BLANK' },
  ])
  const { rows } = await walk(ground.adapter, plantedQuery(ground))
  assert.deepEqual(
    rows.map((row) => [row.id, row.description, row.merchantName, row.category]),
    [
      ['1', 'ALDI STORES', 'Aldi', 'FOOD_AND_DRINK'],
      ['2', 'Aldi', 'Aldi', null],
      ['3', 'Sam', null, null],
      ['4', 'Round Up', null, 'TRANSFER_OUT'],
      ['5', 'Cover', null, 'TRANSFER_IN'],
      ['6', 'CHESS', 'Shares', null],
      ['7', 'NEW', 'New', null],
      ['8', 'BLANK', null, null],
    ],
  )
  // The walk opens every page again.
  assert.deepEqual(ground.oddities, Array(2).fill('unknown category'))
  assert.ok(rows.every((row) => row.merchantCategoryCode === null))
})

test('every category of Up has its place in the table', async () => {
  await using ground = await makeGround()
  const parents = ['good-life', 'home', 'personal', 'transport']
  const children = categoryIds.filter((id) => !parents.includes(id))
  withRows(
    ground,
    children.map((id) => ({ id, category: id })),
  )
  const { rows } = await walk(ground.adapter, plantedQuery(ground))
  const without = rows.filter(({ category }) => category === null).map(({ id }) => id)
  assert.deepEqual(without.toSorted(), ['family', 'investments'])
  assert.deepEqual(ground.oddities, [])
})

test('a round up is told twice by Up and counted once: its row, never the attribute', async () => {
  await using ground = await makeGround()
  withRows(ground, [
    { id: '1', amount: '-9.60', roundUp: { amount: '-0.40', boostPortion: null } },
    { id: '2', amount: '-0.40', description: 'Round Up', transferAccount: 'saver' },
  ])
  const { rows } = await walk(ground.adapter, plantedQuery(ground))
  assert.deepEqual(
    rows.map(({ amount }) => amount),
    ['-9.60', '-0.40'],
  )
})

test('a cashback is a row after its payment, on the same page and in the same window', async () => {
  await using ground = await makeGround()
  const cashback = { description: 'Five back', amount: '5.00' }
  withRows(ground, [{ id: 'book', amount: '-30.00', cashback }, { id: 'other' }])
  const { rows, pages } = await walk(ground.adapter, plantedQuery(ground))
  const ids = rows.map(({ id }) => id)
  assert.deepEqual(ids, ['book', 'book:cashback', 'other'])
  const [payment, returned] = rows
  assert.deepEqual(returned, {
    ...payment,
    id: 'book:cashback',
    description: 'Five back',
    amount: '5.00',
    direction: 'credit',
    category: null,
    merchantName: null,
  })
  assert.equal(pages[0]?.details(1).class, 'cashback')
  const window = { from: toMicros(startOfTests), to: null }
  assert.deepEqual((await walk(ground.adapter, plantedQuery(ground, { window }))).rows, [])
})

test('unknown attributes are ignored', async () => {
  await using ground = await makeGround()
  withRows(ground, [{ id: 'one', overrides: { mood: { colour: 'coral' } } }])
  assert.equal((await walk(ground.adapter, plantedQuery(ground))).rows.length, 1)
})
