/** One query over the provider of `paged.ts`, and processes that answer its windows. */
import type { SharedPlace } from '#paging/place.ts'
import type { RowSource } from '#paging/take-page.ts'
import { openWindows, type Window, type Windows } from '#paging/windows.ts'
import type { RowPage } from '#providers/port.ts'
import { aCall, type PagedRow, type PagedWorld } from './paged.ts'

export const ttlMs = 1_800_000

export interface QueryStage {
  now: number
  epoch: number
  zoneAndAccounts: string
  /** How often a doubted end was to be confirmed; set `confirm` to answer. */
  doubts: number
  /** The accounts of each doubt. */
  readonly doubted: string[]
  confirm: () => Promise<void>
  /** Awaited before a list that has changed gets a new epoch. */
  outdate: () => Promise<void>
  readonly pageCap: number | null
  /** Makes a process. */
  open(options?: { readonly shared?: SharedPlace; readonly maxBytes?: number }): Windows
  /** The ids of a window. */
  ids(process: Windows, offset: number, limit: number): Promise<string[]>
  window(process: Windows, offset: number, limit: number): Promise<Window<PagedRow>>
}

export function makeStage(
  world: PagedWorld,
  options: { readonly pageCap?: number; readonly isNumbered?: boolean } = {},
): QueryStage {
  const keyOf = (page: RowPage<PagedRow>, index: number) => page.map(index).id.split(' ')[0] ?? ''
  const source: RowSource<RowPage<PagedRow>> = {
    provider: 'fiskil',
    reader: world.reader,
    queries: world.queries,
    ...(options.isNumbered === true ? { keyOf } : {}),
  }
  const stage: QueryStage = {
    now: 1_000_000,
    epoch: 1,
    zoneAndAccounts: '',
    doubts: 0,
    doubted: [],
    confirm: async () => undefined,
    outdate: async () => undefined,
    pageCap: options.pageCap ?? null,
    open: ({ shared, maxBytes = 1e6 } = {}) =>
      openWindows({ maxBytes, clock: { now: () => stage.now }, shared: shared ?? null }),
    window: (process, offset, limit) =>
      process.read({
        source,
        owner: 'u',
        name: 'q',
        epoch: stage.epoch,
        zoneAndAccounts: stage.zoneAndAccounts,
        ttlMs,
        offset,
        limit,
        pageCap: stage.pageCap,
        call: aCall(),
        confirmEnd(accounts) {
          stage.doubts += 1
          stage.doubted.push(accounts?.map(({ id }) => id).join() ?? 'all')
          return stage.confirm()
        },
        onListChanged: async () => {
          await stage.outdate()
          stage.epoch += 1
        },
      }),
    async ids(process, offset, limit) {
      const { rows } = await stage.window(process, offset, limit)
      return rows.map(({ row }) => row.id)
    },
  }
  return stage
}

/** Rows `prefix 0`, `prefix 1` …, newest first. */
export const makeRows = (count: number, prefix = 'r', newest = 0): PagedRow[] =>
  Array.from({ length: count }, (_row, index) => ({
    id: `${prefix} ${index}`,
    time: newest - index,
    foreign: false,
  }))

/** What a snapshot of this generation begins with, where nothing else matters. */
export const toFacts = (generation: string, generationAt: number) => ({
  generation,
  generationEpoch: 1,
  generationAt,
  seed: 1,
  window: { from: null, to: null },
  firsts: null,
})
