/**
 * A sync on request: it runs in this process as soon as there is a place for it. If one is already asked for
 * or in progress, in this process or another, the caller waits for its end instead.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type By, mayActFor } from '#contract/actor.ts'
import { ApiError, apiError } from '#contract/errors.ts'
import { retryLaterSeconds } from '#contract/limits.ts'
import type { ConnectionId, SyncRunId, UserId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { StoreRows } from '#store/ports/store.ts'
import type { ClaimedSync, SyncRunRow } from '#store/ports/syncs.ts'
import { interruption, toSyncApiError } from './failure.ts'
import { runLeaseMs } from './lease.ts'
import type { SyncOptions } from './options.ts'
import type { RunPlace } from './run-places.ts'
import type { Runs } from './runs.ts'

export interface SyncAnswer {
  readonly syncRunId: SyncRunId
  readonly newCount: number
  readonly updatedCount: number
  /** Number of events; 0: the user has no ledger (reading R34b). */
  readonly chunks: number
}

/**
 * @throws ApiError `connection_not_found`, also when it is removed meanwhile, and the reason why the run
 *   failed.
 */
export type SyncNow = (by: By, connectionId: ConnectionId) => Promise<SyncAnswer>

export interface SyncNowOptions extends Pick<SyncOptions, 'store' | 'clock'> {
  readonly runs: Pick<Runs, 'places' | 'start' | 'giveBack' | 'find' | 'stop'>
  /** Shorter than the limits of admin listener and command line; a longer run continues alone. */
  readonly waitMs?: number
  readonly pollMs?: number
}

const defaultWaitMs = 150_000
const defaultPollMs = 250

interface Request {
  readonly connectionId: ConnectionId
  readonly userId: UserId
  /** Null: it is written. */
  readonly note: ((tx: Pick<StoreRows, 'audit'>) => Promise<void>) | null
  /** Aborted when the caller no longer waits; the request then rejects with its reason. */
  readonly deadline: AbortSignal
}

/** A request in progress. */
interface Shared {
  readonly answer: Promise<SyncAnswer>
  readonly deadline: AbortSignal
}

export function makeSyncNow(options: SyncNowOptions): SyncNow {
  const { waitMs = defaultWaitMs } = options
  const inProgress = new Map<ConnectionId, Shared>()

  /** One request for each connection at a time; later callers get its answer. */
  async function join(asked: Request): Promise<SyncAnswer> {
    const { connectionId, deadline } = asked
    const other = inProgress.get(connectionId)
    if (other === undefined) {
      const answer = request(options, asked).finally(() => inProgress.delete(connectionId))
      inProgress.set(connectionId, { answer, deadline })
      return answer
    }
    // It may end with an error before the note is written.
    other.answer.catch(() => {})
    await asked.note?.(options.store)
    try {
      return await other.answer
    } catch (error) {
      // Whoever made it no longer waits: this caller goes on in its place.
      if (error !== other.deadline.reason || deadline.aborted) throw error
      return join({ ...asked, note: null })
    }
  }

  const findTheirs = async (by: By, id: ConnectionId) => {
    const row = await options.store.connections.find(id)
    return row !== null && row.status !== 'deleting' && mayActFor(by, row.userId) ? row : null
  }
  return async (by, connectionId) => {
    const row = await findTheirs(by, connectionId)
    if (row === null) throw apiError('connection_not_found')
    const entry = {
      actor: by.actor,
      action: 'connections.sync',
      userId: row.userId,
      details: { connectionId },
    } as const
    const note = (tx: Pick<StoreRows, 'audit'>) => tx.audit({ at: options.clock.now(), ...entry })
    const deadline = AbortSignal.timeout(waitMs)
    const answer = join({ connectionId, userId: row.userId, note, deadline })
    try {
      return await Promise.race([answer, fail(deadline)])
    } catch (error) {
      const cause = deadline.aborted && error === deadline.reason ? goesOn() : error
      // A removal ends the run; what is removed does not exist.
      if (await findTheirs(by, connectionId)) throw cause
      throw apiError('connection_not_found', { cause })
    }
  }
}

async function fail(deadline: AbortSignal): Promise<never> {
  await new Promise((resolve) => deadline.addEventListener('abort', resolve, { once: true }))
  throw deadline.reason
}

function goesOn(): ApiError {
  return apiError('service_unavailable', {
    message: 'The sync has not ended yet and goes on; ask for it again later',
    retryAfterSeconds: retryLaterSeconds,
  })
}

