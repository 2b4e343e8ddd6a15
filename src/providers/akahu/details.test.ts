/**
 * Checks the fields of an Akahu transaction that only events contain: the source of each, and what is
 * unreadable.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, upstreamId } from '#kernel/ids.ts'
import { UpstreamError } from '../failure.ts'
import type { AccountRef } from '../port.ts'
import { toDetails } from './details.ts'
import type { WireRow } from './map.ts'

const account: AccountRef = {
  id: newId(),
  connectionId: newId(),
  upstreamId: upstreamId('acc_1'),
  name: 'Everyday',
  currency: 'NZD',
}

const full: WireRow = {
  _id: 'trans_2',
  _migrated: 'trans_1',
  date: '2026-11-18T11:00:00.000Z',
  type: 'STANDING ORDER',
  meta: {
    particulars: 'RENT',
    code: '14TUI',
    reference: 'NOV',
    other_account: '12-3456-0001234-00',
  },
}

const details = (fields: WireRow = {}) => toDetails({ ...full, ...fields }, account)

test('every detail comes from its field; the other account is in none', () => {
  const read = details()
  assert.deepEqual(read, {
    currency: 'NZD',
    class: 'standing_order',
    transactionDate: '2026-11-18T11:00:00.000Z',
    postDate: '2026-11-18T11:00:00.000Z',
    reference: 'NOV',
    extendedDescription: 'RENT 14TUI',
    formerId: 'trans_1',
  })
  assert.ok(!JSON.stringify(read).includes('0001234'))
})

test('particulars and code are included unless they are empty', () => {
  const reported = (meta: unknown) => details({ meta }).extendedDescription
  assert.equal(reported({ particulars: 'RENT', code: '' }), 'RENT')
  assert.equal(reported({ code: ' 14TUI ' }), '14TUI')
  assert.equal(reported({ particulars: ' ', code: null }), null)
  assert.equal(reported({}), null)
})

test('absent fields are null, the class other', () => {
  const bare = details({ type: undefined, meta: undefined, _migrated: undefined })
  assert.deepEqual(
    [bare.class, bare.reference, bare.extendedDescription, bare.formerId],
    ['other', null, null, null],
  )
  assert.equal(details({ meta: null }).reference, null)
})

const broken: [field: string, value: unknown][] = [
  ['date', undefined],
  ['date', '2026-11-18'],
  ['type', 4],
  ['meta', 'RENT'],
  ['meta', ['RENT']],
  ['meta', { reference: 17 }],
  ['meta', { particulars: {} }],
  ['_migrated', 1],
]
for (const [field, value] of broken) {
  test(`R23: a sync does not read a row whose ${field} is ${JSON.stringify(value)}`, () => {
    assert.throws(
      () => details({ [field]: value }),
      (error) => error instanceof UpstreamError && error.failure.kind === 'malformed',
    )
  })
}
