/**
 * Checks the mapping field by field: account types, masks, currencies, balances, amounts, and rows refused as
 * unreadable.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Balance, Transaction } from '#contract/resources.ts'
import { type AccountId, type ConnectionId, upstreamId } from '#kernel/ids.ts'
import { NumberText } from '#kernel/json.ts'
import { getZone } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type { AccountRef } from '../port.ts'
import type { WireAccount } from './accounts.ts'
import { makeDateReader } from './dates.ts'
import { maskNumber, toBalance, toConnections, toTransaction, type WireRow } from './map.ts'

const readDate = makeDateReader({
  zone: getZone('Australia/Sydney'),
  window: { from: null, to: null },
})
const ref: AccountRef = {
  id: '1b4e28ba-2fa1-41d2-883f-0016d3cca427' as AccountId,
  connectionId: '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10' as ConnectionId,
  upstreamId: upstreamId('acc_1'),
  name: 'Everyday',
  currency: 'NZD',
}

function account(parts: Partial<WireAccount> = {}): WireAccount {
  return {
    _id: 'acc_1',
    _authorisation: 'auth_1',
    connection: { _id: 'conn_1', name: 'Kiwibank', logo: 'https://cdn.example.test/logo' },
    name: 'Everyday',
    status: 'ACTIVE',
    formatted_account: '38-9000-0123456-00',
    type: 'CHECKING',
    balance: { currency: 'NZD', current: new NumberText('12.50'), available: undefined },
    ...parts,
  }
}

function makeNote() {
  const notes: string[] = []
  return { notes, note: (what: string) => void notes.push(what) }
}

/** The only account of the only connection. */
function discovered(parts: Partial<WireAccount>) {
  const { notes, note } = makeNote()
  const [connection] = toConnections([account(parts)], note)
  const found = connection?.accounts?.[0]
  assert.ok(connection !== undefined && found !== undefined)
  return { connection, account: found, notes }
}

const types: [string, string][] = [
  ['CHECKING', 'transaction'],
  ['FOREIGN', 'transaction'],
  ['WALLET', 'transaction'],
  ['SAVINGS', 'savings'],
  ['CREDITCARD', 'credit-card'],
  ['LOAN', 'loan'],
  ['KIWISAVER', 'investment'],
  ['INVESTMENT', 'investment'],
  ['TERMDEPOSIT', 'term-deposit'],
  ['TAX', 'other'],
  ['REWARDS', 'other'],
]
for (const [type, ours] of types) {
  test(`an account of type ${type} is ${ours}`, () => {
    assert.equal(discovered({ type }).account.type, ours)
    assert.deepEqual(discovered({ type }).notes, [])
  })
}

test('an unknown account type is other, and counted', () => {
  const { account: found, notes } = discovered({ type: 'SPACESHIP' })
  assert.equal(found.type, 'other')
  assert.deepEqual(notes, ['unknown account type'])
})

const numbers: [string | null, string | null][] = [
  ['38-9000-0123456-00', 'xxxx5600'],
  ['00-0000-0001234-001', 'xxxx4001'],
  ['****-****-****-0194', 'xxxx0194'],
  ['12 3456', 'xxxx3456'],
  ['123', null],
  ['****', null],
  ['', null],
  [null, null],
]
for (const [number, masked] of numbers) {
  test(`the number ${number} is shown as ${masked}`, () => assert.equal(maskNumber(number), masked))
}

test('a masked number never shows more than the last four digits', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 40 }), (number) => {
      const masked = maskNumber(number)
      assert.ok(masked === null || /^xxxx[0-9]{4}$/.test(masked))
    }),
  )
})

test('a name that holds the account number shows its mask instead', () => {
  const named = (name: string, formatted_account?: string) =>
    discovered({ name, ...(formatted_account === undefined ? {} : { formatted_account }) }).account
      .name
  assert.equal(named('38-9000-0123456-00'), 'xxxx5600')
  assert.equal(named('Rent 38 9000 0123456 00 (old)'), 'Rent xxxx5600 (old)')
  assert.equal(named('389000012345600'), 'xxxx5600')
  assert.equal(named('Everyday 5600'), 'Everyday 5600')
  assert.equal(named('Visa 0194', '****-****-****-0194'), 'Visa 0194')
  assert.equal(named('Plain', '$&'), 'Plain')
})

test('R24b: the currency is that of the balance, unknown without one, XXX for a code outside ISO 4217', () => {
  const currency = (balance: WireAccount['balance']) => discovered({ balance }).account.currency
  const of = (code: string | null) => ({ currency: code, current: 1, available: undefined })
  assert.equal(currency(of('USD')), 'USD')
  assert.equal(currency(of('Airpoints')), 'XXX')
  assert.equal(currency(of('nzd')), 'XXX')
  assert.equal(currency(of(null)), null)
  assert.equal(currency(null), null)
  assert.equal(currency(undefined), null)
})

