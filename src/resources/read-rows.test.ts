/**
 * Windows over more pages than memory holds as they came: each is right, forwards and backwards, each page
 * read once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '#auth/caller.ts'
import { listTransactions } from '#contract/operations.ts'
import { type AccountId, newId } from '#kernel/ids.ts'
import { getZone, toMicros } from '#kernel/time.ts'
import { openWindows } from '#paging/windows.ts'
import type { RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import type { ReadContext, ReadOptions } from './read-context.ts'
import { type RowsRequest, readRows } from './read-rows.ts'
import type { Target } from './target.ts'

const pageBytes = 1024 * 1024
/** Contract, Limits: pages read when no account is named. */
const pageCap = 50

/** A provider with pages of 1 MB each, more than may be held together. */
function makeWorld(pageCount: number, rowsPerPage: number) {
  const reads: number[] = []
  const page = (number: number): RowPage<string> => ({
    length: rowsPerPage,
    next: number + 1 < pageCount ? (String(number + 1) as RowPage<string>['next']) : null,
    ahead: [],
    total: null,
    ownRows: rowsPerPage,
    body: new Uint8Array(pageBytes),
    head: (row) => ({ id: `${number}-${row}`, account: {} as never, time: toMicros(-number) }),
    map: (row) => `${number}-${row}`,
  })
  const reader: RowReader<RowPage<string>> = {
    pageSize: rowsPerPage,
    overlap: 0,
    async read(_query, cursor) {
      reads.push(Number(cursor ?? 0))
      return page(Number(cursor ?? 0))
    },
    open: (_query, cursor) => page(Number(cursor ?? 0)),
  }
  const windows = openWindows({
    maxBytes: 32 * 1024 * 1024,
    clock: { now: () => 0 },
    shared: null,
  })
  const signal = new AbortController().signal
  const options = {
    windows,
    adapters: {},
    clock: { now: () => 0 },
    guard: {
      run: (_target: unknown, _signal: unknown, read: (call: unknown) => unknown) =>
        read({ signal }),
    },
  } as unknown as ReadOptions
  const context: ReadContext = { caller: { userId: 'u', epoch: 1 } as Caller, signal }
  const target = {
    provider: 'fiskil',
    login: { id: 'l' },
    connection: { id: 'c', status: 'active' },
    accounts: [{ id: newId<AccountId>(), upstreamId: 'a', name: 'A', currency: 'AUD' }],
  } as unknown as Target
  const query = { window: { from: null, to: null }, zone: getZone('UTC') } as unknown as RowsQuery
  const window = async (offset: number, limit: number) => {
    const request: RowsRequest<RowPage<string>> = {
      operation: listTransactions,
      identity: [],
      offset,
      limit,
      pageCap: () => pageCap,
      breaker: false,
      find: async () => target,
      toSource: () => ({ provider: 'fiskil', reader, queries: [query] }),
      confirmEmpty: async () => undefined,
    }
    const { body } = await readRows({ options, context }, request, (row) => row)
    return body
  }
  return { window, reads, close: () => windows.close() }
}

test('R17: far beyond the page cap and the memory of pages every row is reached, each page read once', async () => {
  const [pageCount, rowsPerPage] = [60, 1000]
  const { window, reads, close } = makeWorld(pageCount, rowsPerPage)
  const seen: string[] = []
  for (let round = 0; round < 200; round += 1) {
    const { data, pagination } = await window(seen.length, 500)
    seen.push(...data)
    if (!pagination.hasMore) break
  }
  assert.equal(new Set(seen).size, pageCount * rowsPerPage)
  assert.equal(seen.length, pageCount * rowsPerPage)
  assert.equal(reads.length, pageCount)

  // Back to the start, and then on from the last position.
  assert.deepEqual((await window(0, 3)).data, ['0-0', '0-1', '0-2'])
  const before = reads.length
  assert.deepEqual((await window(59_998, 2)).data, ['59-998', '59-999'])
  assert.equal(reads.length, before, 'the one who went back holds nobody up')
  close()
})

test('R19: fifty large pages, all read for the first window, cost the later ones none', async () => {
  const { window, reads, close } = makeWorld(50, 100)
  const seen: string[] = []
  const costs: number[] = []
  for (let offset = 0; offset < 5000; offset += 100) {
    const before = reads.length
    const { data } = await window(offset, 100)
    seen.push(...data)
    costs.push(reads.length - before)
  }
  assert.equal(new Set(seen).size, 5000)
  assert.equal(costs[0], 50)
  assert.equal(reads.length, 50)
  close()
})

test('R17, R18: two readers over more than memory holds both go on, and each sees every row once', async () => {
  const { window, reads, close } = makeWorld(50, 100)
  const readers = [
    { seen: [] as string[], limit: 100 },
    { seen: [] as string[], limit: 70 },
  ]
  while (readers.some(({ seen }) => seen.length < 5000)) {
    for (const reader of readers.filter(({ seen }) => seen.length < 5000)) {
      const { data, pagination } = await window(reader.seen.length, reader.limit)
      assert(data.length > 0, 'a page that says there is more has rows')
      assert.equal(pagination.hasMore, reader.seen.length + data.length < 5000)
      reader.seen.push(...data)
    }
  }
  for (const { seen } of readers) assert.equal(new Set(seen).size, 5000)
  assert.equal(reads.length, 50)
  close()
})
