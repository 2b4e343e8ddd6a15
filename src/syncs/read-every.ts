/**
 * Reads every row of a query once, for syncs: in the order of windows, but no page is shown later and nothing
 * is shared. The rows of numbered pages are given out when all were read and nothing in them moved, those of
 * several lists when all were read.
 */
import { makeSeed } from '#kernel/fingerprint.ts'
import { readOn, toRowsFailure } from '#paging/read-on.ts'
import { makeSnapshot } from '#paging/snapshot.ts'
import type { AnyPage, RowsQuestion } from '#paging/take-page.ts'
import { mayRepeat } from '#paging/trouble.ts'

export interface PageRow<Page> {
  readonly page: Page
  /** Its place on the page. */
  readonly index: number
  /** Its number among identical fills. */
  readonly copy: number
}

export interface EveryRow<Page extends AnyPage> extends RowsQuestion<Page> {
  /** What is thrown when there are more pages than any provider has. */
  readonly onEndless: () => Error
  readonly take: (rows: readonly PageRow<Page>[]) => Promise<void>
}

/** Pages that wait until all were read: numbered ones, 64,000 trades of the look-back, and several lists. */
const maxHeldPages = 64

/** @throws UpstreamError; whatever `take` throws. */
export async function readEvery<Page extends AnyPage>(every: EveryRow<Page>): Promise<void> {
  for (let again = 0; ; again += 1) {
    try {
      return await readOnce(every)
    } catch (error) {
      if (!mayRepeat(error, again)) throw await toRowsFailure(every, error)
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
    const rows = snapshot.order.slice(given).map(({ page, entry, copy }): PageRow<Page> => {
      const open = pages.get(page.name)
      if (open === undefined) throw new RangeError('the page of a row was given out')
      return { page: open, index: page.places[entry] ?? 0, copy }
    })
    given += rows.length
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
      // The rows of one list have their place at once, those of several only when all were read further.
      if (source.reader.overlap === 0 && source.queries.length === 1) await give()
      else if (pages.size > maxHeldPages) throw onEndless()
    },
  })
  if (!snapshot.isComplete()) throw onEndless()
  await give()
}
