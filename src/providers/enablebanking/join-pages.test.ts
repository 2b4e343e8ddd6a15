/** Which rows of a walk's pages are one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinPages } from './join-pages.ts'

const row = (reference: string | null, text = 'Coffee', id: string | null = null) => ({
  entry_reference: reference,
  transaction_id: id,
  remittance_information: [text],
})
const referencesOf = (pages: readonly (readonly ReturnType<typeof row>[])[]) =>
  joinPages(pages).map((one) => (one as ReturnType<typeof row>).entry_reference)

test('rows that later pages repeat with their reference are one, however many pages are between', () => {
  const pages = [
    [row('a'), row('b', 'x', '1')],
    [row('b', 'x', '2'), row('c')],
    [],
    [row('a'), row('c'), row('d')],
  ]
  assert.deepEqual(referencesOf(pages), ['a', 'b', 'c', 'd'])
})

test('rows without a reference, and rows of another content with the same one, stay', () => {
  const pages = [
    [row(null), row(''), row('1', 'x')],
    [row(null), row(''), row('1', 'y')],
  ]
  assert.equal(joinPages(pages).length, 6)
})

test('where a page has one reference twice, references tell no rows apart, and all stay', () => {
  const pages = [[row('a'), row('b')], [row('b')], [row('mandate'), row('mandate')]]
  assert.equal(joinPages(pages).length, 5)
})

test('what is no row stays for whoever reads it', () => {
  assert.deepEqual(
    joinPages([
      [null, 7],
      ['x', { entry_reference: 3 }],
    ]).length,
    4,
  )
})
