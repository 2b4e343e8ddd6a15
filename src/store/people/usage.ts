/**
 * Counted requests. Several processes add to the same rows: an addition is one `on conflict do update`, in
 * the order of the key, so that two processes never wait for each other in a circle.
 */
import { sql } from 'kysely'
import type { UserId } from '#kernel/ids.ts'
import type { Engine, RepositoryOptions } from '../engine/engine.ts'
import type { Db } from '../engine/tables.ts'
import type { UsageRow, UsageStore } from '../ports/usage.ts'

const key = ['user_id', 'day', 'door', 'operation', 'result'] as const

export function makeUsageStore({ engine, write }: RepositoryOptions): UsageStore {
  const { db } = engine
  return {
    add: (rows) =>
      write(async (tx) => {
        const living = await holdLiving(engine, tx, new Set(rows.map(({ userId }) => userId)))
        const kept = rows.filter(({ userId }) => living.has(userId))
        if (kept.length > 0) await addRows(tx, kept)
      }),
    list: (userId, fromDay) =>
      db
        .selectFrom('usage_days')
        .select(['day', 'door', 'operation', 'result', 'requests'])
        .where('user_id', '=', userId)
        .where('day', '>=', fromDay)
        .execute(),
    async sweep(beforeDay, limit) {
      const { numAffectedRows = 0n } = await sql`
        delete from usage_days where (user_id, day, door, operation, result) in (
          select user_id, day, door, operation, result from usage_days
          where day < ${beforeDay} order by day limit ${limit})`.execute(db)
      return Number(numAffectedRows)
    },
  }
}

/**
 * Those of the users who are not gone or being deleted; they cannot be deleted until the transaction ends.
 */
async function holdLiving(
  { kind }: Engine,
  tx: Db,
  ids: ReadonlySet<UserId>,
): Promise<ReadonlySet<UserId>> {
  const query = tx
    .selectFrom('users')
    .select('id')
    .where('id', 'in', [...ids])
    .where('deleting_at', 'is', null)
    .orderBy('id')
  // SQLite has a single writer: no lock is needed.
  const rows = await (kind === 'postgres' ? query.forKeyShare() : query).execute()
  return new Set(rows.map(({ id }) => id))
}

async function addRows(tx: Db, rows: readonly UsageRow[]): Promise<void> {
  const values = rows.map(({ userId, ...count }) => ({ user_id: userId, ...count }))
  await tx
    .insertInto('usage_days')
    .values(values.sort((one, other) => (toKey(one) < toKey(other) ? -1 : 1)))
    .onConflict((conflict) =>
      conflict.columns(key).doUpdateSet(({ eb, ref }) => ({
        requests: eb(ref('usage_days.requests'), '+', ref('excluded.requests')),
      })),
    )
    .execute()
}

/** The same order on every process; which one does not matter. */
function toKey(row: Readonly<Record<(typeof key)[number], string | number>>): string {
  return key.map((column) => row[column]).join(' ')
}
