/** Calls to providers that limit a day (table `provider_calls`). */
import { newTimedId, type ProviderCallId } from '#kernel/ids.ts'
import type { RepositoryOptions } from '../engine/engine.ts'
import { countChanged } from '../engine/rows.ts'
import { type Db, isAfter, isBefore, moment } from '../engine/tables.ts'
import type { ProviderCallStore } from '../ports/provider-calls.ts'

/** Calls on either engine. */
export function makeProviderCallStore({ engine, write }: RepositoryOptions): ProviderCallStore {
  const { db } = engine
  return {
    list: (name, span) => list(db, name, span),
    count: (name, span) =>
      write(async (tx) => {
        await engine.lock(tx, `provider-calls ${name}`)
        const before = await list(tx, name, span)
        if (before.length < span.limit) {
          const row = { id: newTimedId<ProviderCallId>(), name, at: moment(span.until) }
          await tx.insertInto('provider_calls').values(row).execute()
        }
        return before
      }),
    async sweep(before, limit) {
      const old = db
        .selectFrom('provider_calls')
        .select('id')
        .where(isBefore('at', before))
        .limit(limit)
      return countChanged(db.deleteFrom('provider_calls').where('id', 'in', old))
    },
  }
}

async function list(
  db: Db,
  name: string,
  { since, until }: Parameters<ProviderCallStore['list']>[1],
): Promise<readonly number[]> {
  const rows = await db
    .selectFrom('provider_calls')
    .select('at')
    .where('name', '=', name)
    .where(isAfter('at', since))
    .where(({ not }) => not(isAfter('at', until)))
    .orderBy('at')
    .execute()
  return rows.map(({ at }) => at)
}
