/**
 * One window of a connection's rows, for transactions and trades alike: it asks for the window, checks a
 * doubted end, follows an account that moved, and makes the pagination object. The differences between the
 * two operations are passed in as plain values.
 */
import { createHash } from 'node:crypto'
import type { Operation } from '#contract/operations.ts'
import type { Pagination } from '#contract/resources.ts'
import type { RowSource } from '#paging/take-page.ts'
import type { RowOf, Window } from '#paging/windows.ts'
import type { CallContext, RowPage } from '#providers/port.ts'
import { reportedTime, toAge } from './data-age.ts'
import { followMoved } from './follow-moved.ts'
import type { ReadContext, ReadOptions, ReadResult } from './read-context.ts'
import { refuseRevoked, type Target, toGuardTarget } from './target.ts'

export interface RowsRequest<Page extends RowPage<unknown>> {
  readonly operation: Pick<Operation, 'name' | 'cacheSeconds' | 'totalWhileMore'>
  /** The query as the caller wrote it, without limit and offset: windows of equal text share their pages. */
  readonly identity: readonly (string | undefined)[]
  /**
   * The identity of the same question while a date that is filled in was another one, as before midnight:
   * windows that were begun under it go on under it.
   */
  readonly formerIdentity?: readonly (string | undefined)[] | null
  readonly offset: number
  readonly limit: number
  readonly pageCap: (target: Target) => number | null
  /** The breaker applies to transactions only (reading R21). */
  readonly breaker: boolean
  readonly find: () => Promise<Target>
  readonly toSource: (target: Target) => RowSource<Page> | Promise<RowSource<Page>>
  readonly confirmEmpty: (
    target: Target,
    accounts: Target['accounts'],
    call: CallContext,
  ) => Promise<void>
}

export interface RowsBody<Row> {
  data: Row[]
  pagination: Pagination
}

/** Reads the window; throws ApiError. `finish` makes a row, with its number among equal ones, public. */
export async function readRows<Page extends RowPage<unknown>>(
  given: { readonly options: ReadOptions; readonly context: ReadContext },
  request: RowsRequest<Page>,
  finish: (row: RowOf<Page>, copy: number) => RowOf<Page>,
): Promise<ReadResult<RowsBody<RowOf<Page>>>> {
  const { options, context } = given
  const target = await request.find()
  refuseRevoked(target.connection)
  const guardTarget = toGuardTarget(target, context.caller.userId, request.breaker)
  const window = await options.guard.run(guardTarget, context.signal, (call) =>
    followMoved({ options, target, find: request.find, call }, (current) =>
      readWindow({ options, context, request, target: current, call }),
    ),
  )
  const { staleAt, asOf } = window
  const reported = reportedTime(options.adapters[target.provider], target)
  const age = toAge([asOf === undefined ? reported : asOf])
  return { ...toReading(request, window, finish), staleAt, ...age }
}

/** What one window needs. */
interface WindowQuestion<Page extends RowPage<unknown>> {
  readonly options: ReadOptions
  readonly context: ReadContext
  readonly request: RowsRequest<Page>
  readonly target: Target
  readonly call: CallContext
}

async function readWindow<Page extends RowPage<unknown>>({
  options,
  context,
  request,
  target,
  call,
}: WindowQuestion<Page>): Promise<Window<RowOf<Page>>> {
  const { windows } = options
  const { offset, limit, operation, identity, formerIdentity = null } = request
  const { userId, epoch, timezone, reach } = context.caller
  const nameOf = (texts: RowsRequest<Page>['identity']) => {
    const asked = [operation.name, userId, target.connection.id, texts.map((text) => text ?? null)]
    // Reading R43: what a narrow caller may see has snapshots of its own.
    const all = reach === undefined ? asked : [...asked, reach.name]
    return createHash('sha256').update(JSON.stringify(all)).digest('base64')
  }
  const name = nameOf(identity)
  const former = formerIdentity === null || offset === 0 ? null : nameOf(formerIdentity)
  const isFormer =
    former !== null &&
    !(await windows.hasShown(name, offset)) &&
    (await windows.hasShown(former, offset))
  const window = await windows.read({
    source: await request.toSource(target),
    owner: userId,
    name: isFormer ? former : name,
    epoch,
    zoneAndAccounts: JSON.stringify([
      timezone,
      target.accounts.map((account) => account.upstreamId),
    ]),
    ttlMs: operation.cacheSeconds * 1000,
    offset,
    limit,
    pageCap: request.pageCap(target),
    call,
    confirmEnd: (accounts = target.accounts) => request.confirmEmpty(target, accounts, call),
    onListChanged: () => options.store.users.outdate(userId),
  })
  // A walk that begins today must not meet a window of the one before.
  return isFormer ? { ...window, staleAt: 0 } : window
}

/**
 * The pagination object (readings R17, R18). When a cap cut the page short, `limit` is its number of rows, so
 * that the next page begins at offset + limit.
 */
function toReading<Page extends RowPage<unknown>>(
  request: RowsRequest<Page>,
  window: Window<RowOf<Page>>,
  finish: (row: RowOf<Page>, copy: number) => RowOf<Page>,
): ReadResult<RowsBody<RowOf<Page>>> {
  const data = window.rows.map(({ row, copy }) => finish(row, copy))
  const hasMore = !window.complete || request.offset + data.length < window.seen
  const cutShort = !window.complete && data.length < request.limit
  return {
    body: {
      data,
      pagination: {
        total: hasMore && !request.operation.totalWhileMore ? null : window.seen,
        limit: cutShort ? data.length : request.limit,
        offset: request.offset,
        hasMore,
      },
    },
    truncated: !window.complete,
    // An empty page of an unfinished read is requested again until rows are read: it must not be cached.
    cacheable: !(cutShort && data.length === 0),
  }
}
