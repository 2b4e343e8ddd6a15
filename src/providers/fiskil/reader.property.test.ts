/** Checks that a page whose bytes are scanned has the rows, errors and order of one that is parsed as a whole. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newId, upstreamId } from '#kernel/ids.ts'
import { getZone } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type { AccountRef, RowsQuery, TransactionPage } from '../port.ts'
import { openTransactionPage } from './reader.ts'

const connectionId = newId<RowsQuery['connection']['id']>()
const accounts = ['acc-1', 'acc-2', 'café'].map(
  (id): AccountRef => ({
    id: newId(),
    connectionId,
    upstreamId: upstreamId(id),
    name: id,
    currency: 'AUD',
  }),
)
const query: RowsQuery = {
  login: { id: newId(), upstreamUserId: 'eu_1', secret: null, version: 1 },
  connection: { id: connectionId, upstreamId: upstreamId('arr-1'), status: 'active' },
  accounts,
  scoped: false,
  window: { from: null, to: null },
  zone: getZone('Australia/Sydney'),
}

function open(body: Uint8Array, asked: RowsQuery = query): TransactionPage {
  const base = new URL('https://api.example.test')
  return openTransactionPage({ query: asked, cursor: 'c1', body, base, odd: () => {} })
}

/** What `read` gives, or the failure that it throws. */
function outcome(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    if (error instanceof UpstreamError) return error.failure
    if (error instanceof RangeError) return error.message
    throw error
  }
}

/** Everything that a caller can see of a page. */
function show(page: TransactionPage) {
  const rows = Array.from({ length: page.length }, (_, index) => ({
    head: outcome(() => page.head(index)),
    row: outcome(() => page.map(index)),
    details: outcome(() => page.details(index)),
  }))
  return { length: page.length, next: page.next, ownRows: page.ownRows, rows }
}

const text = fc.constantFrom(
  'arr-1',
  'arr-2',
  'acc-1',
  'café',
  '',
  ' ',
  'PENDING',
  'x"y',
  '\\',
  '\ud800',
)
const junk = fc.oneof(
  text,
  fc.constantFrom(0, 1.5, null, true, [], {}, { primary_category: 'TRAVEL' }),
)
const usual = fc.record(
  {
    fiskil_id: fc.constantFrom('t1', 't2', 'té', 't"3'),
    account_id: fc.constantFrom('acc-1', 'acc-1', 'acc-2', 'café', 'acc-9'),
    arrangement_id: fc.constantFrom('arr-1', 'arr-1', 'arr-1', 'arr-2'),
    status: fc.constantFrom('POSTED', 'POSTED', 'PENDING'),
    posting_date_time: fc.constantFrom(
      '2026-11-19T13:30:00Z',
      '2026-11-19T13:30:00.123456+10:00',
      '2026-11-19',
      'soon',
      '',
    ),
    execution_date_time: fc.constantFrom('2026-11-18T13:30:00Z', null),
    amount: fc.constantFrom('-12.50', '9007199254740993.10', '1e3', 'x'),
    description: fc.string({ unit: 'grapheme', maxLength: 5 }),
  },
  {
    requiredKeys: [
      'fiskil_id',
      'account_id',
      'arrangement_id',
      'status',
      'posting_date_time',
      'amount',
    ],
  },
)
const keys = ['fiskil_id', 'account_id', 'arrangement_id', 'status', 'posting_date_time', 'amount']
const change = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  fc.record({ key: fc.constantFrom(...keys), value: fc.option(junk) }),
)
const rowText = fc
  .tuple(usual, change, fc.boolean(), fc.boolean())
  .map(([row, changed, isTwice, isEscaped]) => {
    const fields = changed === null ? row : { ...row, [changed.key]: changed.value ?? undefined }
    const written = JSON.stringify(fields)
    const twice =
      isTwice && changed !== null ? written.replace(/}$/, `,"${changed.key}":"arr-1"}`) : written
    return isEscaped && changed !== null ? twice.replace('"status"', '"st\\u0061tus"') : twice
  })
const pageText = fc
  .tuple(
    fc.array(rowText, { maxLength: 40 }),
    fc.constantFrom(
      '{}',
      '{"next":"?page[after]=c2"}',
      '{"next":"?page[after]=c1"}',
      '{"next":7}',
      'null',
    ),
  )
  .map(([rows, links]) => `{"transactions":[${rows.join(',')}],"links":${links}}`)

/** A byte order mark is skipped by the decoder, and makes the page one that is parsed as a whole. */
const parsedWhole = (written: Uint8Array) => Buffer.concat([Buffer.from('\ufeff'), written])

test('R23: a scanned page has the rows and the errors of a parsed one', () => {
  fc.assert(
    fc.property(pageText, (written) => {
      const body = Buffer.from(written)
      assert.deepEqual(
        outcome(() => show(open(body))),
        outcome(() => show(open(parsedWhole(body)))),
      )
    }),
    { numRuns: 1500 },
  )
})

test('R23: a page that was cut off or damaged has the error of a parsed one', () => {
  const damage = fc.record({
    at: fc.nat(4000),
    put: fc.constantFrom('', '"', '}', ',', '\u0001', '\\'),
  })
  fc.assert(
    fc.property(pageText, damage, (written, { at, put }) => {
      const body = Buffer.from(written.slice(0, at) + put + written.slice(at + 1))
      assert.deepEqual(
        outcome(() => show(open(body))),
        outcome(() => show(open(parsedWhole(body)))),
      )
    }),
    { numRuns: 1000 },
  )
})

test('what a glance judges, the head of the row judges the same', () => {
  let [judged, asked] = [0, 0]
  fc.assert(
    fc.property(pageText, (written) => {
      const body = Buffer.from(written)
      const page = outcome(() => open(body)) as TransactionPage
      if (page.glance === undefined) return
      const glance = { time: 0, idFrom: 0, idTo: 0 }
      for (let index = 0; index < page.length; index += 1) {
        asked += 1
        const isWanted: boolean | undefined = page.glance(index, glance)
        if (isWanted === undefined) continue
        judged += 1
        const head = page.head(index)
        assert.equal(head !== null, isWanted)
        if (head === null) continue
        assert.equal(head.time, glance.time)
        assert.equal(head.id, body.toString('latin1', glance.idFrom, glance.idTo))
      }
    }),
    { numRuns: 1000 },
  )
  assert(judged > asked / 4, `${judged} of ${asked} rows`)
})

test('R23: a page that is read in full is parsed as a whole, and has the same rows', () => {
  fc.assert(
    fc.property(pageText, (written) => {
      const body = Buffer.from(written)
      const inFull = () => show(open(body, { ...query, isInFull: true }))
      assert.deepEqual(
        outcome(inFull),
        outcome(() => show(open(body))),
      )
    }),
    { numRuns: 300 },
  )
  const page = open(Buffer.from('{"transactions":[{"arrangement_id":"arr-2"}]}'), {
    ...query,
    isInFull: true,
  })
  assert.equal(page.glance?.(0, { time: 0, idFrom: 0, idTo: 0 }), undefined)
})
