/**
 * The syncs of one user's connections at a glance: when each is due, how the last runs ended, and how many
 * runs of each day did. Every query is one statement, and its answer grows with the connections, not with the
 * runs.
 */
import { type RawBuilder, sql } from 'kysely'
import type { ConnectionId, UserId } from '#kernel/ids.ts'
import { type Db, moment } from '../engine/tables.ts'
import type { RunCounts, SyncRunState, SyncStore } from '../ports/syncs.ts'
import { runColumns, toRun } from './sync-runs.ts'

type Overview = Pick<SyncStore, 'listStates' | 'listLastRuns' | 'countRuns'>

export function makeSyncOverview(db: Db): Overview {
  return {
    async listStates(userId) {
      const rows = await db
        .selectFrom('syncs')
        .select([
          'connection_id as connectionId',
          'due_at as dueAt',
          'run_id as runId',
          'failures',
          'rows_read_at as rowsReadAt',
        ])
        .where('user_id', '=', userId)
        .execute()
      return rows.map(({ runId, dueAt, ...row }) => ({
        ...row,
        nextAt: runId === null ? dueAt : null,
      }))
    },
    async listLastRuns(userId, states) {
      const rows = await db
        .selectFrom('connections')
        .innerJoin('sync_runs', (join) => join.on(sql<boolean>`sync_runs.id = ${lastRun(states)}`))
        .select(runColumns)
        .where('connections.user_id', '=', userId)
        .execute()
      return rows.map(toRun)
    },
    countRuns: (userId, days) => countRuns(db, userId, days),
  }
}

/** One search of the index for each connection. */
function lastRun(states: readonly SyncRunState[]): RawBuilder<unknown> {
  return sql`(select last.id from sync_runs as last
    where last.connection_id = connections.id and last.state in (${sql.join(states)})
    order by last.started_at desc, last.id desc limit 1)`
}

const maxDays = 31

async function countRuns(
  db: Db,
  userId: UserId,
  days: readonly number[],
): Promise<ReadonlyMap<ConnectionId, readonly RunCounts[]>> {
  const [first] = days
  const last = days.at(-1)
  if (first === undefined || last === undefined || days.length > maxDays + 1) {
    throw new RangeError(`runs are counted for 1 to ${maxDays} days`)
  }
  const rows = await db
    .selectFrom('sync_runs')
    .innerJoin('connections', 'connections.id', 'sync_runs.connection_id')
    .select('sync_runs.connection_id as connectionId')
    .select((is) =>
      days.slice(1).flatMap((end, index) => {
        const start = days[index] ?? end
        return (['succeeded', 'failed'] as const).map((state) =>
          is.fn
            .sum<string | number>(
              sql`case when sync_runs.state = ${state} and sync_runs.started_at >= ${moment(start)}
                and sync_runs.started_at < ${moment(end)} then 1 else 0 end`,
            )
            .as(`${state}${index}`),
        )
      }),
    )
    .where('connections.user_id', '=', userId)
    .where(sql<boolean>`sync_runs.started_at >= ${moment(first)}`)
    .where(sql<boolean>`sync_runs.started_at < ${moment(last)}`)
    .groupBy('sync_runs.connection_id')
    .execute()
  return new Map(rows.map((row) => [row.connectionId, toCounts(row, days.length - 1)]))
}

/** PostgreSQL sums in int8, which comes as text. */
function toCounts(row: Readonly<Record<string, unknown>>, days: number): RunCounts[] {
  return Array.from({ length: days }, (_, index) => ({
    succeeded: Number(row[`succeeded${index}`] ?? 0),
    failed: Number(row[`failed${index}`] ?? 0),
  }))
}
