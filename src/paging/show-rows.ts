/**
 * Maps the rows of a window. Of the pages that are held it opens those that the window shows, and no others.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type HeldSnapshot, unpack } from './hold.ts'
import { type AnyPage, listQuery, type RowSource } from './take-page.ts'
import { Trouble } from './trouble.ts'

/** The type of the rows on a page. */
export type RowOf<Page extends AnyPage> = ReturnType<Page['map']>

export interface ShownRow<Row> {
  readonly row: Row
  /** 1 for the first of identical fills, 2, 3 … for later ones. */
  readonly copy: number
}

/** After this many rows other work of the event loop has its turn. */
const rowsPerTurn = 250

/**
 * @param opened Pages that this request has read, by name.
 * @param loadBody Loads the body of a page that this process does not hold; null: it is gone.
 * @throws Trouble `gone` where a page is not held any more; UpstreamError `malformed` for a row (reading
 *   R23).
 */
export async function showRows(
  { reader, queries }: RowSource,
  held: HeldSnapshot,
  given: {
    readonly opened: Map<string, AnyPage>
    readonly loadBody: (name: string) => Promise<Uint8Array | null>
    readonly offset: number
    readonly end: number
  },
): Promise<ShownRow<unknown>[]> {
  const { opened, loadBody, offset, end } = given
  const { snapshot, bodies } = held
  const rows: ShownRow<unknown>[] = []
  for (let position = offset; position < end; position += 1) {
    if (rows.length % rowsPerTurn === 0) await nextTurn()
    const { list, page, entry, copy } = snapshot.locate(position)
    let open = opened.get(page.name)
    if (open === undefined) {
      const body = bodies.get(page.name) ?? (await loadBody(page.name))
      if (body === null) throw new Trouble('gone', 'the body of a page is gone')
      bodies.set(page.name, body)
      const query = listQuery({ queries }, snapshot, list)
      open = reader.open(query, page.cursor, await unpack(body))
      opened.set(page.name, open)
    }
    rows.push({ row: open.map(page.rows[entry] ?? 0), copy })
  }
  return rows
}
