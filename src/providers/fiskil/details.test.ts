/**
 * Checks the fields of a Fiskil transaction that only events contain: the source of each, and what is
 * unreadable.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, upstreamId } from '#kernel/ids.ts'
import { UpstreamError } from '../failure.ts'
import type { AccountRef } from '../port.ts'
import { toDetails } from './details.ts'

const account: AccountRef = {
  id: newId(),
  connectionId: newId(),
  upstreamId: upstreamId('acc-1'),
  name: 'Travel card',
  currency: 'USD',
}

const full = {
  currency: 'AUD',
  type: 'TRANSFER_OUTGOING',
  posting_date_time: '2026-11-19T13:30:00Z',
  execution_date_time: '2026-11-18T16:05:09.125+10:00',
  value_date_time: '2026-11-17T01:00:00Z',
  reference: 'RENT 4/17',
  crn: '4400817263',
  extended_data: {
    extension_u_type: 'nppPayload',
    npp_payload: { extended_description: 'Rent unit 4' },
  },
}

/** The row with some fields set; undefined removes a field. */
const details = (fields: Record<string, unknown> = {}) =>
  toDetails({ ...full, ...fields }, 3, account)

test('every detail comes from its field, times as sent', () => {
  assert.deepEqual(details(), {
    currency: 'AUD',
    class: 'transfer_outgoing',
    transactionDate: '2026-11-18T16:05:09.125+10:00',
    postDate: '2026-11-19T13:30:00Z',
    reference: 'RENT 4/17',
    extendedDescription: 'Rent unit 4',
    formerId: null,
  })
})

test('a missing time is taken from the other time, from the value time last', () => {
  const [executed, posted] = [full.execution_date_time, full.posting_date_time]
  const times = (fields: Record<string, unknown>) => {
    const { transactionDate, postDate } = details(fields)
    return [transactionDate, postDate]
  }
  assert.deepEqual(times({ posting_date_time: undefined }), [executed, executed])
  assert.deepEqual(times({ execution_date_time: null }), [posted, posted])
  const value = full.value_date_time
  const neither = { posting_date_time: '', execution_date_time: undefined }
  assert.deepEqual(times(neither), [value, value])
  assert.deepEqual(times({ posting_date_time: '2026-11-19' }), [executed, '2026-11-19'])
})

test('absent fields: the currency of the account, the class other, the CRN as reference, else null', () => {
  const bare = details({
    currency: undefined,
    type: null,
    reference: ' ',
    crn: undefined,
    extended_data: null,
  })
  assert.deepEqual(
    [bare.currency, bare.class, bare.reference, bare.extendedDescription],
    ['USD', 'other', null, null],
  )
  assert.equal(details({ reference: '' }).reference, '4400817263')
  assert.equal(details({ extended_data: {} }).extendedDescription, null)
  const former = { x2p101_payload: { extended_description: 'As version 1 names it' } }
  assert.equal(details({ extended_data: former }).extendedDescription, 'As version 1 names it')
})

const broken: [field: string, value: unknown][] = [
  ['currency', 'dollars'],
  ['currency', 36],
  ['type', 4],
  ['posting_date_time', 'yesterday'],
  ['posting_date_time', 1_763_559_000],
  ['execution_date_time', '2026-11-31T00:00:00Z'],
  ['reference', 17],
  ['crn', {}],
  ['extended_data', 'Rent'],
  ['extended_data', { npp_payload: ['Rent'] }],
  ['extended_data', { npp_payload: { extended_description: 4 } }],
]
for (const [field, value] of broken) {
  test(`R23: a sync does not read a row whose ${field} is ${JSON.stringify(value)}`, () => {
    const fields = field === 'crn' ? { reference: '', crn: value } : { [field]: value }
    assert.throws(
      () => details(fields),
      (error) => error instanceof UpstreamError && error.failure.kind === 'malformed',
    )
  })
}

test('R23: a sync does not read a row without any time', () => {
  const none = { posting_date_time: null, execution_date_time: null, value_date_time: null }
  assert.throws(() => details(none), /posting_date_time cannot be read/)
})
