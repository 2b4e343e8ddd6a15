/**
 * A walk reads the provider's pages of one query from the newest row on, and answers any window of the rows read. For
 * each page it keeps the cursor, for each matching row a fingerprint and a place; page bodies may be evicted. Its
 * upper bound is the newest row at its start: rows that arrive later never shift a window. This file handles pages
 * that do not match the known rows (readings R17 to R20b).
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Provider } from '#contract/resources.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext, RowPage } from '#providers/port.ts'
import type { PageMemory } from './page-memory.ts'
import { readUntil } from './read-pages.ts'
import { releaseRows } from './row-table.ts'
import { makeSharing, type SharedPlace, type Sharing } from './share-walk.ts'
import { type RowOf, type ShownRow, showRows } from './show-rows.ts'
import {
  countMerged,
  dropBodies,
  isDone,
  isDoubtful,
  makeWalkState,
  markAnswered,
  renew,
  restart,
  rollBack,
  sizeOfWalk,
  type WalkSource,
  type WalkState,
} from './walk-state.ts'
import {
  CircularPages,
  ContestedWalk,
  ReplacedRows,
  ShiftedRows,
  StreamTrouble,
} from './walk-trouble.ts'
import type { WindowRead } from './window-read.ts'

/** Bounds the pages of one request, in case a provider's pages never end. */
const maxPages = 2000
/** How often a request adopts a walk that another process saved first, before it fails. */
const maxContests = 8

export interface WalkOptions {
  readonly provider: Provider
  readonly memory: PageMemory
  /** Where processes share the walk; null: not shared. */
  readonly shared: SharedPlace | null
  /** When the oldest page expires, in milliseconds since the epoch. */
  readonly expiresAt: number
}

export interface WindowRequest {
  readonly offset: number
  readonly limit: number
  /** New pages that this request may read from the provider (reading R17). */
  readonly pageCap: number | null
  /** Resolves when a doubted end can be trusted (reading R20b). */
  readonly confirmEnd: () => Promise<void>
}

export interface WalkWindow<Row> {
  readonly rows: readonly ShownRow<Row>[]
  /** Places in the order that the window covers: more than its rows where some were deleted at the provider. */
  readonly places: number
  /** Matching rows so far: exact when `complete`, otherwise a lower bound. */
  readonly seen: number
  /** True when the provider has no more rows. */
  readonly complete: boolean
  /** When the walk expires: the answer must not be cached longer (reading R19). */
  readonly staleAt: number
}

export interface Walk<Row> {
  /** Reads as many pages as the window needs, then maps its rows. Requests are handled one at a time. */
  window(request: WindowRequest, call: CallContext): Promise<WalkWindow<Row>>
  expiresAt(): number
  /** Bytes held, excluding page bodies. */
  size(): number
  /** Accepts no further requests; frees the memory once the pending ones are answered. */
  close(): void
}

interface Parts<Page extends RowPage<unknown>> {
  readonly provider: Provider
  readonly state: WalkState<Page>
  readonly sharing: Sharing
}

/** Starts at the newest row; the first window triggers the first read. */
export function makeWalk<Page extends RowPage<unknown>>(
  source: WalkSource<Page>,
  options: WalkOptions,
): Walk<RowOf<Page>> {
  const state = makeWalkState(source, options.memory)
  const sharing = makeSharing(state, options)
  const parts = { provider: options.provider, state, sharing }
  let turn: Promise<unknown> = Promise.resolve()
  let awaited = 0
  let closed = false
  let isReleased = false

  function release(): void {
    if (isReleased) return
    isReleased = true
    for (const stream of state.streams) {
      dropBodies(state, stream)
      releaseRows(stream.table)
    }
    options.memory.leave(state.holder)
  }

  return {
    window(request, call) {
      if (closed) throw new Error('the walk is closed')
      awaited += 1
      const mine = turn.then(() => {
        call.signal.throwIfAborted()
        return answer(parts, request, call)
      })
      turn = mine
        .catch(() => undefined)
        .then(() => {
          awaited -= 1
          if (closed && awaited === 0) release()
        })
      return mine
    },
    expiresAt: sharing.expiresAt,
    size: () => sizeOfWalk(state),
    close() {
      closed = true
      if (awaited === 0) release()
    },
  }
}

async function answer<Page extends RowPage<unknown>>(
  parts: Parts<Page>,
  request: WindowRequest,
  call: CallContext,
): Promise<WalkWindow<RowOf<Page>>> {
  const { state, sharing } = parts
  state.memory.touch(state.holder)
  try {
    await sharing.takeOver()
    const windowRead = toWindowRead(state, request, call)
    for (let contests = 0; ; ) {
      try {
        await readUntil(state, windowRead)
        await believe(state, request)
        // The process that saves first determines the order, and the window is then answered from its walk.
        if (!(await settle(parts, windowRead))) {
          contests += 1
          if (contests > maxContests) throw new ContestedWalk()
          windowRead.shown.clear()
          windowRead.resumed = listResumed(state)
          continue
        }
        return await toWindow(parts, windowRead)
      } catch (error) {
        const cause = error instanceof StreamTrouble ? error.cause : error
        if (beginAgain(state, windowRead, error)) continue
        // Pages that stay inconsistent may come from a login that has ended (reading R20b).
        if (cause instanceof ShiftedRows) await request.confirmEnd()
        throw toFailure(parts.provider, cause)
      }
    }
  } catch (error) {
    if (!isWorthKeeping(error)) rollBack(state)
    throw error
  } finally {
    for (const { bodies } of state.streams) for (const held of bodies.values()) held.parsed = null
    // Pages in use could not be evicted before; check the bound again.
    state.memory.add(state.holder, 0)
  }
}

