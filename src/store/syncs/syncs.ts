/**
 * When each connection is synced next, and the lease of its run. `due_at` is when it is due or, during a run,
 * when the lease ends (docs/decisions/0015-claims-by-lease.md). The runs themselves are in `sync-runs.ts`.
 */
import { type RawBuilder, sql } from 'kysely'
import { Provider } from '#contract/resources.ts'
import type { ConnectionId, SyncRunId } from '#kernel/ids.ts'
import type { Engine, RepositoryOptions } from '../engine/engine.ts'
import { hasChanged } from '../engine/rows.ts'
import { type Db, isAfter, isDue, moment, momentOrNull } from '../engine/tables.ts'
import type {
  ClaimedSync,
  SyncBacklog,
  SyncOutcome,
  SyncReason,
  SyncStore,
} from '../ports/syncs.ts'
import { shortenSyncWaits } from './set-back.ts'
import { makeSyncOverview } from './sync-overview.ts'
import { beginRuns, endRun, makeRunReads } from './sync-runs.ts'

const claimedColumns = [
  'run_id as runId',
  'connection_id as connectionId',
  'user_id as userId',
  'provider',
  'reason',
  'was_due_at as wasDueAt',
  'due_at as leaseUntil',
  'failures',
  'rows_read_at as rowsReadAt',
  'ledger_from as ledgerFrom',
] as const

/** Connections that are being removed are not synced. */
const isLiving = sql<boolean>`not exists (
  select 1 from connections where connections.id = syncs.connection_id and connections.status = 'deleting'
)`

export function makeSyncStore({ engine, write }: RepositoryOptions): SyncStore {
  const { db } = engine
  return {
    request: (connectionId, due) =>
      write(async (tx, _touched, woke) => {
        if (await requestSync(tx, connectionId, due)) woke('sync')
      }),
    claimDue: ({ now, leaseMs, limit, except = [] }) =>
      write(async (tx) => {
        const options = { now, leaseUntil: now + leaseMs, limit, except }
        const claimed = (await takeDue(engine, tx, options)).map(toClaimed)
        await beginRuns(tx, claimed, now)
        return claimed.toSorted((one, other) => one.dueAt - other.dueAt)
      }),
    claim: (connectionId, options) =>
      write(async (tx) => claimOne(engine, tx, connectionId, options)),
    async renew(runId, leaseUntil) {
      return hasChanged(
        db
          .updateTable('syncs')
          .set({ due_at: moment(leaseUntil) })
          .where('run_id', '=', runId)
          .where(isLiving),
      )
    },
    finish: (runId, end) =>
      write(async (tx, _touched, woke) => {
        const kept = await giveBack(engine, tx, runId, end)
        if (kept === null) return false
        await endRun(engine, tx, { id: runId, ...end })
        if (kept.isSooner) woke('sync')
        return true
      }),
    ...makeRunReads(db),
    ...makeSyncOverview(db),
    shortenWaits: (limits) => shortenSyncWaits(write, limits),
    readBacklog: (now) => readBacklog(db, now),
  }
}

/** Makes a sync due, and its row if it is missing. False: no such connection. In the caller's transaction. */
export async function requestSync(
  tx: Db,
  connectionId: ConnectionId,
  { at, reason }: { readonly at: number; readonly reason: SyncReason },
): Promise<boolean> {
  const row = await tx
    .insertInto('syncs')
    .columns(['connection_id', 'user_id', 'provider', 'due_at', 'reason', 'failures'])
    .expression((query) =>
      query
        .selectFrom('connections')
        .select(['id', 'user_id', 'provider'])
        .select([
          sql<Date>`${moment(at)}`.as('due_at'),
          sql<SyncReason>`${reason}`.as('reason'),
          sql<number>`0`.as('failures'),
        ])
        .where('id', '=', connectionId),
    )
    .onConflict((conflict) => conflict.column('connection_id').doUpdateSet(asked))
    .returning('connection_id')
    .executeTakeFirst()
  return row !== undefined
}

/** The earlier time takes precedence, and any reason over `schedule`. */
const asked = {
  due_at: sql<Date>`case when syncs.run_id is null and excluded.due_at < syncs.due_at
    then excluded.due_at else syncs.due_at end`,
  reason: sql<SyncReason>`case when syncs.run_id is null and syncs.reason = 'schedule'
    then excluded.reason else syncs.reason end`,
  requested_at: sql<Date | null>`case when syncs.run_id is null then null
    when syncs.requested_at < excluded.due_at then syncs.requested_at else excluded.due_at end`,
  requested_reason: sql<SyncReason | null>`case when syncs.run_id is null then null
    when coalesce(syncs.requested_reason, 'schedule') = 'schedule'
    then excluded.reason else syncs.requested_reason end`,
}

