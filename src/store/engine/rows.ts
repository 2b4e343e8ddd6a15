/** What the statements of all repositories share: one row or none, and how many rows there are. */
import type { DeleteResult, SelectQueryBuilder, UpdateResult } from 'kysely'

/** The first row; null when there is none. */
export async function findFirst<Row>(query: {
  executeTakeFirst(): Promise<Row | undefined>
}): Promise<Row | null> {
  return (await query.executeTakeFirst()) ?? null
}

/** PostgreSQL counts in int8, which `pg` returns as text. */
export async function countRows<Db, Table extends keyof Db, Row>(
  query: SelectQueryBuilder<Db, Table, Row>,
): Promise<number> {
  const counted = query.clearSelect().select(({ fn }) => fn.countAll().as('count'))
  const { count } = await counted.$castTo<{ count: string | number }>().executeTakeFirstOrThrow()
  return Number(count)
}

interface Change {
  executeTakeFirstOrThrow(): Promise<UpdateResult | DeleteResult>
}

/** How many rows the statement updated or deleted. */
export async function countChanged(change: Change): Promise<number> {
  const result = await change.executeTakeFirstOrThrow()
  return Number('numDeletedRows' in result ? result.numDeletedRows : result.numUpdatedRows)
}

/** Whether the statement updated or deleted a row. */
export async function hasChanged(change: Change): Promise<boolean> {
  return (await countChanged(change)) > 0
}
