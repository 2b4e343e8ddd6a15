/**
 * Foreign keys and indexes of the new tables, taken away while rows are sent and made again after them:
 * building an index once, and checking the references of a table at once, takes a fraction of the time. What
 * is made again is what was there.
 */
import { sql } from 'kysely'
import type { Db } from '../engine/tables.ts'

interface Part {
  /** The table's name with its schema, quoted. */
  readonly table: string
  readonly name: string
  readonly schema: string
  /** As PostgreSQL writes it. */
  readonly definition: string
}

/** Makes everything again, and so proves the references of all rows; called in the same transaction. */
export type PutBack = () => Promise<void>

/** Primary keys and unique constraints stay. */
export async function setAside(tx: Db, schemas: readonly string[]): Promise<PutBack> {
  const references = await listReferences(tx, schemas)
  const indexes = await listIndexes(tx, schemas)
  for (const { table, name } of references)
    await sql`alter table ${sql.raw(table)} drop constraint ${sql.id(name)}`.execute(tx)
  for (const { schema, name } of indexes) await sql`drop index ${sql.id(schema, name)}`.execute(tx)
  return async () => {
    for (const { definition } of indexes) await sql.raw(definition).execute(tx)
    for (const { table, name, definition } of references)
      await sql`alter table ${sql.raw(table)} add constraint ${sql.id(name)} ${sql.raw(definition)}`.execute(
        tx,
      )
  }
}

async function listReferences(tx: Db, schemas: readonly string[]): Promise<readonly Part[]> {
  const { rows } = await sql<Part>`
    select format('%I.%I', n.nspname, c.relname) as table, n.nspname as schema, f.conname as name,
      pg_get_constraintdef(f.oid) as definition
    from pg_constraint f
    join pg_class c on c.oid = f.conrelid
    join pg_namespace n on n.oid = c.relnamespace
    where f.contype = 'f' and n.nspname in (${sql.join(schemas)})
    order by f.oid
  `.execute(tx)
  return rows
}

/** Lists the indexes, without those of constraints. */
async function listIndexes(tx: Db, schemas: readonly string[]): Promise<readonly Part[]> {
  const { rows } = await sql<Part>`
    select format('%I.%I', n.nspname, t.relname) as table, n.nspname as schema, c.relname as name,
      pg_get_indexdef(i.indexrelid) as definition
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    join pg_class t on t.oid = i.indrelid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in (${sql.join(schemas)})
      and not exists (select 1 from pg_constraint k where k.conindid = i.indexrelid and k.contype <> 'f')
    order by i.indexrelid
  `.execute(tx)
  return rows
}
