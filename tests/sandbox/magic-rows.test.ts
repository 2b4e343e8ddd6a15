/**
 * Magic users whose rows, holdings or account numbers are out of the ordinary: every digit as the provider
 * sent it.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Holding, Trade, Transaction } from '#contract/resources.ts'
import { sandboxProviders } from '#sandbox/magic-users.ts'
import { startService } from '#tests/support/service.ts'
import { type Linked, linkMagic } from './linked.ts'

const service = await startService()
after(() => service.close())

async function transactions(linked: Linked, account: string): Promise<Transaction[]> {
  const { status, body } = await linked.rows(`&accountId=${linked.account(account).id}`)
  assert.equal(status, 200)
  assert.ok(body.data.length > 0, account)
  return body.data
}

test('foreign: accounts and trades keep the currency of their country', async () => {
  const fiskil = await linkMagic(service, 'foreign', 'fiskil')
  assert.deepEqual(fiskil.accounts.map(({ currency }) => currency).sort(), ['EUR', 'GBP', 'USD'])
  const akahu = await linkMagic(service, 'foreign', 'akahu')
  assert.deepEqual(akahu.accounts.map(({ currency }) => currency).sort(), ['AUD', 'GBP', 'USD'])
  for (const linked of [fiskil, akahu]) {
    const { body } = await linked.balances()
    const currencies = body.data.map(({ currency }: { currency: string }) => currency).sort()
    assert.deepEqual(currencies, linked.accounts.map(({ currency }) => currency).sort())
    assert.ok((await linked.rows()).body.data.length > 0)
  }
  const broker = await linkMagic(service, 'foreign', 'snaptrade')
  const { body } = await broker.holdings()
  const held = new Set(body.data.map(({ currency }: Holding) => currency))
  assert.deepEqual([...held].sort(), ['AUD', 'NZD', 'USD'])
  const traded = new Set((await broker.rows()).body.data.map(({ currency }: Trade) => currency))
  assert.deepEqual([...traded].sort(), ['AUD', 'NZD', 'USD'])
})

test('decimals: yen are whole, dinars have three digits, interest four', async () => {
  for (const provider of ['fiskil', 'akahu'] as const) {
    const linked = await linkMagic(service, 'decimals', provider)
    const shapes = [
      ['Yen Account', 'JPY', /^-\d+$/],
      ['Dinar Account', 'KWD', /^-\d+\.\d{3}$/],
      ['Bahrain Account', 'BHD', /^-\d+\.\d{3}$/],
      ['Fine Account', provider === 'fiskil' ? 'AUD' : 'NZD', /^0\.\d{4}$/],
    ] as const
    for (const [name, currency, shape] of shapes) {
      assert.equal(linked.account(name).currency, currency)
      for (const { amount } of await transactions(linked, name)) assert.match(amount, shape)
    }
    const { body } = await linked.balances()
    const reported = body.data.map((row: { currentBalance: string }) => row.currentBalance).sort()
    assert.deepEqual(reported, ['-0.005', '10.0000', '1250.375', '184200'])
  }
  const broker = await linkMagic(service, 'decimals', 'snaptrade')
  const trades: Trade[] = (await broker.rows()).body.data
  const yen = trades.filter(({ currency }) => currency === 'JPY')
  const dinars = trades.filter(({ currency }) => currency === 'KWD')
  assert.ok(yen.length > 0 && dinars.length > 0)
  assert.ok(
    yen.every(({ price, totalAmount }) => /^\d+$/.test(price) && /^-\d+$/.test(totalAmount)),
  )
  assert.ok(dinars.every(({ price, fees }) => /^\d\.\d{3}$/.test(price) && fees === '0.250'))
  const holdings: Holding[] = (await broker.holdings()).body.data
  assert.deepEqual(
    holdings.map(({ symbol, currency, marketValue }) => [symbol, currency, marketValue]),
    [
      ['7203.T', 'JPY', '261500'],
      ['NBK.KW', 'KWD', '1025.000'],
    ],
  )
})

test('R24a: twins: identical rows are two, with ids of their own', async () => {
  for (const provider of ['fiskil', 'akahu'] as const) {
    const rows: Transaction[] = (await (await linkMagic(service, 'twins', provider)).rows()).body
      .data
    assert.ok(rows.length >= 18)
    assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length)
    const bare = rows.map(({ id: _, ...rest }) => JSON.stringify(rest))
    assert.equal(new Set(bare).size, rows.length / 2)
  }
  const broker = await linkMagic(service, 'twins', 'snaptrade')
  const trades: Trade[] = (await broker.rows('&limit=100')).body.data
  assert.equal(trades.length, 100)
  assert.equal(new Set(trades.map(({ id }) => id)).size, 100)
  for (let index = 0; index < 100; index += 2) {
    const [one, twin] = trades.slice(index, index + 2)
    assert.equal(twin?.id, `${one?.id}-2`)
    assert.deepEqual({ ...twin, id: one?.id }, one)
  }
})

test('R24: fractions: units keep up to eighteen digits, in trades and holdings', async () => {
  const broker = await linkMagic(service, 'fractions', 'snaptrade')
  const holdings: Holding[] = (await broker.holdings()).body.data
  assert.deepEqual(
    holdings.map(({ quantity }) => quantity),
    ['0.1357', '150.2500', '0.00000001', '0.123456789012345678'],
  )
  assert.equal(holdings[3]?.marketValue, '385.47283603691728078974')
  const trades: Trade[] = (await broker.rows('&limit=500')).body.data
  const slices = trades.filter(({ description }) => description?.includes('SLICE'))
  assert.ok(slices.length > 0)
  assert.ok(slices.every(({ quantity }) => /^0\.\d{9}123456789$/.test(quantity)))
  assert.ok(trades.some(({ quantity }) => quantity === '0.00000001'))
})

test('unpriced: what the broker does not send is null, the rest is returned', async () => {
  const broker = await linkMagic(service, 'unpriced', 'snaptrade')
  const holdings: Holding[] = (await broker.holdings()).body.data
  assert.deepEqual(
    holdings.map((row) => [row.symbol, row.currentPrice, row.averagePrice, row.marketValue]),
    [
      ['AAPL', null, '118.2', null],
      ['BHP.AX', '42.15', null, '8430.00'],
      ['GXYWT', null, null, null],
    ],
  )
  assert.ok(holdings.every(({ unrealizedPnl }) => unrealizedPnl === null))
  assert.ok(holdings.every(({ currency }) => /^[A-Z]{3}$/.test(currency)))
})

/** The name of each account, and its number as the API shows it. */
const numbers = {
  fiskil: {
    'Plain number': 'xxxx8821',
    'Number with blanks and dashes': 'xxxx7890',
    'Three digits': null,
    'Number in words': 'xxxx4417',
    'Masked card': 'xxxx5510',
    'Masked with stars': 'xxxx9023',
    'Masked at the end': null,
    'Masked entirely': null,
    'No number': null,
  },
  akahu: {
    'NZ number': 'xxxx5600',
    'NZ number with a long suffix': 'xxxx9001',
    'Masked card': 'xxxx0194',
    'Three digits': null,
    'Masked entirely': null,
    'Number in words': 'xxxx3456',
    'No number': null,
    'Savings xxxx5607': 'xxxx5607',
  },
  snaptrade: {
    'Letters and digits': 'xxxx8443',
    'With dashes': 'xxxx4219',
    'Masked with stars': 'xxxx7781',
    'Masked with dots': 'xxxx5678',
    'Masked with x': 'xxxx1234',
    'Two characters': null,
    'Masked entirely': null,
    'No number': null,
    'Account xxxx1222': 'xxxx1222',
  },
  up: {
    ...Object.fromEntries(Array.from({ length: 18 }, (_, index) => [`Saver ${index + 4}`, null])),
    'Holiday 2027': null,
    'BSB xxxx': null,
    xxxx6789: null,
  },
  simplefin: {
    'Checking xxxx9012': null,
    'Savings (****5544)': 'xxxx5544',
    '401(k) Rollover': null,
    'Mortgage 88-1234': 'xxxx1234',
  },
  enablebanking: {
    'Compte xxxx6769': 'xxxx6769',
    'Carte Or': 'xxxx4455',
    'Banque des Lis': null,
  },
} as const

test('numbers: of every account number the last four characters are shown, or nothing', async () => {
  for (const provider of sandboxProviders) {
    const { user } = await linkMagic(service, 'numbers', provider)
    const { body } = await service.get('/v1/accounts', user)
    const shown = body.data.map((row: { name: string; accountNumber: string | null }) => [
      row.name,
      row.accountNumber,
    ])
    assert.deepEqual(Object.fromEntries(shown), numbers[provider], provider)
  }
})
