/**
 * The shape of `/simplefin/accounts` for what the emulated people do not have: positions in one currency,
 * names that are equal.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Account, Connection, Holding } from '#contract/resources.ts'
import type { Decimal } from '#kernel/decimal.ts'
import { sumHoldings } from '#resources/sum-holdings.ts'
import { makeAnswer } from './answer.ts'
import { nameAccounts, toAmount, toOrganizations, toSimplefinAccount } from './map.ts'
import { cleanText } from './problems.ts'

const connection = {
  id: 'c1',
  provider: 'snaptrade',
  category: 'brokerage',
  institutionId: 'D5A9-X y',
  institutionName: 'Harbour <Brokers>',
  institutionLogo: null,
  status: 'active',
  lastRefreshedAt: '2026-11-20T02:40:11.000Z',
  createdAt: '2026-11-02T09:12:45.000Z',
} as unknown as Connection
const account = {
  id: 'a1',
  connectionId: 'c1',
  name: 'Shares',
  type: 'investment',
  accountNumber: 'xxxx4321',
  currency: 'AUD',
} as unknown as Account
const holding = (over: Partial<Holding>) =>
  ({
    id: 'h1',
    accountId: 'a1',
    accountName: 'Shares',
    symbol: 'VAS',
    name: 'Vanguard & <Co>',
    exchange: null,
    currency: 'AUD',
    quantity: '1.5',
    averagePrice: '80.1',
    currentPrice: '90.10',
    marketValue: '135.150',
    unrealizedPnl: '15.00',
    ...over,
  }) as Holding

test('positions have all nine keys, an exact value, and the cost as a total', () => {
  const holdings = [
    holding({}),
    holding({ id: 'h2', marketValue: '7' as Decimal, averagePrice: null, unrealizedPnl: null }),
  ]
  const balance = sumHoldings(holdings, 'AUD')
  assert.equal(balance, '142.150')
  assert(balance !== null)
  const valued = holdings.map((one) => ({
    holding: one,
    value: one.marketValue ?? assert.fail(),
  }))
  const answer = makeAnswer(
    {
      connections: [connection],
      accounts: [account],
      readings: [
        {
          account,
          connection,
          balance: { currentBalance: balance, availableBalance: null },
          rows: [],
          holdings: valued,
        },
      ],
      problems: [],
      cache: 'HIT',
    },
    { root: 'https://t.example/simplefin', now: 0, start: null, end: null, notes: [] },
  )
  const at = Date.parse('2026-11-20T02:40:11Z') / 1000
  const keys = { currency: 'AUD', created: at, cost_basis: null, symbol: 'VAS', shares: '1.5' }
  assert.deepEqual(JSON.parse(Buffer.concat(answer).toString()).accounts, [
    {
      org: {
        domain: 'snaptrade-d5a9-x-y.invalid',
        name: 'Harbour Brokers',
        'sfin-url': 'https://t.example/simplefin',
        id: 'D5A9-X y',
      },
      conn_id: 'c1',
      id: 'a1',
      name: 'Shares',
      currency: 'AUD',
      balance: '142.15',
      'available-balance': '142.15',
      'balance-date': at,
      transactions: [],
      holdings: [
        {
          id: 'h1',
          ...keys,
          description: 'Vanguard & Co',
          market_value: '135.150',
          purchase_price: '80.10',
          total_cost: '120.150',
        },
        {
          id: 'h2',
          ...keys,
          description: 'Vanguard & Co',
          market_value: '7.00',
          purchase_price: null,
          total_cost: null,
        },
      ],
    },
  ])
})

test('a sum of positions is not known where one has no price or another currency', () => {
  assert.equal(sumHoldings([], 'AUD'), '0')
  assert.equal(sumHoldings([holding({ currency: 'USD' })], 'AUD'), null)
  assert.equal(sumHoldings([holding({ marketValue: null })], 'AUD'), null)
})

test('a second login at one bank has a number, the oldest has none, whatever their order', () => {
  const second = {
    ...connection,
    id: 'c2',
    createdAt: '2026-11-03T00:00:00.000Z',
  } as unknown as Connection
  for (const order of [
    [connection, second],
    [second, connection],
  ]) {
    const names = [...toOrganizations(order).values()].map(({ connection: { id }, name }) => [
      id,
      name,
    ])
    assert.deepEqual(names.toSorted(), [
      ['c1', 'Harbour Brokers'],
      ['c2', 'Harbour Brokers (2)'],
    ])
  }
})

test('accounts of equal names have their last digits, and a type that clients read from words has its word', () => {
  const accounts = [
    account,
    { ...account, id: 'a2', accountNumber: 'xxxx9999' },
    { ...account, id: 'a3', name: 'Platinum Edge', type: 'credit-card' },
    { ...account, id: 'a4', name: 'My Visa', type: 'credit-card' },
    { ...account, id: 'a5', name: 'Home', type: 'loan' },
    { ...account, id: 'a6', name: 'Rainy Day', type: 'savings' },
  ] as Account[]
  assert.deepEqual(
    [...nameAccounts(accounts).values()],
    [
      'Shares 4321',
      'Shares 9999',
      'Platinum Edge Credit Card',
      'My Visa',
      'Home Loan',
      'Rainy Day Savings',
    ],
  )
})

test('an account has one name, whichever accounts are asked for or can be read, in problems too', () => {
  const other = { ...account, id: 'a2', accountNumber: 'xxxx9999' } as Account
  const reading = {
    account,
    connection,
    balance: { currentBalance: '1' as Decimal, availableBalance: null },
    rows: [],
    holdings: [],
  }
  const answer = makeAnswer(
    {
      connections: [connection],
      accounts: [account, other],
      readings: [reading],
      problems: [{ kind: 'account', account: other, what: 'it cannot be read at the moment' }],
      cache: 'HIT',
    },
    { root: 'https://t.example/simplefin', now: 0, start: null, end: null, notes: [] },
  )
  const { accounts, errors } = JSON.parse(Buffer.concat(answer).toString())
  assert.equal(accounts[0].name, 'Shares 4321')
  assert.deepEqual(errors, [
    'Harbour Brokers: Shares 9999 is left out: it cannot be read at the moment',
  ])
})

test('amounts have at least two decimals and keep what they have; texts of banks hold no tags and no control characters', () => {
  const amounts = ['0', '-5', '1.5', '1.50', '-0.005', '1234567890123456789.1']
  assert.deepEqual(
    amounts.map((amount) => toAmount(amount as Decimal)),
    ['0.00', '-5.00', '1.50', '1.50', '-0.005', '1234567890123456789.10'],
  )
  assert.equal(cleanText('A\u0000<b>\nBank '), 'A b Bank')
})

test('a balance has the decimals of its currency, two at least, and is rounded half to even; one of a coin keeps its digits', () => {
  const org = [...toOrganizations([connection]).values()][0]
  assert(org !== undefined)
  const show = (currency: string, amount: string) => {
    const balance = { currentBalance: amount as Decimal, availableBalance: null }
    const given = { account: { ...account, currency }, name: 'Shares', balance, balanceAt: 0 }
    const shown = toSimplefinAccount(given, org, 'https://t.example/simplefin')
    assert.equal(shown['available-balance'], shown.balance)
    return shown.balance
  }
  assert.deepEqual(
    [
      show('NZD', '64213.078125'),
      show('NZD', '-0.125'),
      show('NZD', '7'),
      show('JPY', '1500'),
      show('KWD', '1.2345'),
      show('IQD', '1234.567'),
      show('XXX', '318.4'),
      show('BTC', '0.12345678'),
    ],
    ['64213.08', '-0.12', '7.00', '1500.00', '1.234', '1234.567', '318.40', '0.12345678'],
  )
})