interface TakeOptions {
  readonly now: number
  readonly leaseUntil: number
  readonly limit: number
  readonly except: readonly Provider[]
}

/** One statement; `with` plans the inner query once. PostgreSQL skips rows that others are claiming. */
function takeDue({ kind }: Engine, tx: Db, { now, leaseUntil, limit, except }: TakeOptions) {
  return tx
    .with('due', (query) => {
      const due = query
        .selectFrom('syncs')
        .select('connection_id')
        .where(isDue('due_at', now))
        .where(isLiving)
        .$if(except.length > 0, (some) => some.where(isFirstOfOthers({ now, limit, except })))
        .orderBy('due_at')
        .orderBy('connection_id')
        .limit(limit)
      return kind === 'postgres' ? due.forUpdate('syncs').skipLocked() : due
    })
    .updateTable('syncs')
    .set({
      run_id: sql<SyncRunId>`gen_random_uuid()`,
      was_due_at: sql<Date>`case when run_id is null then due_at else was_due_at end`,
      due_at: moment(leaseUntil),
      ...takenOver(isDue('requested_at', now)),
    })
    .where('connection_id', 'in', (query) => query.selectFrom('due').select('due.connection_id'))
    .returning(claimedColumns)
    .execute()
}

/** More than are claimed, because rows that another process is claiming are skipped afterwards. */
const spares = 16

/** It is one of the first due ones of each provider that is not excepted: one range of an index each. */
function isFirstOfOthers({
  now,
  limit,
  except,
}: Pick<TakeOptions, 'now' | 'limit' | 'except'>): RawBuilder<boolean> {
  const ranges = Provider.options
    .filter((provider) => !except.includes(provider))
    .map(
      (provider) => sql`select connection_id from (
        select syncs.connection_id from syncs
        where syncs.provider = ${provider} and ${isDue('syncs.due_at', now)} and ${isLiving}
        order by syncs.due_at, syncs.connection_id limit ${limit + spares}
      ) as ${sql.ref(`first_${provider}`)}`,
    )
  if (ranges.length === 0) return sql<boolean>`1 = 0`
  return sql<boolean>`connection_id in (${sql.join(ranges, sql` union all `)})`
}

/** The new run also satisfies what was requested during the abandoned one. */
function takenOver(isAnswered: RawBuilder<boolean>) {
  return {
    reason: sql<SyncReason>`case when ${isAnswered} then requested_reason else reason end`,
    requested_reason: sql<SyncReason | null>`case when ${isAnswered} then null
      else requested_reason end`,
    requested_at: sql<Date | null>`case when ${isAnswered} then null else requested_at end`,
  }
}

type ClaimedRow = Awaited<ReturnType<typeof takeDue>>[number]

function toClaimed({ runId, wasDueAt, ...row }: ClaimedRow): ClaimedSync {
  if (runId === null || wasDueAt === null) throw new Error('a sync was claimed without a run')
  return { ...row, runId, dueAt: wasDueAt }
}

async function claimOne(
  engine: Engine,
  tx: Db,
  connectionId: ConnectionId,
  { now, leaseMs, reason }: Parameters<SyncStore['claim']>[1],
): ReturnType<SyncStore['claim']> {
  const row = await held(engine, tx)
    .where('connection_id', '=', connectionId)
    .where(isLiving)
    .executeTakeFirst()
  if (row === undefined) return null
  if (row.runId !== null && row.dueAt > now) return { kind: 'running', runId: row.runId }
  const wasDueAt = Math.min(now, row.runId === null ? row.dueAt : (row.wasDueAt ?? row.dueAt))
  const taken = await tx
    .updateTable('syncs')
    .set({
      ...takenOver(isDue('requested_at', now)),
      reason,
      run_id: sql<SyncRunId>`gen_random_uuid()`,
      was_due_at: moment(wasDueAt),
      due_at: moment(now + leaseMs),
    })
    .where('connection_id', '=', connectionId)
    .returning(claimedColumns)
    .executeTakeFirstOrThrow()
  const sync = toClaimed(taken)
  await beginRuns(tx, [sync], now)
  return { kind: 'claimed', sync }
}

