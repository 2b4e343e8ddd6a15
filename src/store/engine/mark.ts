/**
 * A number that only grows in a running store. Code that remembers it elsewhere detects a restored backup by
 * a smaller number. It is stored in `meta`, so a backup contains it.
 */
import { sql } from 'kysely'
import type { StoreMark } from '../ports/meta.ts'
import type { Db } from './tables.ts'

const name = 'mark'

export function makeMark(db: Db): StoreMark {
  return {
    async read() {
      const row = await db
        .selectFrom('meta')
        .select('value')
        .where('name', '=', name)
        .executeTakeFirst()
      return row === undefined ? 0 : Number(row.value)
    },
    async advance() {
      await db
        .insertInto('meta')
        .values({ name, value: '1' })
        .onConflict((conflict) =>
          conflict
            .column('name')
            .doUpdateSet({ value: sql`cast(cast(meta.value as bigint) + 1 as text)` }),
        )
        .execute()
    },
  }
}