test('accounts are grouped by authorisation, in older data by credentials', () => {
  const { note } = makeNote()
  const connections = toConnections(
    [
      account({ _id: 'acc_1' }),
      account({ _id: 'acc_2', _authorisation: undefined, _credentials: 'creds_1' }),
      account({ _id: 'acc_3', _credentials: 'creds_9', _migrated: 'acc_old' }),
    ],
    note,
  )
  assert.deepEqual(
    connections.map((one) => [one.upstreamId, one.accounts?.map((each) => each.upstreamId)]),
    [
      ['auth_1', ['acc_1', 'acc_3']],
      ['creds_1', ['acc_2']],
    ],
  )
  assert.equal(connections[0]?.accounts?.[1]?.previousUpstreamId, 'acc_old')
  assert.equal(connections[0]?.accounts?.[0]?.previousUpstreamId, null)
  assert.throws(() => toConnections([account({ _authorisation: undefined })], note), isMalformed)
})

test('one INACTIVE account makes its connection invalidated', () => {
  const { note } = makeNote()
  const both = [account(), account({ _id: 'acc_2', status: 'INACTIVE' })]
  assert.equal(toConnections(both, note)[0]?.status, 'invalidated')
  assert.equal(discovered({}).connection.status, 'active')
  assert.deepEqual(discovered({ status: 'ODD' }).notes, ['unknown account status'])
})

test('the refresh time of a connection is the newest of its timestamps', () => {
  const { note } = makeNote()
  const [connection] = toConnections(
    [
      account({ refreshed: { balance: '2026-11-20T02:00:00.000Z' } }),
      account({ refreshed: { transactions: '2026-11-20T16:00:00+13:00', meta: 'never' } }),
    ],
    note,
  )
  assert.equal(connection?.lastRefreshedAt, '2026-11-20T03:00:00.000Z')
  assert.equal(discovered({ refreshed: {} }).connection.lastRefreshedAt, null)
  assert.equal(discovered({}).connection.lastRefreshedAt, null)
  const bare = { _id: 'conn_1', name: 'Kiwibank' }
  assert.equal(discovered({ connection: bare }).connection.institutionLogo, null)
})

const balances: [sent: string, currency: string, shown: string | null, why: string][] = [
  ['12.50', 'NZD', '12.50', 'kept as sent'],
  ['30252.859999999997', 'NZD', '30252.86', 'noise is rounded'],
  ['-30252.859999999997', 'NZD', '-30252.86', 'noise below zero'],
  ['0.1250000', 'NZD', '0.12', 'a tie goes to the even digit'],
  ['0.1350000', 'NZD', '0.14', 'a tie goes to the even digit'],
  ['64213.078125', 'NZD', '64213.078125', 'six digits are no noise'],
  ['1.0000000000000002', 'JPY', '1', 'to the minor unit of the currency'],
  ['1.2345000000000002', 'KWD', '1.235', 'three digits'],
  ['0.12345678', 'BTC', '0.12345678', 'a coin has no minor unit'],
  ['1234.5678901', 'PTS', '1234.5678901', 'points have no minor unit'],
  ['318.40000000000003', 'PTS', '318.4', 'a float holds 15 digits of points'],
  ['30252.859999999997', 'XXX', '30252.86', 'noise below'],
  ['0.30000000000000004', 'BTC', '0.3', 'noise of a coin'],
  ['-0', 'NZD', '0', 'zero has no sign'],
  ['-1e-16', 'NZD', '0.00', 'noise around zero'],
  ['12345678901234567890.12', 'NZD', '12345678901234567890.12', 'longer than a float'],
  ['1E+2', 'NZD', '100', 'an exponent'],
  ['1e41', 'NZD', null, 'an exponent beyond 40'],
]
for (const [sent, currency, shown, why] of balances) {
  test(`R24: the balance ${sent} ${currency} is ${shown} (${why})`, () => {
    const { note, notes } = makeNote()
    const current = new NumberText(sent)
    const balance = toBalance(
      account({ balance: { currency, current, available: current } }),
      ref,
      note,
    )
    assert.deepEqual(Balance.parse(balance), {
      accountId: ref.id,
      currentBalance: shown,
      availableBalance: shown,
      currency: shown === null ? null : currency,
    })
    assert.deepEqual(notes, shown === null ? ['unreadable balance'] : [])
  })
}

test('an absent available balance is null, a mistyped figure makes all three null', () => {
  const of = (current: unknown, available: unknown) =>
    toBalance(account({ balance: { currency: 'NZD', current, available } }), ref, () => {})
  const one = new NumberText('1')
  assert.equal(of(one, undefined).currentBalance, '1')
  assert.equal(of(one, null).availableBalance, null)
  assert.equal(of(one, {}).currentBalance, null)
  assert.equal(of(undefined, one).currency, null)
  assert.equal(of(true, one).currentBalance, null)
})

