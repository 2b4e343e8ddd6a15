/**
 * The mark of a database into which a store is being copied, or into which a copy began and did not end. It
 * stands in the list of applied migrations, so that every version of the service refuses to open such a
 * database; the transaction that ends a verified copy removes it.
 */
import { sql } from 'kysely'
import { StoreOpenError } from '../failure.ts'
import type { Db } from './tables.ts'

// Migrations are numbered from 1.
const number = 0
const name = 'unfinished copy of another store'

/** @param source tells stores apart, see `CopySource.fingerprint`. */
export async function markUnfinished(tx: Db, source: string): Promise<void> {
  await tx.insertInto('schema_migrations').values({ number, name, checksum: source }).execute()
}

export async function removeMark(tx: Db): Promise<void> {
  await tx.deleteFrom('schema_migrations').where('number', '=', number).execute()
}

export function isUnfinishedCopy(row: { readonly number: number }): boolean {
  return row.number === number
}

/**
 * Refuses before the lock of the schema is asked for, which a running copy holds until its end. Of PostgreSQL
 * alone: the embedded store is never copied to.
 * @throws StoreOpenError `unfinished_copy`.
 */
export async function refuseUnfinished(db: Db): Promise<void> {
  const { rows } = await sql<{ there: boolean }>`
    select to_regclass(quote_ident(current_schema()) || '.schema_migrations') is not null as there
  `.execute(db)
  if (rows[0]?.there !== true) return
  const found = await db
    .selectFrom('schema_migrations')
    .select('number')
    .where('number', '=', number)
    .executeTakeFirst()
  if (found !== undefined) throw unfinishedCopy()
}

export function unfinishedCopy(): StoreOpenError {
  return new StoreOpenError(
    'unfinished_copy',
    'the copy of a store into this database has not finished: wait for `tributary store copy`, or run it again; then start',
  )
}
