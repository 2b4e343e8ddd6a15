/**
 * Checks the mapping of consents, accounts and balances: every row of the tables, and no private value shown.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { categoryKeys } from '#contract/categories.ts'
import { Account, Balance } from '#contract/resources.ts'
import { newId, upstreamId } from '#kernel/ids.ts'
import { NumberText } from '#kernel/json.ts'
import type { AccountRef } from '../port.ts'
import { toCategoryKey } from './categories.ts'
import { adoptConsents } from './consent.ts'
import {
  type Consent,
  type FiskilAccount,
  maskNumber,
  toAccountType,
  toBalance,
  toConnectionStatus,
  toDiscoveredAccount,
} from './map.ts'

const now = Date.parse('2026-11-20T03:00:00Z')
const past = '2026-11-20T02:59:59Z'
const future = '2026-11-20T13:00:01+10:00'

function consent(fields: Partial<Consent>): Consent {
  return {
    arrangement_id: 'a1',
    active: true,
    created_at: '2026-01-01T00:00:00Z',
    expires_at: future,
    institution_id: '22',
    institution_name: 'Wattle Bank',
    institution_logo: '',
    institution_type: 'banking',
    ...fields,
  }
}

function account(fields: Partial<FiskilAccount>): FiskilAccount {
  return {
    account_id: 'acc',
    arrangement_id: 'a1',
    nickname: null,
    display_name: 'Everyday',
    product_name: null,
    product_category: null,
    account_number: null,
    masked_number: null,
    ...fields,
  }
}

test('the status of a connection follows the table of consents', () => {
  const rows: [Partial<Consent>, string][] = [
    [{ active: true, expires_at: future }, 'active'],
    [{ active: true, expires_at: past }, 'invalidated'],
    [{ active: false, expires_at: past }, 'invalidated'],
    [{ active: false, expires_at: '2026-11-20T03:00:00Z' }, 'invalidated'],
    [{ active: true, expires_at: '2026-11-20T03:00:00Z' }, 'invalidated'],
    [{ active: false, expires_at: future }, 'revoked'],
    [{ active: true, expires_at: null }, 'active'],
    [{ active: false, expires_at: '' }, 'invalidated'],
    [{ active: true, expires_at: now / 1000 + 60 }, 'active'],
    [{ active: true, expires_at: now / 1000 - 60 }, 'invalidated'],
    [{ active: false, expires_at: now / 1000 + 60 }, 'revoked'],
    [{ active: true, expires_at: '2999-01-01' }, 'active'],
    [{ active: true, expires_at: '2020-01-01' }, 'invalidated'],
    [{ active: true, expires_at: 'soon' }, 'active'],
    [{ active: false, expires_at: 'soon' }, 'invalidated'],
  ]
  for (const [fields, status] of rows) {
    assert.equal(toConnectionStatus(consent(fields), now), status, JSON.stringify(fields))
  }
})

test('one consent per institution is adopted: active before newer, then the newest', () => {
  const list = [
    consent({ arrangement_id: 'old', created_at: '2025-01-01T00:00:00Z' }),
    consent({ arrangement_id: 'new', created_at: '2026-01-01T00:00:00Z' }),
    consent({ arrangement_id: 'dead', created_at: '2026-10-01T00:00:00Z', active: false }),
    consent({ arrangement_id: 'other', institution_id: '41', active: false }),
  ]
  for (const order of [list, [...list].reverse()]) {
    const ids = adoptConsents(order, now).map((one) => one.arrangement_id)
    assert.deepEqual(ids.sort(), ['new', 'other'])
  }
  const dead = [
    consent({ arrangement_id: 'd1', active: false }),
    consent({ arrangement_id: 'd2', active: false, created_at: '2026-03-01T00:00:00Z' }),
  ]
  assert.deepEqual(
    adoptConsents(dead, now).map((one) => one.arrangement_id),
    ['d2'],
  )
})

test('the account type follows the table of product categories', () => {
  const rows: [Partial<FiskilAccount>, string][] = [
    [{ product_category: 'TRANS_AND_SAVINGS_ACCOUNTS' }, 'transaction'],
    [{ product_category: 'TRANS_AND_SAVINGS_ACCOUNTS', display_name: 'Bonus' }, 'savings'],
    [{ product_category: 'TRANS_AND_SAVINGS_ACCOUNTS', nickname: 'my GOAL' }, 'savings'],
    [{ product_category: 'TRANS_AND_SAVINGS_ACCOUNTS', product_name: 'NetSaver' }, 'savings'],
    [{ product_category: 'TRANS_AND_SAVINGS_ACCOUNTS', product_name: 'Savings' }, 'savings'],
    [{ product_category: 'TERM_DEPOSITS', display_name: 'Bonus' }, 'term-deposit'],
    [{ product_category: 'CRED_AND_CHRG_CARDS' }, 'credit-card'],
    [{ product_category: 'RESIDENTIAL_MORTGAGES' }, 'loan'],
    [{ product_category: 'PERS_LOANS' }, 'loan'],
    [{ product_category: 'BUSINESS_LOANS' }, 'loan'],
    [{ product_category: 'MARGIN_LOANS' }, 'loan'],
    [{ product_category: 'OVERDRAFTS' }, 'loan'],
    [{ product_category: 'LEASES' }, 'loan'],
    [{ product_category: 'TRADE_FINANCE' }, 'loan'],
    [{ product_category: 'BUY_NOW_PAY_LATER' }, 'loan'],
    [{ product_category: 'TRAVEL_CARDS' }, 'transaction'],
    [{ product_category: 'REGULATED_TRUST_ACCOUNTS' }, 'other'],
    [{ product_category: 'SOMETHING_NEW', display_name: 'Saver' }, 'other'],
    [{ product_category: null }, 'other'],
  ]
  for (const [fields, type] of rows) {
    assert.equal(toAccountType(account(fields)), type, JSON.stringify(fields))
  }
})

test('an account is named by nickname, else display name, else product', () => {
  const names = { nickname: 'Mine', display_name: 'Everyday', product_name: 'Wattle' }
  const name = (fields: Partial<FiskilAccount>) =>
    toDiscoveredAccount(account({ ...names, ...fields }), 'AUD').name
  assert.equal(name({}), 'Mine')
  assert.equal(name({ nickname: '' }), 'Everyday')
  assert.equal(name({ nickname: null, display_name: ' ' }), 'Wattle')
  assert.equal(name({ nickname: null, display_name: null, product_name: null }), 'Account')
})

test('account numbers of every shape are masked to four last digits or null', () => {
  const rows: [string | null, string | null, string | null][] = [
    ['10348821', 'xxxx9999', 'xxxx8821'],
    ['1034-88 21', null, 'xxxx8821'],
    ['1234', null, 'xxxx1234'],
    ['123', null, null],
    [null, 'xxxx-xxxx-xxxx-5510', 'xxxx5510'],
    ['', 'xxxx xxxx xxxx 55 10', 'xxxx5510'],
    [null, '**** 123', null],
    [null, '1234 56xx xxxx xx10', null],
    [null, '', null],
    [null, null, null],
  ]
  for (const [number, masked, expected] of rows) {
    assert.equal(maskNumber({ account_number: number, masked_number: masked }), expected)
  }
})

test('no more than four digits of any account number ever come out', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 30 }), fc.string({ maxLength: 30 }), (number, masked) => {
      const shown = maskNumber({ account_number: number, masked_number: masked })
      assert.ok(shown === null || /^xxxx\d{4}$/.test(shown))
    }),
  )
})

test('a mapped account is one that the contract allows', () => {
  const found = toDiscoveredAccount(account({ account_number: '10348821' }), 'AUD')
  const { upstreamId: _, previousUpstreamId, ...shown } = found
  assert.equal(previousUpstreamId, null)
  Account.parse({
    ...shown,
    id: newId(),
    connectionId: newId(),
    provider: 'fiskil',
    institutionName: null,
  })
})

test('categories: the sixteen pass, two are renamed, others are null', () => {
  for (const key of categoryKeys) assert.equal(toCategoryKey(key), key)
  assert.equal(toCategoryKey('GENERAL_MERCHANDISE'), 'MERCHANDISE')
  assert.equal(toCategoryKey('GENERAL_SERVICES'), 'SERVICES')
  for (const other of ['PETS', 'income', '', 'GENERAL_INCOME']) {
    assert.equal(toCategoryKey(other), null)
  }
})

const reference: AccountRef = {
  id: newId(),
  connectionId: newId(),
  upstreamId: upstreamId('acc'),
  name: 'Everyday',
  currency: 'NZD',
}

test('R24: balances keep every digit, as text or as the text of a number', () => {
  const row = {
    current_balance: '-250.00',
    available_balance: new NumberText('12345678901234567890.120'),
    currency: 'AUD',
  }
  const balance = toBalance(row, reference)
  assert.deepEqual(balance, {
    accountId: reference.id,
    currentBalance: '-250.00',
    availableBalance: '12345678901234567890.120',
    currency: 'AUD',
  })
  Balance.parse(balance)
})

test('R24: a negative zero is a plain one', () => {
  const row = { current_balance: '-0.00', available_balance: '+1.50', currency: 'AUD' }
  const { currentBalance, availableBalance } = toBalance(row, reference)
  assert.deepEqual([currentBalance, availableBalance], ['0.00', '1.50'])
})

test("R24b: a balance without currency has the account's; an absent amount alone is null", () => {
  assert.deepEqual(toBalance({ current_balance: '1', available_balance: null }, reference), {
    accountId: reference.id,
    currentBalance: '1',
    availableBalance: null,
    currency: 'NZD',
  })
})

test('R20: a balance that cannot be read is three nulls', () => {
  const nulls = {
    accountId: reference.id,
    currentBalance: null,
    availableBalance: null,
    currency: null,
  }
  for (const bad of ['', '1,5', 'NaN', '1e400', '0x10', ' 1', {}, true, []]) {
    assert.deepEqual(toBalance({ current_balance: bad, currency: 'AUD' }, reference), nulls)
    const row = { current_balance: '1.00', available_balance: bad, currency: 'AUD' }
    assert.deepEqual(toBalance(row, reference), nulls)
  }
})

test('an account that is called by its number shows the mask in its name too', () => {
  const account = {
    account_id: 'a1',
    nickname: 'Rent 1034 8821',
    account_number: '10348821',
  } as Parameters<typeof toDiscoveredAccount>[0]
  assert.equal(toDiscoveredAccount(account, 'AUD').name, 'Rent xxxx8821')
})