/** Runs it, or joins the run in progress; runs it afterwards when that one read no rows by schedule. */
async function request(options: SyncNowOptions, asked: Request): Promise<SyncAnswer> {
  const { store, clock } = options
  for (let { note } = asked; ; await pause(options, asked.deadline)) {
    const begin = await claim(options, asked)
    if (begin.kind === 'claimed') return runHere(options, begin, note)
    await note?.(store)
    note = null
    if (begin.kind === 'no_place') {
      // The next process with a free place runs it.
      await store.syncs.request(asked.connectionId, { at: clock.now(), reason: 'operator' })
      asked.deadline.throwIfAborted()
      throw goesOn()
    }
    const ended = await waitForEnd(options, { ...asked, runId: begin.runId })
    if (ended.state === 'failed' && ended.failure !== null) throw toSyncApiError(ended.failure)
    if (ended.state === 'succeeded' && !(await leftRowsOut(options, asked, ended))) {
      return toAnswer(ended)
    }
  }
}

type Begin =
  | { readonly kind: 'claimed'; readonly sync: ClaimedSync; readonly place: RunPlace }
  | { readonly kind: 'running'; readonly runId: SyncRunId }
  /** There was none in time. */
  | { readonly kind: 'no_place' }

/**
 * Between two looks at a run. A run that another process took over may still be ending here: without a pause
 * `request` would not stop looking.
 */
async function pause(
  { runs, pollMs = defaultPollMs }: SyncNowOptions,
  deadline: AbortSignal,
): Promise<void> {
  await sleep(pollMs, undefined, { signal: AbortSignal.any([deadline, runs.stop]) }).catch(() => {
    throw deadline.aborted ? deadline.reason : toSyncApiError(interruption)
  })
}

async function claim(
  { store, clock, runs }: SyncNowOptions,
  { connectionId, deadline }: Request,
): Promise<Begin> {
  const own = runs.find(connectionId)
  if (own !== null) return { kind: 'running', runId: own }
  const place = await runs.places.wait(deadline)
  if (place === null) return { kind: 'no_place' }
  let isNeeded = false
  try {
    const claim = { now: clock.now(), leaseMs: runLeaseMs, reason: 'operator' } as const
    const claimed = await store.syncs.claim(connectionId, claim)
    if (claimed === null) throw apiError('connection_not_found')
    isNeeded = claimed.kind === 'claimed'
    return claimed.kind === 'claimed' ? { ...claimed, place } : claimed
  } finally {
    if (!isNeeded) runs.giveBack(place)
  }
}

/** A scheduled run that was not to read rows yet, or one without a ledger, makes no event. */
async function leftRowsOut(
  { store }: Pick<SyncNowOptions, 'store'>,
  { userId }: Request,
  { reason, chunks }: SyncRunRow,
): Promise<boolean> {
  if (reason !== 'schedule' || chunks > 0) return false
  return (await store.ledgers.readKey(userId)) !== null
}

async function runHere(
  { runs }: SyncNowOptions,
  { sync, place }: Extract<Begin, { kind: 'claimed' }>,
  note: Request['note'],
): Promise<SyncAnswer> {
  const end = await runs.start(sync, { place, ...(note === null ? {} : { note }) })
  switch (end.kind) {
    case 'succeeded': {
      const { counts } = end
      return {
        syncRunId: sync.runId,
        newCount: counts.new,
        updatedCount: counts.updated,
        chunks: counts.chunks,
      }
    }
    case 'failed':
      throw end.error instanceof ApiError ? end.error : toSyncApiError(end.failure)
    case 'lost':
      throw toSyncApiError(interruption)
    default:
      return unreachable(end)
  }
}

interface JoinedRun {
  readonly runId: SyncRunId
}

async function waitForEnd(
  options: SyncNowOptions,
  { runId, connectionId, deadline }: Pick<Request, 'connectionId' | 'deadline'> & JoinedRun,
): Promise<SyncRunRow> {
  const { syncs, connections } = options.store
  for (;;) {
    const run = await syncs.findRun(runId)
    if (run === null) throw toSyncApiError(interruption)
    if (run.state !== 'running') return run
    // The run of a connection that is being removed writes no end.
    if ((await connections.find(connectionId))?.status === 'deleting')
      throw toSyncApiError(interruption)
    await pause(options, deadline)
  }
}

function toAnswer({ id, newCount, updatedCount, chunks }: SyncRunRow): SyncAnswer {
  return { syncRunId: id, newCount, updatedCount, chunks }
}
