/**
 * Walks over fifty pages of 860 KB, more than the memory for pages can hold: how many page fetches each
 * window needs, for one reader in one process, and for two readers on two processes that share their pages.
 * Runs in this process over generated pages; the result does not depend on the machine.
 */
import { randomBytes } from 'node:crypto'
import type { CachedAnswer } from '#fast/port.ts'
import { getZone, toMicros } from '#kernel/time.ts'
import type { SharedPlace } from '#paging/place.ts'
import { openWindows, type Windows } from '#paging/windows.ts'
import type { RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import type { Figure } from './figures.ts'

const pageCount = 50
const rowsPerPage = 100
/** Of about 440 bytes. */
const partsPerRow = 20
const limit = 100
const sharedGoal = 1 / 5

export async function measureLargeWalk(): Promise<Figure[]> {
  const reads: number[] = []
  const reader = makeReader(reads)
  const alone = open(null)
  const costs = await walk(reader, reads, [alone])
  alone.close()
  const most = Math.max(...costs.slice(1))
  const readAlone = reads.splice(0).length
  const shared = makeSharedPlace()
  const processes = [1, 2].map(() => open(shared.place))
  await walk(reader, reads, processes, 1)
  await Promise.all([walk(reader, reads, processes), walk(reader, reads, processes.toReversed())])
  for (const one of processes) one.close()
  const rawBytes = pageCount * makeBody(0).byteLength
  const figure = (what: string, pages: number, more = ''): Figure => ({
    bench: 'walk',
    what,
    figure: `${pages}${more}`,
    anchor: `${pageCount} pages there are`,
    ratio: (pages / pageCount).toFixed(2),
    goal: 'each once',
    met: pages === pageCount,
  })
  const over = `${costs.length} windows over ${pageCount} pages of 860 KB`
  return [
    figure(
      `pages fetched for ${over}`,
      readAlone,
      `, ${most} at most for a window after the first`,
    ),
    figure(
      `pages fetched for two readers on two processes, each ${over}, when the first window was read`,
      reads.length,
    ),
    {
      bench: 'walk',
      what: 'bytes of these pages that processes share',
      figure: `${(shared.bytes() / 1e6).toFixed(1)} MB`,
      anchor: `${(rawBytes / 1e6).toFixed(1)} MB as they came`,
      ratio: (shared.bytes() / rawBytes).toFixed(2),
      goal: `≤ ${sharedGoal}`,
      met: shared.bytes() <= sharedGoal * rawBytes,
    },
  ]
}

const open = (shared: SharedPlace | null): Windows =>
  openWindows({ maxBytes: 32 * 1024 * 1024, clock: { now: () => 0 }, shared })

/** Values that are changed by compare-and-set. */
function makeValues(): SharedPlace['snapshots'] {
  const values = new Map<string, { readonly version: string; readonly bytes: Uint8Array }>()
  return {
    load(key, known) {
      const found = values.get(key)
      if (found === undefined) return { kind: 'none' }
      return found.version === known ? { kind: 'same' } : { kind: 'found', ...found }
    },
    save(key, { expected, bytes }) {
      const { version = null } = values.get(key) ?? {}
      if (version !== expected) return { kind: 'conflict' }
      const saved = String(Number(version) + 1)
      values.set(key, { version: saved, bytes })
      return { kind: 'saved', version: saved }
    },
  }
}

/** What processes share, in this one's memory; counts the bytes of pages. */
function makeSharedPlace() {
  const bodies = new Map<string, CachedAnswer>()
  const place: SharedPlace = {
    snapshots: makeValues(),
    anchors: makeValues(),
    bodies: {
      get(key) {
        const answer = bodies.get(key)
        return answer === undefined ? { kind: 'miss' } : { kind: 'hit', answer }
      },
      set(key, answer) {
        bodies.set(key, answer)
        return true
      },
    },
  }
  const bytes = () => [...bodies.values()].reduce((sum, { body }) => sum + body.byteLength, 0)
  return { place, bytes }
}

/** Asks the processes in turn; resolves with the pages that were read for each window. */
async function walk(
  reader: RowReader<RowPage<number>>,
  reads: readonly number[],
  processes: readonly Windows[],
  mostWindows = pageCount,
): Promise<readonly number[]> {
  const query = {
    source: { provider: 'fiskil', reader, queries: [makeQuery()] },
    owner: 'user',
    name: 'walk',
    epoch: 1,
    zoneAndAccounts: '',
    ttlMs: 60_000,
    onListChanged: async () => undefined,
  } as const
  const call = { signal: new AbortController().signal, priority: 'user' } as const
  const costs: number[] = []
  for (let offset = 0; offset < mostWindows * limit; offset += limit) {
    const before = reads.length
    const request = { offset, limit, pageCap: pageCount, confirmEnd: async () => undefined }
    const process = processes[(offset / limit) % processes.length]
    const { rows } = (await process?.read({ ...query, ...request, call })) ?? { rows: [] }
    if (rows[0]?.row !== offset || rows.length !== limit) throw new Error('a row came wrong')
    costs.push(reads.length - before)
  }
  return costs
}

/** Rows as providers write them: names and categories come again, ids, amounts and references do not. */
function makeBody(page: number): Uint8Array {
  const hex = (bytes: number) => randomBytes(bytes).toString('hex')
  const rows = Array.from({ length: rowsPerPage * partsPerRow }, (_, index) => ({
    id: `trans_${hex(10)}`,
    date: new Date(1.7e12 - (page * 10_000 + index) * 60_000).toISOString(),
    description: `${['COUNTDOWN', 'NEW WORLD', 'Z ENERGY'][index % 3]} ${index}`,
    amount: `-${randomBytes(2).readUInt16LE() / 100}`,
    type: 'EFTPOS',
    merchant: { id: `merchant_${hex(8)}`, name: 'Countdown', website: 'https://example.test' },
    category: { id: `category_${index % 40}`, name: 'Supermarkets and grocery stores' },
    meta: { particulars: `P${index}`, code: `C${(index * 7919) % 10_007}`, reference: hex(4) },
    logo: `https://example.test/logos/${index % 60}.png`,
  }))
  return Buffer.from(JSON.stringify(rows))
}

function makeReader(reads: number[]): RowReader<RowPage<number>> {
  const open = (page: number): RowPage<number> => ({
    length: rowsPerPage,
    next: page + 1 < pageCount ? String(page + 1) : null,
    ahead: [],
    total: null,
    ownRows: rowsPerPage,
    body: makeBody(page),
    head: (row) => ({ id: `${page}-${row}`, account, time: toMicros(-page) }),
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
    userId: 'user' as RowsQuery['userId'],
    login: { id: 'login', upstreamUserId: 'user', secret: null, version: 1 } as RowsQuery['login'],
    connection: { id, upstreamId, status: 'active' },
    accounts: [account],
    scoped: true,
    window: { from: null, to: null },
    zone: getZone('UTC'),
  }
}
