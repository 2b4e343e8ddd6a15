/** What Up's shapes become, and what of them cannot be read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AccountId, type ConnectionId, newId, upstreamId } from '#kernel/ids.ts'
import { getZone } from '#kernel/time.ts'
import type { AccountRef } from '../port.ts'
import { sumHolds, toBalance, toTransaction } from './map.ts'

const money = (value: string, valueInBaseUnits: number) => ({
  currencyCode: 'AUD',
  value,
  valueInBaseUnits,
})

const account: AccountRef = {
  id: newId<AccountId>(),
  connectionId: newId<ConnectionId>(),
  upstreamId: upstreamId('account-1'),
  name: 'Spending',
  currency: 'AUD',
}

function makeRow(attributes: Readonly<Record<string, unknown>>, of = 'account-1') {
  return {
    id: 'row-1',
    attributes: {
      status: 'SETTLED',
      description: 'Aldi',
      createdAt: '2026-11-20T23:30:00+11:00',
      amount: money('-12.50', -1250),
      ...attributes,
    },
    relationships: {
      account: { data: { type: 'accounts', id: of } },
      transferAccount: { data: null },
      category: { data: null },
    },
  }
}

const none = () => assert.fail('nothing is odd')
const show = (row: ReturnType<typeof makeRow>, zone = 'Australia/Melbourne') =>
  toTransaction(row, { account, zone: getZone(zone) }, none)

test('a row is dated by its making, in the zone of the user, and keeps Up’s own time', () => {
  const row = makeRow({ settledAt: '2026-11-23T04:00:00+11:00' })
  assert.equal(show(row).date, '2026-11-20')
  assert.equal(show(row, 'Pacific/Auckland').date, '2026-11-21')
  assert.equal(show(row).datetime, '2026-11-20T23:30:00+11:00')
})

test('what is held is summed for each account, and only what is held', () => {
  let count = 0
  const held = (value: string, units: number, of: string) => {
    count += 1
    return { ...makeRow({ status: 'HELD', amount: money(value, units) }, of), id: `held-${count}` }
  }
  const holds = sumHolds([
    held('-1.10', -110, 'a'),
    held('-2.20', -220, 'a'),
    held('5.00', 500, 'b'),
    makeRow({}, 'a'),
  ])
  assert.deepEqual(
    [...holds],
    [
      ['a', { amount: '-3.30', currency: 'AUD' }],
      ['b', { amount: '5.00', currency: 'AUD' }],
    ],
  )
})

test('without holds the current balance is the available one; unknown holds leave it null', () => {
  const row = { id: 'account-1', attributes: { balance: money('10.00', 1000) } }
  const read = (holds: Parameters<typeof toBalance>[2]['holds']) =>
    toBalance(row, account, { holds, note: none }).currentBalance
  assert.equal(read(new Map()), '10.00')
  assert.equal(read(null), null)
})

test('a row whose relationships cannot be read is malformed', () => {
  const row = makeRow({})
  const broken = { ...row, relationships: { ...row.relationships, transferAccount: 'none' } }
  assert.throws(() => show(broken as never), /the transferAccount of a row cannot be read/)
})
