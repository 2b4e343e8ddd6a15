/** The runs of syncs: one row per run, from its start until the sweep. Leases are in `syncs.ts`. */
import type { Updateable } from 'kysely'
import type { SyncRunId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { Engine } from '../engine/engine.ts'
import { countChanged } from '../engine/rows.ts'
import { type Db, isBefore, moment, type Tables } from '../engine/tables.ts'
import type { ClaimedSync, SyncOutcome, SyncRunRow, SyncStore } from '../ports/syncs.ts'

/** Starts a run of each, in the transaction that leased them; unended runs become `abandoned`. */
export async function beginRuns(
  tx: Db,
  claimed: readonly ClaimedSync[],
  at: number,
): Promise<void> {
  if (claimed.length === 0) return
  await tx
    .updateTable('sync_runs')
    .set({ state: 'abandoned', ended_at: moment(at) })
    .where(
      'connection_id',
      'in',
      claimed.map(({ connectionId }) => connectionId),
    )
    .where('state', '=', 'running')
    .execute()
  await tx
    .insertInto('sync_runs')
    .values(
      claimed.map(({ runId, connectionId, userId, reason }) => ({
        id: runId,
        connection_id: connectionId,
        user_id: userId,
        reason,
        state: 'running',
        started_at: moment(at),
        new_count: 0,
        updated_count: 0,
        chunks: 0,
      })),
    )
    .execute()
}

/** Stores the result of the run. */
export function endRun(
  engine: Engine,
  tx: Db,
  {
    id,
    outcome,
    endedAt,
  }: { readonly id: SyncRunId; readonly outcome: SyncOutcome; readonly endedAt: number },
): Promise<void> {
  const values = { id, state: outcome.kind, ended_at: moment(endedAt), ...toColumns(outcome) }
  return engine.later(tx, engine.queries.compile(updateRun, tx, values))
}

const updateRun = (tx: Db, { id, ...columns }: RunEnd) =>
  tx.updateTable('sync_runs').set(columns).where('id', '=', id)

type RunEnd = { readonly id: SyncRunId } & Updateable<Tables['sync_runs']>

function toColumns(outcome: SyncOutcome) {
  switch (outcome.kind) {
    case 'succeeded':
      return {
        new_count: outcome.newCount,
        updated_count: outcome.updatedCount,
        chunks: outcome.chunks,
      }
    case 'failed':
      return { failure_code: outcome.code, failure_message: outcome.message }
    case 'abandoned':
      return {}
    default:
      return unreachable(outcome)
  }
}

/** With the table's name, for joins. */
export const runColumns = [
  'sync_runs.id',
  'sync_runs.connection_id as connectionId',
  'sync_runs.user_id as userId',
  'sync_runs.reason',
  'sync_runs.state',
  'started_at as startedAt',
  'ended_at as endedAt',
  'new_count as newCount',
  'updated_count as updatedCount',
  'chunks',
  'failure_code as code',
  'failure_message as message',
] as const

/** Queries of runs, and their sweep. */
export function makeRunReads(db: Db): Pick<SyncStore, 'findRun' | 'listRuns' | 'sweepRuns'> {
  const select = () => db.selectFrom('sync_runs').select(runColumns)
  return {
    async findRun(id) {
      const row = await select().where('id', '=', id).executeTakeFirst()
      return row === undefined ? null : toRun(row)
    },
    async listRuns(connectionId, limit) {
      const rows = await select()
        .where('connection_id', '=', connectionId)
        .orderBy('started_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute()
      return rows.map(toRun)
    },
    async sweepRuns({ before, limit }) {
      const old = db
        .selectFrom('sync_runs')
        .select('id')
        .where('state', '<>', 'running')
        .where(isBefore('started_at', before))
        .limit(limit)
      return countChanged(db.deleteFrom('sync_runs').where('id', 'in', old))
    },
  }
}

type Found = Omit<SyncRunRow, 'failure'> & {
  readonly code: string | null
  readonly message: string | null
}

/** A row of those columns. */
export function toRun({ code, message, ...row }: Found): SyncRunRow {
  return { ...row, failure: code === null ? null : { code, message: message ?? '' } }
}
