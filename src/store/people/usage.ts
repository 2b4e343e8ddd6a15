/**
 * Counted requests. Several processes add to the same rows: an addition is one `on conflict do update`, in
 * the order of the key, so that two processes never wait for each other in a circle. Rows of before keys and
 * agents were counted apart (`usage_days`) are read and deleted beside the others.
 */
import { sql } from 'kysely'
import type { UserId } from '#kernel/ids.ts'
import type { Engine, RepositoryOptions } from '../engine/engine.ts'
import type { Db } from '../engine/tables.ts'
import {
  maxUsageReaders,
  otherReaders,
  type ReaderCount,
  readersBefore,
  type UsageCount,
  type UsageRow,
  type UsageStore,
} from '../ports/usage.ts'

const key = ['user_id', 'day', 'reader', 'door', 'operation', 'result'] as const

export function makeUsageStore({ engine, write }: RepositoryOptions): UsageStore {
  const { db } = engine
  return {
    add: (rows) =>
      write(async (tx) => {
        const living = await holdLiving(engine, tx, new Set(rows.map(({ userId }) => userId)))
        const kept = rows.filter(({ userId }) => living.has(userId))
        if (kept.length > 0) await addRows(tx, await boundReaders(tx, kept))
      }),
    async list(userId, fromDay) {
      const { rows } = await sql<UsageCount>`
        select day, door, operation, result, sum(requests) as requests
        from ${allCounts(userId, fromDay)} group by day, door, operation, result`.execute(db)
      return rows.map(toNumbers)
    },
    async listReaders(userId, fromDay) {
      const { rows } = await sql<ReaderCount>`
        select reader, door, operation, result, sum(requests) as requests
        from ${allCounts(userId, fromDay)} group by reader, door, operation, result`.execute(db)
      return rows.map(toNumbers)
    },
    async sweep(beforeDay, limit) {
      const { numAffectedRows: swept = 0n } = await sql`
        delete from usage_by_reader
        where (user_id, day, reader, door, operation, result) in (
          select user_id, day, reader, door, operation, result from usage_by_reader
          where day < ${beforeDay} order by day limit ${limit})`.execute(db)
      const left = limit - Number(swept)
      if (left <= 0) return Number(swept)
      const { numAffectedRows: before = 0n } = await sql`
        delete from usage_days where (user_id, day, door, operation, result) in (
          select user_id, day, door, operation, result from usage_days
          where day < ${beforeDay} order by day limit ${left})`.execute(db)
      return Number(swept + before)
    },
  }
}

/** The counts of both tables; those of the former one have no reader. */
const allCounts = (userId: UserId, fromDay: number) => sql`(
  select day, reader, door, operation, result, requests from usage_by_reader
  where user_id = ${userId} and day >= ${fromDay}
  union all
  select day, cast(${readersBefore} as text) as reader, door, operation, result, requests from usage_days
  where user_id = ${userId} and day >= ${fromDay}
) as counts`

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

/** Readers beyond the bound of a user and day become one: whoever makes many keys stores no more rows. */
async function boundReaders(tx: Db, rows: readonly UsageRow[]): Promise<readonly UsageRow[]> {
  const readers = await findReaders(tx, rows)
  const bounded = new Map<string, UsageRow>()
  for (const row of rows) {
    const known = readers.get(toDay(row)) ?? new Set()
    readers.set(toDay(row), known)
    const isApart = known.has(row.reader) || known.size < maxUsageReaders
    if (isApart) known.add(row.reader)
    const counted = isApart ? row : { ...row, reader: otherReaders }
    const name = toKey(counted)
    const { requests = 0 } = bounded.get(name) ?? {}
    bounded.set(name, { ...counted, requests: requests + row.requests })
  }
  return [...bounded.values()]
}

/** The readers of the same users and days that are counted already. */
async function findReaders(tx: Db, rows: readonly UsageRow[]): Promise<Map<string, Set<string>>> {
  const found = await tx
    .selectFrom('usage_by_reader')
    .select(['user_id', 'day', 'reader'])
    .distinct()
    .where('user_id', 'in', [...new Set(rows.map(({ userId }) => userId))])
    .where('day', 'in', [...new Set(rows.map(({ day }) => day))])
    .execute()
  const readers = new Map<string, Set<string>>()
  for (const { user_id: userId, day, reader } of found) {
    const name = toDay({ userId, day })
    readers.set(name, (readers.get(name) ?? new Set()).add(reader))
  }
  return readers
}

async function addRows(tx: Db, rows: readonly UsageRow[]): Promise<void> {
  const sorted = rows.toSorted((one, other) => (toKey(one) < toKey(other) ? -1 : 1))
  await tx
    .insertInto('usage_by_reader')
    .values(sorted.map(({ userId, ...count }) => ({ user_id: userId, ...count })))
    .onConflict((conflict) =>
      conflict.columns(key).doUpdateSet(({ eb, ref }) => ({
        requests: eb(ref('usage_by_reader.requests'), '+', ref('excluded.requests')),
      })),
    )
    .execute()
}

/** PostgreSQL sums to 64 bits, which its driver reads as text. */
const toNumbers = <Row extends { readonly requests: number }>(row: Row): Row => ({
  ...row,
  requests: Number(row.requests),
})

const toDay = ({ userId, day }: Pick<UsageRow, 'userId' | 'day'>) => `${userId} ${day}`

/** The same order on every process; which one does not matter. */
const toKey = ({ userId, day, reader, door, operation, result }: UsageRow) =>
  [userId, day, reader, door, operation, result].join(' ')
