/** Checks connections and accounts field by field (docs/providers/snaptrade.md, Mapping). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import { isListed, maskNumber, parseCode, toAccountType, toConnection } from './map-connection.ts'
import { WireAccount, WireAuthorization } from './wire.ts'

const authorization = (fields: object = {}) =>
  WireAuthorization.parse({
    id: 'a-1',
    brokerage: { id: 'b-1', slug: 'QUESTRADE', name: 'Questrade Inc', display_name: 'Questrade' },
    disabled: false,
    ...fields,
  })

const account = (fields: object = {}) =>
  WireAccount.parse({
    id: 'acc-1',
    brokerage_authorization: 'a-1',
    name: 'TFSA',
    number: 'Q6542138443',
    institution_name: 'Questrade',
    ...fields,
  })

const synced = (last_successful_sync: string | null) => ({
  currency: 'USD',
  account: account({ sync_status: { holdings: { last_successful_sync } } }),
})

test('an account number is masked to its last four letters or digits', () => {
  const rows: [string, string | null][] = [
    ['Q6542138443', 'xxxx8443'],
    ['****8443', 'xxxx8443'],
    ['12-34-56', 'xxxx3456'],
    ['DU 12 3', 'xxxxU123'],
    ['xxxxxx12', null],
    ['XXXX4321', 'xxxx4321'],
    ['***123', null],
    ['', null],
    ['١٢٣٤', null],
    ['abcd', 'xxxxabcd'],
  ]
  for (const [number, mask] of rows) assert.equal(maskNumber(number), mask, number)
})

test('no account number of any shape comes out longer than its mask', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 40 }), (number) => {
      const mask = maskNumber(number)
      assert.ok(mask === null || /^xxxx[0-9A-Za-z]{4}$/.test(mask))
    }),
  )
})

test('the type of an account follows its category and what the broker calls it', () => {
  const rows = [
    ['INVESTMENT', 'Margin', 'investment'],
    [null, null, 'investment'],
    ['SOMETHING_NEW', null, 'investment'],
    ['DEPOSIT', 'High Yield SAVINGS', 'savings'],
    ['DEPOSIT', 'CHECKING', 'transaction'],
    ['DEPOSIT', null, 'transaction'],
    ['LOC', 'CREDIT_CARD', 'credit-card'],
    ['LOC', 'HELOC', 'loan'],
  ] as const
  for (const [account_category, raw_type, type] of rows) {
    assert.equal(toAccountType({ account_category, raw_type }), type)
  }
})

test('closed, archived and paper accounts are left out, unavailable ones are not', () => {
  assert.deepEqual(
    ['open', 'unavailable', null, 'closed', 'archived'].map((status) =>
      isListed(account({ status })),
    ),
    [true, true, true, false, false],
  )
  assert.equal(isListed(account({ is_paper: true })), false)
})

test('a connection shows the display name and the square logo, or their fallbacks', () => {
  const brokerage = (fields: object) =>
    toConnection(authorization({ brokerage: { id: 'b-1', ...fields } }), [])
  assert.equal(brokerage({ display_name: 'D', name: 'N' }).institutionName, 'D')
  assert.equal(brokerage({ display_name: '', name: 'N' }).institutionName, 'N')
  assert.equal(brokerage({ slug: 'S' }).institutionName, 'S')
  assert.equal(brokerage({}).institutionName, null)
  const wide = { aws_s3_logo_url: 'https://l/wide.png' }
  assert.equal(brokerage(wide).institutionLogo, 'https://l/wide.png')
  assert.equal(
    brokerage({ ...wide, aws_s3_square_logo_url: 'https://l/square.png' }).institutionLogo,
    'https://l/square.png',
  )
  assert.equal(brokerage({}).institutionLogo, null)
})

test('a disabled connection is invalidated and its accounts stay', () => {
  const off = authorization({ disabled: true })
  assert.equal(toConnection(off, [synced(null)]).status, 'invalidated')
  assert.equal(toConnection(off, [synced(null)]).accounts?.length, 1)
  assert.equal(toConnection(off, []).accounts, null)
  assert.deepEqual(toConnection(authorization(), []).accounts, [])
  assert.equal(toConnection(authorization(), []).status, 'active')
})

test('the last refresh is the newest of the accounts, in ISO 8601 UTC for any input form', () => {
  const shown = (...texts: (string | null)[]) =>
    toConnection(authorization(), texts.map(synced)).lastRefreshedAt
  assert.equal(shown('2024-06-28 18:42:46.561408+00:00'), '2024-06-28T18:42:46.561Z')
  assert.equal(shown('2024-06-28T18:42:46-05:00', '2024-06-28'), '2024-06-28T23:42:46.000Z')
  assert.equal(shown('2024-06-28'), '2024-06-28T00:00:00.000Z')
  assert.equal(shown(null, 'yesterday'), null)
  assert.equal(shown(), null)
})

test('an account without a name is called after its institution and mask', () => {
  const named = (fields: object) =>
    toConnection(authorization(), [{ account: account(fields), currency: 'AUD' }]).accounts?.[0]
  assert.deepEqual(named({}), {
    upstreamId: 'acc-1',
    previousUpstreamId: null,
    name: 'TFSA',
    type: 'investment',
    accountNumber: 'xxxx8443',
    currency: 'AUD',
  })
  assert.equal(named({ name: 'Q6542138443 (TFSA)' })?.name, 'xxxx8443 (TFSA)')
  assert.equal(named({ name: null })?.name, 'Questrade xxxx8443')
  assert.equal(named({ name: ' ', number: '1' })?.name, 'Questrade')
  assert.equal(named({ name: null, number: null, institution_name: null })?.name, 'Account')
})

test('a currency code is upper case, and any other text is refused', () => {
  assert.equal(parseCode(' usd '), 'USD')
  assert.equal(parseCode('USDC'), 'USDC')
  for (const text of ['', 'U', 'BTC-USD', '$', null, undefined]) assert.equal(parseCode(text), null)
})
