/** Windows of a walk that is larger than its room: each is right, forwards and backwards, and the walk is kept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '#auth/caller.ts'
import { getZone } from '#kernel/time.ts'
import type { RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import { type RowsRequest, readRows } from './read-rows.ts'
import type { ReadContext, ReadDeps } from './reading.ts'
import type { Target } from './target.ts'
import { makeWalk } from './walk.ts'
import { openWalks } from './walks.ts'

const pageCount = 60
const rowsPerPage = 1000
const pageBytes = 1024 * 1024
/** Specification: pages read when no account is named. */
const pageCap = 50

/** A provider with sixty pages of 1 MB each, more than the walks may hold together. */
function makeWorld() {
  const reads: number[] = []
  const page = (number: number): RowPage<string> => ({
    length: rowsPerPage,
    next: number + 1 < pageCount ? (String(number + 1) as RowPage<string>['next']) : null,
    ahead: [],
    ownRows: rowsPerPage,
    body: new Uint8Array(pageBytes),
    head: (row) => ({ id: `${number}-${row}`, account: {} as never, time: -number }),
    map: (row) => `${number}-${row}`,
  })
  const reader: RowReader<RowPage<string>> = {
    pageSize: rowsPerPage,
    async read(_query, cursor) {
      reads.push(Number(cursor ?? 0))
      return page(Number(cursor ?? 0))
    },
    open: (_query, cursor) => page(Number(cursor ?? 0)),
  }
  const walks = openWalks({ maxBytes: 32 * 1024 * 1024, clock: { now: () => 0 } })
  const signal = new AbortController().signal
  const deps = {
    walks,
    clock: { now: () => 0 },
    guard: {
      run: (_target: unknown, _signal: unknown, read: (call: unknown) => unknown) =>
        read({ signal }),
    },
  } as unknown as ReadDeps
  const context: ReadContext = { caller: { userId: 'u', epoch: 1 } as Caller, signal }
  const target = {
    provider: 'fiskil',
    login: { id: 'l' },
    connection: { id: 'c', status: 'active' },
    accounts: [],
  } as unknown as Target
  const query = { window: { from: null, to: null }, zone: getZone('UTC') } as unknown as RowsQuery
  const window = async (offset: number, limit: number) => {
    const request: RowsRequest<string> = {
      operation: 'list_transactions',
      cacheSeconds: 1800,
      identity: [],
      offset,
      limit,
      pageCap: () => pageCap,
      breaker: false,
      totalWhileMore: true,
      find: async () => target,
      startWalk: () => makeWalk({ provider: 'fiskil', reader, queries: [query] }),
      confirmEmpty: async () => undefined,
    }
    const { body } = await readRows({ deps, context }, request, (row) => row)
    return body
  }
  return { window, reads, close: () => walks.close() }
}

test('R17: far beyond the page cap and the room of walks every row is reached, each page read once', async () => {
  const { window, reads, close } = makeWorld()
  const seen: string[] = []
  for (let round = 0; round < 200; round += 1) {
    const { data, pagination } = await window(seen.length, 500)
    seen.push(...data)
    if (!pagination.hasMore) break
  }
  assert.equal(new Set(seen).size, pageCount * rowsPerPage)
  assert.equal(seen.length, pageCount * rowsPerPage)
  assert.equal(reads.length, pageCount)

  // Back to the beginning, whose pages are not held any more, and on where it was.
  assert.deepEqual((await window(0, 3)).data, ['0-0', '0-1', '0-2'])
  const before = reads.length
  assert.deepEqual((await window(59_998, 2)).data, ['59-998', '59-999'])
  assert.equal(reads.length, before, 'the one who went back holds nobody up')
  close()
})
