/** Maps the rows of a window. Of the pages that are held it opens those that the window shows, and no others. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RowPage } from '#providers/port.ts'
import { type HeldSnapshot, unpack } from './hold.ts'
import type { SnapshotPage } from './snapshot.ts'
import type { RowSource } from './take-page.ts'
import { SnapshotGone } from './trouble.ts'

/** The type of the rows on a page. */
export type RowOf<Page extends RowPage<unknown>> = ReturnType<Page['map']>

export interface ShownRow<Row> {
  readonly row: Row
  /** 1 for the first of identical fills, 2, 3 … for later ones. */
  readonly copy: number
}

/** After this many rows other work of the event loop has its turn. */
const rowsPerTurn = 250

export interface Opening<Page extends RowPage<unknown>> {
  readonly source: RowSource<Page>
  readonly held: HeldSnapshot
  /** Pages that this request has read, by name. */
  readonly opened: Map<string, Page>
  /** The body of a page that this process does not hold; null: it is gone. */
  readonly loadBody: (name: string) => Promise<Uint8Array | null>
}

/** @throws SnapshotGone where a page is not held any more; UpstreamError `malformed` for a row (reading R23). */
export async function showRows<Page extends RowPage<unknown>>(
  opening: Opening<Page>,
  { offset, end }: { readonly offset: number; readonly end: number },
): Promise<ShownRow<RowOf<Page>>[]> {
  const { held, opened } = opening
  const rows: ShownRow<RowOf<Page>>[] = []
  for (let position = offset; position < end; position += 1) {
    if (rows.length % rowsPerTurn === 0) await nextTurn()
    const { list, page, entry, copy } = held.snapshot.locate(position)
    const open = opened.get(page.name) ?? (await openPage(opening, list, page))
    const row = open.map(page.rows[entry] ?? 0) as RowOf<Page>
    rows.push({ row, copy })
  }
  return rows
}

async function openPage<Page extends RowPage<unknown>>(
  { source, held, opened, loadBody }: Opening<Page>,
  list: number,
  { name, cursor }: SnapshotPage,
): Promise<Page> {
  const body = held.bodies.get(name) ?? (await loadBody(name))
  const query = source.queries[list]
  if (body === null || query === undefined) throw new SnapshotGone('a body is gone')
  held.bodies.set(name, body)
  const { window } = held.snapshot.facts
  const page = source.reader.open({ ...query, window }, cursor, await unpack(body))
  opened.set(name, page)
  return page
}
