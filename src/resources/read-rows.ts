/**
 * One window of a connection's rows, for transactions and trades alike: opens or resumes the walk, doubts an emptiness,
 * follows an account that moved, and says what the pagination object says. What differs between the two operations
 * comes in as plain values.
 */
import { createHash } from 'node:crypto'
import type { Pagination } from '#contract/resources.ts'
import { consentGone, UpstreamError } from '#providers/failure.ts'
import type { CallContext } from '#providers/port.ts'
import { followMoved } from './follow-moved.ts'
import type { ReadContext, ReadDeps, Reading } from './reading.ts'
import { PassedPage } from './row-stream.ts'
import { refuseRevoked, type Target } from './target.ts'
import type { Walk, WalkWindow } from './walk.ts'

export interface RowsRequest<Row> {
  readonly operation: 'list_transactions' | 'list_trades'
  readonly cacheSeconds: number
  /** The query as the caller wrote it, without limit and offset: windows with equal text share their pages. */
  readonly identity: readonly (string | undefined)[]
  readonly offset: number
  readonly limit: number
  readonly pageCap: (target: Target) => number | null
  /** The breaker guards transactions alone (reading R21). */
  readonly breaker: boolean
  /** Whether `total` may be shown while there is more. */
  readonly totalWhileMore: boolean
  readonly find: () => Promise<Target>
  readonly startWalk: (target: Target) => Walk<Row>
  readonly confirmEmpty: (target: Target, call: CallContext) => Promise<void>
}

export interface RowsBody<Row> {
  data: Row[]
  pagination: Pagination
}

/** Reads the window; throws ApiError. `finish` turns a row and its number among identical ones into the public row. */
export async function readRows<Row>(
  given: { readonly deps: ReadDeps; readonly context: ReadContext },
  request: RowsRequest<Row>,
  finish: (row: Row, copy: number) => Row,
): Promise<Reading<RowsBody<Row>>> {
  const { deps, context } = given
  const target = await request.find()
  refuseRevoked(target.connection)
  const guardTarget = {
    provider: target.provider,
    userId: context.caller.userId,
    loginId: target.login.id,
    connectionId: target.connection.id,
    breaker: request.breaker,
  }
  const { window, staleAt } = await deps.guard.run(guardTarget, context.signal, (call) =>
    followMoved({ deps, target, find: request.find, call }, (current) =>
      readConfirmed({ deps, context, request, target: current, call }),
    ),
  )
  return { ...toReading(request, window, finish), staleAt }
}

interface FoundWindow<Row> {
  readonly window: WalkWindow<Row>
  /** When the walk's oldest page is over: the answer may be cached no longer than that (reading R19). */
  readonly staleAt: number
}

/** One request on its way to the provider. */
interface Attempt<Row> {
  readonly deps: ReadDeps
  readonly context: ReadContext
  readonly request: RowsRequest<Row>
  readonly target: Target
  readonly call: CallContext
}

async function readConfirmed<Row>(attempt: Attempt<Row>): Promise<FoundWindow<Row>> {
  const { deps, request, target } = attempt
  const key = walkKey(attempt)
  const ttlMs = request.cacheSeconds * 1000
  const start = () => deps.walks.open(key, ttlMs, () => request.startWalk(target))
  let { walk, expiresAt: staleAt } = start()
  const resumed = walk.isResumed()
  try {
    return { window: await readWindow(attempt, walk), staleAt }
  } catch (error) {
    if (error instanceof PassedPage) return await readAside(attempt)
    if (!isWorthKeeping(error)) deps.walks.drop(key, walk)
    if (!resumed || !mayBeStaleCursor(error))
      throw error
      // A cursor of an earlier request may have grown too old: read once more from the first page.
    ;({ walk, expiresAt: staleAt } = start())
    return { window: await readWindow(attempt, walk), staleAt }
  } finally {
    deps.walks.keep(key, walk)
  }
}

/** A window before the pages that a long walk still holds: read beside it, so that those who follow it are not held up. */
async function readAside<Row>(attempt: Attempt<Row>): Promise<FoundWindow<Row>> {
  const { deps, request, target } = attempt
  const staleAt = deps.clock.now() + request.cacheSeconds * 1000
  const walk = request.startWalk(target)
  try {
    return { window: await readWindow(attempt, walk), staleAt }
  } finally {
    walk.close()
  }
}

async function readWindow<Row>(attempt: Attempt<Row>, walk: Walk<Row>): Promise<WalkWindow<Row>> {
  const { request, target, call } = attempt
  const { offset, limit } = request
  const window = await walk.window({ offset, limit, pageCap: request.pageCap(target) }, call)
  if (walk.hasEmptyStream()) {
    await doubtEmptiness(attempt)
    walk.believe()
  }
  return window
}

/** Reading R20b: nothing at all is believed only when the consent still stands. */
async function doubtEmptiness<Row>({ request, target, call }: Attempt<Row>): Promise<void> {
  try {
    await request.confirmEmpty(target, call)
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.failure.kind !== 'consent_lost') throw error
    throw new UpstreamError(error.provider, { ...error.failure, detail: consentGone }, error)
  }
}

/** Pages already read stay worth having when the next one merely did not come. */
function isWorthKeeping(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return true
  const { failure } = error
  return failure.kind === 'throttled' || (failure.kind === 'unavailable' && failure.status === null)
}

/** Fiskil answers a cursor it does not know any more with 503, others with a 4xx. */
function mayBeStaleCursor(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return false
  const { failure } = error
  return failure.kind === 'rejected' || (failure.kind === 'unavailable' && failure.status !== null)
}

function walkKey<Row>({ context, request, target }: Attempt<Row>): string {
  const parts = [
    request.operation,
    context.caller.userId,
    context.caller.epoch,
    target.connection.id,
    target.accounts.map((account) => account.upstreamId),
    request.identity.map((part) => part ?? null),
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64')
}

/**
 * The pagination object (readings R17, R18). A page that a cap cut short says in `limit` how many rows it has, so that
 * offset + limit is where the next one begins.
 */
function toReading<Row>(
  request: RowsRequest<Row>,
  window: WalkWindow<Row>,
  finish: (row: Row, copy: number) => Row,
): Reading<RowsBody<Row>> {
  const data = window.rows.map(({ row, copy }) => finish(row, copy))
  const hasMore = !window.complete || request.offset + data.length < window.seen
  const cutShort = !window.complete && data.length < request.limit
  return {
    body: {
      data,
      pagination: {
        total: hasMore && !request.totalWhileMore ? null : window.seen,
        limit: cutShort ? data.length : request.limit,
        offset: request.offset,
        hasMore,
      },
    },
    truncated: !window.complete,
    // An empty page of a walk that goes on is asked for again until its rows are met: it must not be kept.
    cacheable: !(cutShort && data.length === 0),
  }
}
