/** The bounds of what one run may report, and what it counts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountId } from '#kernel/ids.ts'
import type { LedgerMonth } from '#store/ports/ledgers.ts'
import { SyncError } from './failure.ts'
import { collectNews } from './news.ts'
import type { ReadRow } from './read-rows.ts'

const accountId = '1b4e28ba-2fa1-41d2-883f-0016d3cca427' as AccountId
const key = new Uint8Array(32).fill(3)

const row = (id: string, over: Partial<ReadRow> = {}): ReadRow => ({
  accountId,
  id,
  formerId: null,
  object: { toText: () => `{"id":"${id}"}`, content: id, month: 5, isRounded: false },
  ...over,
})

const open = (
  limits: { readonly rows: number; readonly bytes: number },
  months: readonly LedgerMonth[] = [],
) => collectNews({ key, accountIds: [accountId], months, contentVersion: 1, limits })

test('a run that finds more rows than it may report fails', () => {
  const news = open({ rows: 2, bytes: 1000 })
  news.take(row('a'))
  news.take(row('b'))
  assert.throws(
    () => news.take(row('c')),
    (error) => error instanceof SyncError && error.code === 'too_large',
  )
})

test('a run that finds more bytes than it may hold fails; bytes are counted, not characters', () => {
  const news = open({ rows: 100, bytes: 20 })
  news.take(row('a'))
  assert.throws(() => news.take(row('ääääää')), SyncError)
})

test('known rows are within no bound: nothing of them is held', async () => {
  const first = open({ rows: 3, bytes: 1000 })
  for (const id of ['a', 'b', 'c']) first.take(row(id))
  const second = open({ rows: 0, bytes: 0 }, (await first.close(0)).months)
  for (const id of ['a', 'b', 'c']) second.take(row(id))
  const { read, new: found, updated } = await second.close(0)
  assert.deepEqual([read, found, updated], [3, [], []])
})

test('a row of an account that was not requested is an error, not a new row', () => {
  const others = 'f1d2d2f9-24e9-4ac8-8de5-3f2c5cb1a0f4' as AccountId
  assert.throws(() => open({ rows: 9, bytes: 999 }).take(row('a', { accountId: others })), Error)
})