/** The row, locked until the transaction ends. */
function held({ kind }: Engine, tx: Db) {
  const query = tx
    .selectFrom('syncs')
    .select(['run_id as runId', 'due_at as dueAt', 'was_due_at as wasDueAt'])
  return kind === 'postgres' ? query.forUpdate('syncs') : query
}

/** Null: the lease is lost. */
async function giveBack(
  { queries }: Engine,
  tx: Db,
  runId: SyncRunId,
  { outcome, nextDueAt }: Parameters<SyncStore['finish']>[1],
): Promise<{ readonly isSooner: boolean } | null> {
  const next = { runId, dueAt: moment(nextDueAt) }
  const query =
    outcome.kind === 'succeeded'
      ? queries.compile(releaseSucceeded, tx, { ...next, ...knownAfter(outcome) })
      : queries.compile(outcome.kind === 'failed' ? releaseFailed : releaseAbandoned, tx, next)
  const [row] = (await tx.executeQuery(query)).rows
  return row === undefined ? null : { isSooner: row.dueAt < nextDueAt }
}

type Release = { readonly runId: SyncRunId; readonly dueAt: Date }

const releaseSucceeded = (tx: Db, { runId, dueAt, ...known }: Release & Known) =>
  release(tx, { runId, dueAt }).set({ reason: reasonAfter('succeeded'), ...known })

const releaseFailed = (tx: Db, next: Release) =>
  release(tx, next).set((set) => ({
    reason: reasonAfter('failed'),
    failures: set('failures', '+', 1),
  }))

const releaseAbandoned = (tx: Db, next: Release) =>
  release(tx, next).set({ reason: reasonAfter('abandoned') })

function release(tx: Db, { runId, dueAt }: Release) {
  return tx
    .updateTable('syncs')
    .set({
      run_id: null,
      was_due_at: null,
      requested_at: null,
      requested_reason: null,
      due_at: sql<Date>`case when requested_at < ${dueAt} then requested_at else ${dueAt} end`,
    })
    .where('run_id', '=', runId)
    .where(isLiving)
    .returning('due_at as dueAt')
}

/** What was requested meanwhile. A failed run keeps its reason: for `schedule` it might read no rows. */
function reasonAfter(kind: SyncOutcome['kind']): RawBuilder<SyncReason> {
  const requested = sql<SyncReason>`coalesce(requested_reason, 'schedule')`
  if (kind === 'succeeded') return requested
  return sql<SyncReason>`case when reason = 'schedule' then ${requested} else reason end`
}

type Known = {
  readonly failures: number
  readonly rows_read_at?: Date
  readonly ledger_from?: Date | null
}

function knownAfter({
  rowsReadAt,
  ledgerFrom,
}: SyncOutcome & { readonly kind: 'succeeded' }): Known {
  if (rowsReadAt === null) return { failures: 0 }
  return {
    failures: 0,
    rows_read_at: moment(rowsReadAt),
    ledger_from: momentOrNull(ledgerFrom),
  }
}

async function readBacklog(db: Db, now: number): Promise<SyncBacklog> {
  const due = db.selectFrom('syncs').where(isDue('due_at', now))
  const oldest = await due
    .where(isLiving)
    .select('due_at as dueAt')
    .orderBy('due_at')
    .orderBy('connection_id')
    .limit(1)
    .executeTakeFirst()
  // Few connections are being removed: counting them apart reads the index alone, not a connection per row.
  const counted = await due.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow()
  const ending = await countEnding(db, now)
  const running = await db
    .selectFrom('syncs')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('run_id', 'is not', null)
    .where(isAfter('due_at', now))
    .executeTakeFirstOrThrow()
  return {
    oldestDueAt: oldest?.dueAt ?? null,
    // PostgreSQL counts in int8, which comes as text.
    due: Math.max(0, Number(counted.count) - ending),
    running: Number(running.count),
  }
}

/** Due syncs of connections that are being removed. */
async function countEnding(db: Db, now: number): Promise<number> {
  const counted = await db
    .selectFrom('connections')
    .innerJoin('syncs', 'syncs.connection_id', 'connections.id')
    .select(({ fn }) => fn.countAll().as('count'))
    .where(sql<boolean>`connections.status = 'deleting'`)
    .where(isDue('syncs.due_at', now))
    .executeTakeFirstOrThrow()
  return Number(counted.count)
}
