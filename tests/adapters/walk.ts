/** What the tests of every adapter do with its pages and its failures. */
import assert from 'node:assert/strict'
import type { Transaction } from '#contract/resources.ts'
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import type {
  BankingAdapter,
  CallContext,
  PageCursor,
  RowsQuery,
  TransactionPage,
} from '#providers/port.ts'

export const call: CallContext = { signal: new AbortController().signal, priority: 'user' }
export const background: CallContext = { ...call, priority: 'background' }
const maxPages = 200

/**
 * Every page, and the rows of the window as the resource would take them. A page that is opened again has
 * the same ones.
 */
export async function walk(
  { transactions }: BankingAdapter,
  query: RowsQuery,
  as: CallContext = call,
): Promise<{ readonly pages: TransactionPage[]; readonly rows: Transaction[] }> {
  const pages: TransactionPage[] = []
  const rows: Transaction[] = []
  let cursor: PageCursor | null = null
  do {
    assert.ok(pages.length < maxPages, 'the walk comes to an end')
    const page: TransactionPage = await transactions.read(query, cursor, as)
    const again = transactions.open(query, cursor, page.body)
    assert.equal(again.length, page.length)
    const own = rowsOf(page, query)
    assert.deepEqual(rowsOf(again, query), own)
    pages.push(page)
    rows.push(...own)
    cursor = page.next
  } while (cursor !== null)
  return { pages, rows }
}

export function rowsOf(page: TransactionPage, { window }: RowsQuery): Transaction[] {
  const rows: Transaction[] = []
  for (let index = 0; index < page.length; index += 1) {
    const head = page.head(index)
    if (head === null) continue
    if (window.from !== null && head.time < window.from) continue
    if (window.to !== null && head.time > window.to) continue
    rows.push(page.map(index))
  }
  return rows
}

/** The failure with which a call ends; fails when it succeeds or ends otherwise. */
export async function failureOf(work: Promise<unknown>): Promise<UpstreamFailure> {
  const error = await work.then(
    () => assert.fail('the call succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof UpstreamError, String(error))
  return error.failure
}
