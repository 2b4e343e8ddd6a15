/** Rows of a page that have one id. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeTradeQuery } from '#tests/support/trade-query.ts'
import type { AkahuClient } from './akahu/client.ts'
import { makeTransactionReader as makeAkahuReader } from './akahu/reader.ts'
import { openTransactionPage } from './fiskil/reader.ts'
import type { RowPage } from './port.ts'
import { noteRepeatedIds } from './repeated-ids.ts'
import { makeTradeReader } from './snaptrade/reader.ts'
import type { UpClient } from './up/client.ts'
import { makeTransactionReader as makeUpReader } from './up/reader.ts'

const query = makeTradeQuery('UTC')
const notUsed = () => {
  throw new Error('nothing is asked')
}

/** Opens a page of these two rows, each of which has the id `a`. */
const openers: Readonly<
  Record<string, (notes: string[], texts: readonly string[]) => RowPage<unknown>>
> = {
  akahu(notes, texts) {
    const items = texts.map((text) => ({ _id: 'a', _account: 'acc-1', description: text }))
    const reader = makeAkahuReader({ asUser: notUsed } as unknown as AkahuClient, add(notes))
    return reader.open(query, null, toBody({ success: true, items }))
  },
  fiskil(notes, texts) {
    const own = { arrangement_id: 'c-1', account_id: 'acc-1', status: 'POSTED' }
    const transactions = texts.map((text) => ({ ...own, fiskil_id: 'a', description: text }))
    const base = new URL('https://fiskil.example')
    return openTransactionPage({
      query,
      cursor: null,
      body: toBody({ transactions }),
      base,
      odd: add(notes),
    })
  },
  snaptrade(notes, texts) {
    const data = texts.map((text) => ({ id: 'a', description: text }))
    return makeTradeReader({ fetchPage: notUsed, onOddity: add(notes), onRows: notUsed }).open(
      query,
      null,
      toBody({ data }),
    )
  },
  up(notes, texts) {
    const relationships = { account: { data: { id: 'acc-2' } } }
    const data = texts.map((description) => {
      return { id: 'a', attributes: { status: 'SETTLED', description }, relationships }
    })
    const reader = makeUpReader({ get: notUsed } as unknown as UpClient, add(notes))
    return reader.open(query, null, toBody({ data, links: { next: null } }))
  },
}

const add = (notes: string[]) => (what: string) => notes.push(what)
const toBody = (value: unknown) => Buffer.from(JSON.stringify(value))

for (const [provider, open] of Object.entries(openers)) {
  test(`R23: two rows of ${provider} with one id that differ are reported, one that is sent twice is not`, () => {
    const notes: string[] = []
    open(notes, ['coffee', 'coffee']).noteRepeated?.()
    assert.deepEqual(notes, [])
    open(notes, ['coffee', 'tea']).noteRepeated?.()
    assert.deepEqual(notes, ['two rows have one id'])
  })
}

function notesOf(...rows: readonly unknown[]): readonly string[] {
  const notes: string[] = []
  noteRepeatedIds(rows, 'id', (what) => notes.push(what))
  return notes
}

test('R23: rows that have one id and differ are reported once a page; a row that is sent twice is not', () => {
  const row = { id: 'a', amount: '1.5', symbol: { code: 'S' } }
  assert.deepEqual(notesOf(row, { id: 'b' }, structuredClone(row)), [])
  assert.deepEqual(notesOf(row, { ...row, amount: '9' }, { ...row, amount: '8' }), [
    'two rows have one id',
  ])
})
