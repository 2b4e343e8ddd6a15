/**
 * A walk over fifty pages of 860 KB, more than the memory for pages can hold: how many page fetches each window needs. Runs in this
 * process over generated pages; the result does not depend on the machine.
 */
import { getZone } from '#kernel/time.ts'
import { openWindows } from '#paging/windows.ts'
import type { RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import type { Figure } from './figures.ts'

const pageCount = 50
const rowsPerPage = 100
const pageBytes = 860 * 1024
const limit = 100

export async function measureLargeWalk(): Promise<Figure[]> {
  const reads: number[] = []
  const reader = makeReader(reads)
  const windows = openWindows({
    maxBytes: 32 * 1024 * 1024,
    clock: { now: () => 0 },
    shared: null,
  })
  const query = {
    source: { provider: 'fiskil', reader, queries: [makeQuery()] },
    owner: 'user',
    name: 'walk',
    epoch: 1,
    facts: '',
    ttlMs: 60_000,
    onListChanged: async () => undefined,
  } as const
  const call = { signal: new AbortController().signal, priority: 'user' } as const
  const costs: number[] = []
  for (let offset = 0; offset < pageCount * rowsPerPage; offset += limit) {
    const before = reads.length
    const request = { offset, limit, pageCap: pageCount, confirmEnd: async () => undefined }
    const { rows } = await windows.read(query, request, call)
    if (rows[0]?.row !== offset || rows.length !== limit) throw new Error('a row came wrong')
    costs.push(reads.length - before)
  }
  windows.close()
  const most = Math.max(...costs.slice(1))
  return [
    {
      bench: 'walk',
      what: `pages fetched for ${costs.length} windows over ${pageCount} pages of 860 KB`,
      figure: `${reads.length}, ${most} at most for a window after the first`,
      anchor: `${pageCount} pages there are`,
      ratio: (reads.length / pageCount).toFixed(2),
      goal: 'each once',
      met: reads.length === pageCount,
    },
  ]
}

function makeReader(reads: number[]): RowReader<RowPage<number>> {
  const open = (page: number): RowPage<number> => ({
    length: rowsPerPage,
    next: page + 1 < pageCount ? String(page + 1) : null,
    ahead: [],
    total: null,
    ownRows: rowsPerPage,
    body: new Uint8Array(pageBytes),
    head: (row) => ({ id: `${page}-${row}`, account, time: -page }),
    map: (row) => page * rowsPerPage + row,
  })
  return {
    pageSize: rowsPerPage,
    overlap: 0,
    async read(_query, cursor) {
      reads.push(Number(cursor ?? 0))
      return open(Number(cursor ?? 0))
    },
    open: (_query, cursor) => open(Number(cursor ?? 0)),
  }
}

const account = {
  id: 'account',
  connectionId: 'connection',
  upstreamId: 'account',
  name: 'Account',
  currency: 'AUD',
} as RowsQuery['accounts'][number]

function makeQuery(): RowsQuery {
  const { connectionId: id, upstreamId } = account
  return {
    login: { id: 'login', upstreamUserId: 'user', secret: null, version: 1 } as RowsQuery['login'],
    connection: { id, upstreamId, status: 'active' },
    accounts: [account],
    scoped: true,
    window: { from: null, to: null },
    zone: getZone('UTC'),
  }
}