test('R20b: an INACTIVE account, like one without a balance, has nulls instead of old figures', () => {
  const nulls = { accountId: ref.id, currentBalance: null, availableBalance: null, currency: null }
  assert.deepEqual(
    toBalance(account({ status: 'INACTIVE' }), ref, () => {}),
    nulls,
  )
  assert.deepEqual(
    toBalance(account({ balance: null }), ref, () => {}),
    nulls,
  )
})

const row: WireRow = {
  _id: 'trans_1',
  _account: 'acc_1',
  _connection: 'conn_1',
  created_at: '2026-11-19T17:00:00.000Z',
  updated_at: '2026-11-19T17:00:00.000Z',
  date: '2026-11-18T11:00:00.000Z',
  description: 'COUNTDOWN PONSONBY',
  amount: '-34.50',
  type: 'EFTPOS',
  merchant: { _id: 'merchant_1', name: 'Countdown' },
  category: {
    _id: 'nzfcc_ckouvvye7001s08mld9hj5q2y',
    name: 'Apparel and accessory stores',
    groups: { personal_finance: { _id: 'group_1', name: 'Appearance' } },
  },
}

function mapped(parts: WireRow = {}) {
  const { notes, note } = makeNote()
  return { ...toTransaction({ ...row, ...parts }, ref, readDate, note), notes }
}

test('a transaction has every field of the contract', () => {
  const { notes, ...transaction } = mapped()
  assert.deepEqual(Transaction.parse(transaction), {
    id: 'trans_1',
    accountId: ref.id,
    accountName: 'Everyday',
    status: 'posted',
    date: '2026-11-19',
    datetime: '2026-11-18T11:00:00.000Z',
    description: 'COUNTDOWN PONSONBY',
    amount: '-34.50',
    direction: 'debit',
    category: 'MERCHANDISE',
    merchantName: 'Countdown',
    merchantCategoryCode: null,
  })
  assert.deepEqual(notes, [])
})

const amounts: [sent: string, amount: string, direction: string][] = [
  ['-34.5', '-34.5', 'debit'],
  ['34.50', '34.50', 'credit'],
  ['0', '0', 'credit'],
  ['-0', '0', 'credit'],
  ['-0.00', '0.00', 'credit'],
  ['30252.859999999997', '30252.859999999997', 'credit'],
  ['-12345678901234567890.123', '-12345678901234567890.123', 'debit'],
  ['1e-7', '0.0000001', 'credit'],
]
for (const [sent, amount, direction] of amounts) {
  test(`R24: the amount ${sent} is ${amount}, a ${direction}, with no digit lost`, () => {
    for (const wire of [sent, new NumberText(sent)]) {
      const transaction = mapped({ amount: wire })
      assert.equal(transaction.amount, amount)
      assert.equal(transaction.direction, direction)
    }
  })
}

function isMalformed(error: unknown): boolean {
  return error instanceof UpstreamError && error.failure.kind === 'malformed'
}

const broken: [field: string, value: unknown][] = [
  ['_id', undefined],
  ['_id', ''],
  ['_id', 7],
  ['date', undefined],
  ['date', '2026-11-18'],
  ['date', 'yesterday'],
  ['amount', undefined],
  ['amount', null],
  ['amount', 'ten'],
  ['amount', ''],
  ['amount', '1,000.00'],
  ['amount', '1e41'],
  ['description', undefined],
  ['description', 5],
]
for (const [field, value] of broken) {
  test(`R23: a transaction whose ${field} is ${JSON.stringify(value)} is malformed`, () => {
    assert.throws(() => mapped({ [field]: value }), isMalformed)
  })
}

test('without merchant and category both are null or derived from the type', () => {
  const bare = mapped({ merchant: undefined, category: undefined })
  assert.equal(bare.merchantName, null)
  assert.equal(bare.category, null)
  assert.equal(mapped({ category: null, type: 'FEE' }).category, 'BANK_FEES')
  assert.equal(mapped({ merchant: { name: '' } }).merchantName, null)
  assert.equal(mapped({ merchant: 'Countdown' }).merchantName, null)
})

test('an unknown category is derived from its group and counted, never from the type', () => {
  const groups = { personal_finance: { name: 'Food' } }
  const known = mapped({ category: { _id: 'nzfcc_new', groups } })
  assert.equal(known.category, 'FOOD_AND_DRINK')
  assert.deepEqual(known.notes, ['unknown category'])
  assert.equal(mapped({ category: { _id: 'nzfcc_new' }, type: 'FEE' }).category, null)
  assert.equal(mapped({ category: 'nonsense' }).category, null)
})
