/**
 * Finds values that no version of this service writes: a time that is none, a word that is not in its list.
 * They are read as others (`sqlite-codec.ts`, `known-words.ts`), and only here as what they are.
 */
import { sql } from 'kysely'
import type { Engine } from '../engine/engine.ts'
import { knownWords } from '../engine/known-words.ts'
import type { DamagedColumn } from '../ports/inspector.ts'

/** These grow with every delivery: looking through them would hold everything else up. */
const tooLong = ['attempts', 'deliveries', 'events']

export async function listDamaged(engine: Engine): Promise<readonly DamagedColumn[]> {
  const times = engine.kind === 'sqlite' ? await listTimes(engine) : []
  const found = [...(await listWords(engine)), ...times]
  return found.filter(({ count }) => count > 0)
}

async function listWords({ db }: Engine): Promise<DamagedColumn[]> {
  const found: DamagedColumn[] = []
  for (const [table, columns] of Object.entries(knownWords)) {
    for (const [column, words] of Object.entries<readonly string[]>(columns)) {
      const known = sql.join(words.map((word) => sql.lit(word)))
      const { rows } = await sql<{ count: number | string; first: string | null }>`
        select count(*) as count, min(cast(id as text)) as first
        from ${sql.table(table)} where ${sql.ref(column)} not in (${known})`.execute(db)
      found.push(...toColumns({ table, column, key: 'id' }, rows))
    }
  }
  return found
}

async function listTimes({ db }: Engine): Promise<DamagedColumn[]> {
  const { rows: columns } = await sql<{ table: string; column: string }>`
    select t.name as "table", c.name as "column"
    from sqlite_master as t, pragma_table_info(t.name) as c
    where t.type = 'table' and c.type = 'timestamptz' and t.name not in (${sql.join(tooLong)})
    order by t.name, c.cid`.execute(db)
  const found: DamagedColumn[] = []
  for (const { table, column } of columns) {
    const name = sql.ref(column)
    const { rows } = await sql<{ count: number | string; first: number | null }>`
      select count(*) as count, min(rowid) as first from ${sql.table(table)}
      where ${name} is not null and (julianday(${name}) is null or ${name} not glob '????-??-??T*')`.execute(
      db,
    )
    found.push(...toColumns({ table, column, key: 'rowid' }, rows))
  }
  return found
}

const toColumns = (
  place: Omit<DamagedColumn, 'count' | 'first'>,
  rows: readonly { readonly count: number | string; readonly first: string | number | null }[],
) => rows.map(({ count, first }) => ({ ...place, count: Number(count), first: String(first) }))
