/**
 * Pages of the long lists: how many rows, and where the previous page ended. A client that reads only `data`
 * gets the first page; `next` is the cursor of the following page, null at the end.
 */
import { z } from 'zod'
import { parseUuid, type UserId } from '#kernel/ids.ts'

export const maxPageRows = 1000

/**
 * Where a page ended: what its last row is sorted by (an instant or a number), and its id. It needs no row:
 * the last one may be gone when the next page is asked for.
 */
export interface ListPosition {
  readonly order: number
  readonly id: string
}

/** The parameter `limit`: larger values are clamped (reading R11). */
export const pageRows = (fallback: number) => {
  const message = `must be a whole number from 1 to ${maxPageRows}`
  return z
    .string(message)
    .regex(/^\d{1,100}$/, message)
    .transform((text) => Math.min(Number(text), maxPageRows))
    .pipe(z.int(message).min(1, message))
    .default(fallback)
    .meta({ schema: { type: 'integer', minimum: 1, default: fallback } })
}

/** The parameter `cursor`: the value of `next` of the previous page. */
export const pageCursor = z
  .string('must be given only once')
  .transform((text, context): ListPosition => {
    const [, order = '', uuid = ''] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(text) ?? []
    const id = parseUuid<UserId>(uuid)
    if (id !== null) return { order: Number(order), id }
    context.addIssue('is not a valid cursor; use "next" of the previous page')
    return z.NEVER
  })
  .optional()

/** What the table says of the two. */
export const pageFields = (fallback: number) =>
  ({
    limit: { value: 'N', help: `how many, 1 to ${maxPageRows}; ${fallback} when absent` },
    cursor: { value: 'CURSOR', help: '`next` of the previous page' },
  }) as const

/** The first `limit` of `rows`, and the cursor of the next page; the caller has asked for one row more. */
export function toPage<Row, Shown>(
  rows: readonly Row[],
  limit: number,
  show: { readonly row: (row: Row) => Shown; readonly place: (row: Row) => ListPosition },
): { readonly data: readonly Shown[]; readonly next: string | null } {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const place = rows.length > limit && last !== undefined ? show.place(last) : null
  return {
    data: shown.map(show.row),
    next: place === null ? null : `${place.order}.${place.id}`,
  }
}
