/**
 * Reads every row of a query once, for syncs: in the order of windows, but no page is shown later and nothing is shared.
 * The rows of numbered pages are given out when all were read and nothing in them moved.
 */
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext, RowPage } from '#providers/port.ts'
import { makeSeed } from './fingerprint.ts'
import { maxPages, readOn } from './read-on.ts'
import { makeSnapshot } from './snapshot.ts'
import type { RowSource } from './take-page.ts'
import { RowsMoved } from './trouble.ts'

export interface PageRow<Page> {
  readonly page: Page
  /** Its place on the page. */
  readonly index: number
  /** Its number among identical fills. */
  readonly copy: number
}

export interface EveryRow<Page extends RowPage<unknown>> {
  readonly source: RowSource<Page>
  readonly call: CallContext
  /** Resolves when a doubted end can be trusted (reading R20b). */
  readonly confirmEnd: () => Promise<void>
  /** What is thrown when there are more pages than any provider has. */
  readonly onEndless: () => Error
  readonly take: (rows: readonly PageRow<Page>[]) => Promise<void>
}

/** How often numbered pages are read again because their rows moved. */
const maxAgain = 3
/** Numbered pages that wait until all were read: 64,000 trades of the look-back. */
const maxHeldPages = 64

/** @throws UpstreamError; whatever `take` throws. */
export async function readEvery<Page extends RowPage<unknown>>(
  every: EveryRow<Page>,
): Promise<void> {
  for (let again = 0; ; again += 1) {
    try {
      return await readOnce(every)
    } catch (error) {
      if (!(error instanceof RowsMoved)) throw error
      if (again < maxAgain) continue
      // Pages that stay inconsistent may come from a login that has ended (reading R20b).
      await every.confirmEnd()
      const detail = 'rows moved between the pages while they were read'
      throw new UpstreamError(every.source.provider, { kind: 'malformed', detail }, error)
    }
  }
}

async function readOnce<Page extends RowPage<unknown>>({
  source,
  call,
  confirmEnd,
  onEndless,
  take,
}: EveryRow<Page>): Promise<void> {
  const window = source.queries[0]?.window ?? { from: null, to: null }
  const begun = { generation: '', generationEpoch: 0, generationAt: 0, seed: makeSeed() }
  const snapshot = makeSnapshot({ ...begun, window, firsts: null }, source.queries.length)
  const isNumbered = source.reader.overlap > 0
  const pages = new Map<string, Page>()
  const read = new Set<string>()
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
    await take(rows)
  }
  while (!snapshot.isComplete()) {
    if (read.size >= maxPages || pages.size > maxHeldPages) throw onEndless()
    await readOn({
      source,
      snapshot,
      call,
      offset: snapshot.count(),
      shown: 0,
      pageCap: isNumbered ? null : 1,
      confirmEnd,
      read,
      take: (_list, page, opened) => pages.set(page.name, opened),
    })
    if (!isNumbered) await give()
  }
  await give()
  if (snapshot.lists.every(({ sums }) => sums.ownRows === 0)) await confirmEnd()
}
