/**
 * One window of a connection's rows, for transactions and trades alike: it opens or resumes the walk, checks a
 * doubted end, follows an account that moved, and makes the pagination object. The differences between the two
 * operations are passed in as plain values.
 */
import { createHash } from 'node:crypto'
import type { Pagination } from '#contract/resources.ts'
import type { Walk, WalkWindow } from '#paging/walk.ts'
import type { WalkPlace } from '#paging/walk-cache.ts'
import type { CallContext } from '#providers/port.ts'
import { followMoved } from './follow-moved.ts'
import type { ReadContext, ReadDeps, Reading } from './read-context.ts'
import { refuseRevoked, type Target, toGuardTarget } from './target.ts'

export interface RowsRequest<Row> {
  readonly operation: 'list_transactions' | 'list_trades'
  readonly cacheSeconds: number
  /** The query as the caller wrote it, without limit and offset: windows of equal text share their pages. */
  readonly identity: readonly (string | undefined)[]
  readonly offset: number
  readonly limit: number
  readonly pageCap: (target: Target) => number | null
  /** The breaker applies to transactions only (reading R21). */
  readonly breaker: boolean
  /** Whether `total` may be shown when there are more rows. */
  readonly totalWhileMore: boolean
  readonly find: () => Promise<Target>
  readonly startWalk: (target: Target, place: WalkPlace) => Walk<Row>
  readonly confirmEmpty: (target: Target, call: CallContext) => Promise<void>
}

export interface RowsBody<Row> {
  data: Row[]
  pagination: Pagination
}

/**
 * Reads the window; throws ApiError. `finish` turns a row and its number among identical ones into the public row.
 */
export async function readRows<Row>(
  given: { readonly deps: ReadDeps; readonly context: ReadContext },
  request: RowsRequest<Row>,
  finish: (row: Row, copy: number) => Row,
): Promise<Reading<RowsBody<Row>>> {
  const { deps, context } = given
  const target = await request.find()
  refuseRevoked(target.connection)
  const guardTarget = toGuardTarget(target, context.caller.userId, request.breaker)
  const window = await deps.guard.run(guardTarget, context.signal, (call) =>
    followMoved({ deps, target, find: request.find, call }, (current) =>
      readWindow({ deps, context, request, target: current, call }),
    ),
  )
  return { ...toReading(request, window, finish), staleAt: window.staleAt }
}

/** One request to the provider. */
interface WindowQuestion<Row> {
  readonly deps: ReadDeps
  readonly context: ReadContext
  readonly request: RowsRequest<Row>
  readonly target: Target
  readonly call: CallContext
}

async function readWindow<Row>(question: WindowQuestion<Row>): Promise<WalkWindow<Row>> {
  const { deps, request, target, call } = question
  const key = walkKey(question)
  const walk = deps.walks.open(key, request.cacheSeconds * 1000, (place) =>
    request.startWalk(target, place),
  )
  const { offset, limit } = request
  const pageCap = request.pageCap(target)
  // Reading R20b: a doubted end is trusted only when the consent is still active.
  const confirmEnd = () => request.confirmEmpty(target, call)
  try {
    return await walk.window({ offset, limit, pageCap, confirmEnd }, call)
  } finally {
    deps.walks.keep(key, walk)
  }
}

function walkKey<Row>({ context, request, target }: WindowQuestion<Row>): string {
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
 * The pagination object (readings R17, R18). When a cap cut the page short, `limit` is its number of places, so that
 * the next page begins at offset + limit. It has fewer rows than places when some were deleted at the provider since
 * they were read: their places stay empty.
 */
function toReading<Row>(
  request: RowsRequest<Row>,
  window: WalkWindow<Row>,
  finish: (row: Row, copy: number) => Row,
): Reading<RowsBody<Row>> {
  const data = window.rows.map(({ row, copy }) => finish(row, copy))
  const hasMore = !window.complete || request.offset + window.places < window.seen
  const cutShort = !window.complete && window.places < request.limit
  return {
    body: {
      data,
      pagination: {
        total: hasMore && !request.totalWhileMore ? null : window.seen,
        limit: cutShort ? window.places : request.limit,
        offset: request.offset,
        hasMore,
      },
    },
    truncated: !window.complete,
    // An empty page of an unfinished walk is requested again until its rows are read, so it must not be cached.
    cacheable: !(cutShort && data.length === 0),
  }
}