function toWindowRead<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  { offset, limit, pageCap, confirmEnd }: WindowRequest,
  call: CallContext,
): WindowRead<Page> {
  return {
    offset,
    limit,
    call,
    confirmEnd,
    pagesLeft: Math.min(pageCap ?? maxPages, maxPages),
    pagesRead: 0,
    shown: new Set(),
    mapped: new Map(),
    mappedTo: offset,
    fetched: new Map(),
    steady: new Set(),
    doubt: 'none',
    resumed: listResumed(state),
    restarted: new Set(),
    renewed: false,
  }
}

function listResumed({ streams }: WalkState<RowPage<unknown>>): ReadonlySet<number> {
  return new Set(streams.flatMap(({ pages }, index) => (pages.length > 0 ? [index] : [])))
}

/**
 * Reading R20b: an empty result, and an announced page without rows, are trusted only when the consent is still
 * active.
 */
async function believe(state: WalkState<RowPage<unknown>>, request: WindowRequest): Promise<void> {
  if (!isDoubtful(state)) return
  await request.confirmEnd()
  state.believed = true
  state.dirty = true
}

/** Fixes the place of every merged row. False: another process saved first, and its walk was adopted. */
async function settle<Page extends RowPage<unknown>>(
  { state, sharing }: Parts<Page>,
  { offset, limit }: WindowRead<Page>,
): Promise<boolean> {
  const isWhole = isDone(state) && offset === 0 && countMerged(state) <= limit
  markAnswered(state)
  return sharing.save({ isWhole })
}

async function toWindow<Page extends RowPage<unknown>>(
  { state, sharing }: Parts<Page>,
  windowRead: WindowRead<Page>,
): Promise<WalkWindow<RowOf<Page>>> {
  // The last page was parsed in this turn of the event loop; give other requests a turn before mapping its rows.
  if (windowRead.pagesRead > 0) await nextTurn()
  const rows = await showRows(state, windowRead)
  const seen = countMerged(state)
  return {
    rows,
    places: Math.max(0, Math.min(windowRead.limit, seen - windowRead.offset)),
    seen,
    complete: isDone(state),
    staleAt: sharing.expiresAt(),
  }
}

/** Prepares the walk for a retry; false when a retry would not help. */
function beginAgain<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
  error: unknown,
): boolean {
  const stream = error instanceof StreamTrouble ? error.stream : null
  const cause = error instanceof StreamTrouble ? error.cause : error
  if (cause instanceof ReplacedRows && !windowRead.renewed) {
    windowRead.renewed = true
    renew(state)
  } else if (
    stream !== null &&
    !windowRead.restarted.has(stream) &&
    (cause instanceof ShiftedRows || (windowRead.resumed.has(stream) && mayBeStaleCursor(cause)))
  ) {
    windowRead.restarted.add(stream)
    windowRead.pagesLeft += restart(state, stream)
  } else {
    return false
  }
  windowRead.shown.clear()
  windowRead.mapped.clear()
  windowRead.mappedTo = windowRead.offset
  windowRead.fetched.clear()
  windowRead.steady = new Set()
  return true
}

/** Inconsistent pages of the provider are reported as an unreadable answer. */
function toFailure(provider: Provider, cause: unknown): unknown {
  if (cause instanceof ContestedWalk) {
    const detail = 'other processes were reading the same rows'
    return new UpstreamError(provider, { kind: 'unavailable', status: null, detail }, cause)
  }
  const detail = toDetail(cause)
  return detail === null ? cause : new UpstreamError(provider, { kind: 'malformed', detail }, cause)
}

function toDetail(cause: unknown): string | null {
  if (cause instanceof CircularPages) return 'the pages form a cycle'
  if (cause instanceof ShiftedRows) return 'rows moved between the pages while they were read'
  if (cause instanceof ReplacedRows) return 'none of the rows read before exists any more'
  return null
}

/** Pages read so far stay valid when the next one could not be requested. */
function isWorthKeeping(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return true
  const { failure } = error
  return failure.kind === 'throttled' || (failure.kind === 'unavailable' && failure.status === null)
}

/** A provider may answer an expired cursor with any status, also with a 5xx. */
function mayBeStaleCursor(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return false
  const { failure } = error
  return failure.kind === 'rejected' || (failure.kind === 'unavailable' && failure.status !== null)
}
