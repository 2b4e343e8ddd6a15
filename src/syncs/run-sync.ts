/**
 * One run of a claimed sync, from its lease to its end. One transaction stores everything that it found with
 * its events, or nothing; a run that lost its lease writes nothing (ARCHITECTURE.md, The event river).
 */

import { timingSafeEqual } from 'node:crypto'
import type { ConnectionCategory } from '#contract/resources.ts'
import { LeaseLostError } from '#jobs/lease.ts'
import { minuteMs } from '#kernel/time.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { NewEvent, SealedEvent } from '#store/ports/events.ts'
import type { StoreRows } from '#store/ports/store.ts'
import type { ClaimedSync, SyncOutcome } from '#store/ports/syncs.ts'
import { interruption, SyncError, type SyncFailure, toFailure } from './failure.ts'
import { findNews, type RowsFinding, type SyncFinding } from './find-news.ts'
import { holdRun } from './lease.ts'
import type { PendingDraft, SyncCounts, SyncEventDraft, SyncOptions } from './options.ts'
import { dueAfterFailure, dueAfterSuccess } from './schedule.ts'

export type SyncEnd =
  | { readonly kind: 'succeeded'; readonly counts: SyncCounts }
  /** `error`: why it failed, for the caller that requested it. */
  | { readonly kind: 'failed'; readonly failure: SyncFailure; readonly error: unknown }
  | { readonly kind: 'lost' }

export interface RunOptions {
  /** Aborted when the process stops: the run ends and is due again at once. */
  readonly stop: AbortSignal
  /** Written in the transaction that ends the run. */
  readonly note?: (tx: StoreRows) => Promise<void>
}

/** Never rejects: when the end of a run cannot be stored, its lease expires. */
export type RunSync = (sync: ClaimedSync, options: RunOptions) => Promise<SyncEnd>

/** The time limit of the whole run. After a timeout the schedule tries again. */
const defaultMaxRunMs = 15 * minuteMs

const noCounts: SyncCounts = {
  read: 0,
  new: 0,
  updated: 0,
  gone: 0,
  returned: 0,
  rounded: 0,
  chunks: 0,
  unread: 0,
}

export function makeRunSync(options: SyncOptions, maxRunMs = defaultMaxRunMs): RunSync {
  return (sync, limits) =>
    options.report.around(async () => {
      const begun = performance.now()
      const end = await run(options, sync, { ...limits, maxRunMs })
      const failed = end.kind === 'failed' ? end : null
      options.report.ended({
        runId: sync.runId,
        connectionId: sync.connectionId,
        provider: sync.provider,
        reason: sync.reason,
        result: end.kind,
        code: failed?.failure.code ?? null,
        durationMs: performance.now() - begun,
        counts: end.kind === 'succeeded' ? end.counts : noCounts,
        error: failed?.error ?? null,
      })
      return end
    })
}

type Limited = RunOptions & { readonly maxRunMs: number }

async function run(options: SyncOptions, sync: ClaimedSync, limits: Limited): Promise<SyncEnd> {
  const lease = holdRun(
    { syncs: options.store.syncs, clock: options.clock, jobs: options.jobs },
    sync,
  )
  const tooLong = new AbortController()
  const limit = setTimeout(
    () => tooLong.abort(new SyncError('too_long', 'The sync took longer than it may')),
    limits.maxRunMs,
  )
  const signal = AbortSignal.any([limits.stop, lease.lost, tooLong.signal])
  try {
    const finding = await findNews(options, sync, signal)
    return { kind: 'succeeded', counts: await keep(options, { sync, finding, limits }, signal) }
  } catch (error) {
    if (error instanceof LeaseLostError || lease.lost.aborted) return { kind: 'lost' }
    return await giveUp(
      options,
      sync,
      limits,
      tooLong.signal.aborted ? tooLong.signal.reason : error,
    )
  } finally {
    clearTimeout(limit)
    await lease.release()
  }
}

interface Found {
  readonly sync: ClaimedSync
  readonly finding: SyncFinding
  readonly limits: RunOptions
}

async function keep(
  options: SyncOptions,
  { sync, finding, limits }: Found,
  signal: AbortSignal,
): Promise<SyncCounts> {
  const now = options.clock.now()
  const sealed = finding.kind === 'rows' ? await seal(options, { sync, finding, now }) : []
  signal.throwIfAborted()
  // An endpoint gets one of the two forms.
  const chunks = sealed.filter(({ hasPending }) => hasPending !== true).length
  const counts: SyncCounts = finding.kind === 'rows' ? countNews(finding, chunks) : noCounts
  await options.store.transact(async (tx) => {
    // Lock the user's row first, as linking and beginning a ledger do, so that transactions do not deadlock.
    await checkKey(tx, sync, finding)
    if (isStale(finding, counts)) await tx.users.outdate(sync.userId)
    const kept = await tx.syncs.finish(sync.runId, {
      outcome: toOutcome(finding, counts),
      endedAt: now,
      nextDueAt: nextDueAt(options, sync, finding),
    })
    if (!kept) throw new LeaseLostError('the lease ended before the run')
    if (finding.kind === 'rows') await keepRows(tx, finding, sealed)
    await limits.note?.(tx)
  })
  return counts
}

