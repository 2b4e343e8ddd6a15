/**
 * Reads every row of a query once, for syncs: in the order of windows, but no page is shown later and nothing
 * is shared. The rows of numbered pages are given out when all were read and nothing in them moved.
 */
import type { CallContext } from '#providers/port.ts'
import { makeSeed } from './fingerprint.ts'
import { readOn } from './read-on.ts'
import { makeSnapshot } from './snapshot.ts'
import type { AnyPage, RowSource } from './take-page.ts'
import { kindOf, mostTimes, toMoved } from './trouble.ts'

export interface PageRow<Page> {
  readonly page: Page
  /** Its place on the page. */
  readonly index: number
  /** Its number among identical fills. */
  readonly copy: number
}

export interface EveryRow<Page extends AnyPage> {
  readonly source: RowSource<Page>
  readonly call: CallContext
  /** Resolves when a doubted end can be trusted (reading R20b). */
  readonly confirmEnd: () => Promise<void>
  /** What is thrown when there are more pages than any provider has. */
  readonly onEndless: () => Error
  readonly take: (rows: readonly PageRow<Page>[]) => Promise<void>
}

/** Numbered pages that wait until all were read: 64,000 trades of the look-back. */
const maxHeldPages = 64

/** @throws UpstreamError; whatever `take` throws. */
export async function readEvery<Page extends AnyPage>(every: EveryRow<Page>): Promise<void> {
  for (let again = 0; ; again += 1) {
    try {
      return await readOnce(every)
    } catch (error) {
      if (kindOf(error) !== 'moved') throw error
      if (again === mostTimes.moved)
        throw await toMoved(every.source.provider, every.confirmEnd, error)
    }
  }
}

async function readOnce<Page extends AnyPage>(every: EveryRow<Page>): Promise<void> {
  const { source, onEndless } = every
  const window = source.queries[0]?.window ?? { from: null, to: null }
  const begun = { generation: '', generationEpoch: 0, generationAt: 0, seed: makeSeed() }
  const lists = source.queries.map(() => [])
  const snapshot = makeSnapshot({ ...begun, window, firsts: null }, lists)
  const pages = new Map<string, Page>()
  let given = 0
  async function give(): Promise<void> {
    const rows: PageRow<Page>[] = []
    for (; given < snapshot.count(); given += 1) {
      const { page, entry, copy } = snapshot.locate(given)
      const open = pages.get(page.name)
      if (open === undefined) throw new RangeError(`the page of row ${given} was given out`)
      rows.push({ page: open, index: page.rows[entry] ?? 0, copy })
    }
    pages.clear()
    await every.take(rows)
  }
  const noLimits = { offset: Number.POSITIVE_INFINITY, mayExpire: false, shown: 0, pageCap: null }
  await readOn({
    ...every,
    ...noLimits,
    snapshot,
    async take(page, read) {
      pages.set(page.name, read as Page)
      if (source.reader.overlap === 0) await give()
      else if (pages.size > maxHeldPages) throw onEndless()
    },
  })
  if (!snapshot.isComplete()) throw onEndless()
  await give()
}
