/** Which rows of a walk's pages are one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinPages } from './join-pages.ts'

const row = (reference: string | null, text = 'Coffee', id: string | null = null) => ({
  entry_reference: reference,
  transaction_id: id,
  remittance_information: [text],
})
const referencesOf = async (pages: readonly (readonly ReturnType<typeof row>[])[]) =>
  (await joinPages(pages)).map((one) => (one as ReturnType<typeof row>).entry_reference)

test('rows that later pages repeat with their reference are one, however many pages are between', async () => {
  const pages = [
    [row('a'), row('b', 'x', '1')],
    [row('b', 'x', '2'), row('c')],
    [],
    [row('a'), row('c'), row('d')],
  ]
  assert.deepEqual(await referencesOf(pages), ['a', 'b', 'c', 'd'])
})

test('rows without a reference, and rows of another content with the same one, stay', async () => {
  const pages = [
    [row(null), row(''), row('1', 'x')],
    [row(null), row(''), row('1', 'y')],
  ]
  assert.equal((await joinPages(pages)).length, 6)
})

const pending = {
  ...row('b'),
  status: 'PDNG',
  booking_date: null,
  transaction_date: '2026-11-20',
}
const booked = { ...pending, status: 'BOOK', booking_date: '2026-11-21', note: 'card' }

test('a pending row that a later page repeats as booked is one row, the booked one, and the others are still joined', async () => {
  for (const status of ['PDNG', 'HOLD']) {
    const rows = await joinPages([
      [row('a'), { ...pending, status }],
      [{ ...booked, transaction_id: 'new' }, row('a'), row('c')],
    ])
    assert.deepEqual(rows, [row('a'), { ...booked, transaction_id: 'new' }, row('c')])
  }
})

test('a booked row of another day or amount, or without a shared day, is not the pending row of its reference', async () => {
  const others = [
    [pending, { ...booked, transaction_date: '2026-10-20' }],
    [pending, { ...booked, remittance_information: ['Tea'] }],
    [{ ...pending, transaction_date: null }, booked],
    [booked, pending],
    [{ ...booked, note: 'first' }, booked],
  ]
  for (const [earlier, later] of others) {
    const pages = [
      [row('a'), earlier],
      [row('a'), later],
    ]
    assert.equal((await joinPages(pages)).length, 4)
  }
})

test('where a page has one reference twice, references tell no rows apart, and all stay', async () => {
  const pages = [[row('a'), row('b')], [row('b')], [row('mandate'), row('mandate')]]
  assert.equal((await joinPages(pages)).length, 5)
})

test('where rows that differ have one reference, equal payments at the end of a page are all kept', async () => {
  const pages = [[row('a'), row('metro')], [row('metro')], [row('metro', 'Another day')]]
  assert.equal((await joinPages(pages)).length, 4)
})

test('what is no row stays for whoever reads it', async () => {
  assert.deepEqual(
    (
      await joinPages([
        [null, 7],
        ['x', { entry_reference: 3 }],
      ])
    ).length,
    4,
  )
})

test('references that every page repeats cost two looks at each row, and other work goes on', async () => {
  let looks = 0
  const numbered = (place: number) => ({
    entry_reference: String(place),
    get note() {
      looks += 1
      return place
    },
  })
  const pages = Array.from({ length: 400 }, () =>
    Array.from({ length: 5 }, (_, place) => numbered(place)),
  )
  let turns = 0
  setImmediate(() => (turns += 1))
  const rows = await joinPages(pages)
  assert.equal(rows.length, 5)
  assert.equal(looks, 2 * 1995)
  assert.equal(turns, 1)
})