/** The events' keys are durable before the transaction begins; if the run fails, a sweep deletes them. */
function seal(
  { store, makeEvents }: SyncOptions,
  {
    sync,
    finding,
    now,
  }: { readonly sync: ClaimedSync; readonly finding: RowsFinding; readonly now: number },
): Promise<readonly SealedEvent[]> {
  const { category } = factsOf(sync.provider)
  const draft = {
    userId: sync.userId,
    connectionId: sync.connectionId,
    runId: sync.runId,
    type: eventTypes[category],
    createdAt: now,
    new: finding.news.new,
    updated: finding.news.updated,
  }
  const { pending } = finding
  if (pending === null) return store.events.seal(makeEvents(draft))
  return store.events.seal(makeBoth(makeEvents, draft, pending))
}

const eventTypes: Readonly<Record<ConnectionCategory, SyncEventDraft['type']>> = {
  banking: 'transactions.synced',
  brokerage: 'trades.synced',
}

/** For endpoints that do not ask for pending rows, and for those that do (reading R39). */
function* makeBoth(
  makeEvents: SyncOptions['makeEvents'],
  draft: SyncEventDraft,
  pending: PendingDraft,
): Generator<NewEvent> {
  yield* makeEvents({ ...draft, pending: null })
  yield* makeEvents({ ...draft, pending })
}

function countNews({ news, unread }: RowsFinding, chunks: number): SyncCounts {
  const { read, gone, returned, rounded } = news
  return {
    read,
    new: news.new.length,
    updated: news.updated.length,
    gone,
    returned,
    rounded,
    chunks,
    unread: unread.length,
  }
}

/** A ledger that ended or began during the run has another key than the run's fingerprints. */
async function checkKey(
  tx: StoreRows,
  { userId }: ClaimedSync,
  finding: SyncFinding,
): Promise<void> {
  if (finding.kind !== 'rows') return
  await tx.ledgers.checkKey(userId, (key) => {
    if (key === null || !timingSafeEqual(key, finding.key)) {
      throw new SyncError('interrupted', interruption.message)
    }
  })
}

function toOutcome(finding: SyncFinding, counts: SyncCounts): SyncOutcome {
  const isRows = finding.kind === 'rows'
  return {
    kind: 'succeeded',
    newCount: counts.new,
    updatedCount: counts.updated,
    chunks: counts.chunks,
    rowsReadAt: isRows ? finding.readAt : null,
    ledgerFrom: isRows ? finding.ledgerFrom : null,
  }
}

function nextDueAt(options: SyncOptions, sync: ClaimedSync, finding: SyncFinding): number {
  const { scheduledReadHours } = factsOf(sync.provider)
  return dueAfterSuccess(
    { now: options.clock.now(), random: options.random },
    {
      intervalMinutes: options.intervalMinutes,
      rowsReadAt: finding.kind === 'rows' ? finding.readAt : sync.rowsReadAt,
      scheduledReadHours: finding.kind === 'no_ledger' ? null : scheduledReadHours,
    },
  )
}

async function keepRows(
  tx: StoreRows,
  { news, pending, outdated, keepFrom }: RowsFinding,
  sealed: readonly SealedEvent[],
): Promise<void> {
  await tx.ledgers.write(news.months.filter(({ month }) => month >= keepFrom))
  await tx.ledgers.dropBefore(outdated, keepFrom)
  if (pending !== null) await tx.ledgers.writePending(pending.told)
  await tx.events.accept(sealed)
}

/** Earlier answers may differ from what the provider has now; without a ledger this is unknown. */
function isStale(finding: SyncFinding, { gone, returned, ...counts }: SyncCounts): boolean {
  if (finding.kind !== 'rows') return finding.kind === 'no_ledger'
  return counts.new + counts.updated + gone + returned > 0
}

async function giveUp(
  options: SyncOptions,
  sync: ClaimedSync,
  { stop, note }: RunOptions,
  error: unknown,
): Promise<SyncEnd> {
  const { clock, random, store } = options
  const failure = stop.aborted ? interruption : toFailure(error)
  const now = clock.now()
  const { retryAfterSeconds } = failure
  const failures = sync.failures + 1
  const nextDueAt = stop.aborted
    ? now
    : dueAfterFailure({ now, random }, { failures, retryAfterSeconds })
  const { code, message } = failure
  try {
    await store.transact(async (tx) => {
      const outcome = stop.aborted
        ? ({ kind: 'abandoned' } as const)
        : ({ kind: 'failed', code, message } as const)
      const kept = await tx.syncs.finish(sync.runId, { outcome, endedAt: now, nextDueAt })
      if (!kept) throw new LeaseLostError('the lease ended before the run')
      await note?.(tx)
    })
  } catch (cause) {
    if (cause instanceof LeaseLostError) return { kind: 'lost' }
    // The store is unavailable: the lease expires, and whoever claims the connection next reads again.
    return {
      kind: 'failed',
      failure,
      error: new AggregateError([error, cause], 'the end of the sync run could not be stored'),
    }
  }
  return { kind: 'failed', failure, error }
}
