/**
 * Reads every row of a connection from an instant on, in full (reading R23), until the provider has no more
 * rows. When pages shift, a consent ends meanwhile or an empty answer is not confirmed (reading R20b), it
 * throws the adapters' UpstreamError.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Transaction } from '#contract/resources.ts'
import type { AccountId, UserId } from '#kernel/ids.ts'
import { type Millis, toMicros, type Zone } from '#kernel/time.ts'
import { toQueries } from '#providers/by-account.ts'
import { isOfAccount, UpstreamError } from '#providers/failure.ts'
import type {
  AccountRef,
  Adapter,
  BankingAdapter,
  CallContext,
  ConnectionRef,
  Login,
  RowPage,
  RowReader,
  RowsQuery,
  TradePage,
  TransactionPage,
} from '#providers/port.ts'
import type { PendingDetails } from '#providers/row-details.ts'
import { type EventObject, toTradeObject, toTransactionObject } from './event-objects.ts'
import { SyncError } from './failure.ts'
import { type PageRow, readEvery } from './read-every.ts'

export interface RowsSource {
  readonly userId: UserId
  readonly adapter: Adapter
  readonly login: Login
  readonly connection: ConnectionRef
  readonly accounts: readonly AccountRef[]
  readonly zone: Zone
}

/** One row as an event shows it. */
export interface ReadRow {
  readonly accountId: AccountId
  readonly id: string
  /** The id it had before the provider moved it; null: it was not moved. */
  readonly formerId: string | null
  readonly object: EventObject
}

/** One pending row as an event shows it. */
export interface ReadPending {
  readonly accountId: AccountId
  /** What it is known by in its account. */
  readonly key: string
  readonly row: Transaction
  readonly details: PendingDetails
}

/** What takes the rows. */
export interface RowTakers {
  /** May throw to end the read. */
  readonly row: (row: ReadRow) => void
  /** Absent: pending rows are not wanted, and not read. */
  readonly pending?: (row: ReadPending) => void
}

export interface RowsRange {
  readonly from: Millis
  readonly now: Millis
}

/** After this many rows the run yields to other work of the event loop. */
const rowsPerTurn = 100

/**
 * Passes every row on, in the provider's order.
 * @returns the accounts that could not be read and whose rows were not passed, or not all: where a provider
 *   lists rows by account, one that it refuses keeps no other from being read.
 */
export async function readSyncRows(
  source: RowsSource,
  range: RowsRange,
  call: CallContext,
  take: RowTakers,
): Promise<readonly AccountId[]> {
  const { adapter, userId, login, connection, accounts, zone } = source
  let taken = 0
  async function takeAll<Row>(
    rows: readonly Row[],
    toReadRow: (row: Row) => ReadRow | null,
  ): Promise<void> {
    for (const row of rows) {
      if (taken % rowsPerTurn === 0) await takeTurn(call)
      taken += 1
      const read = toReadRow(row)
      if (read !== null) take.row(read)
    }
  }
  const [from, to] = [toMicros(range.from), toMicros(range.now)]
  const shared = { userId, login, connection, zone }
  const onEndless = () => new SyncError('too_large', 'The provider’s pages do not end')
  const confirmEmpty = (empty: readonly AccountRef[], among: readonly AccountRef[]) =>
    adapter.confirmEmpty(login, connection, call, { what: 'transactions', accounts: empty, among })
  if (adapter.category === 'banking') {
    const window = { from, to, isOpen: true }
    const reader = retryAfterLimit(adapter.transactions)
    const queries = toQueries(adapter, { ...shared, accounts, scoped: false, window })
    return readEach(queries, async (query) => {
      const wanted = await readPending(adapter, query, call, take.pending)
      return readEvery({
        source: { provider: adapter.provider, reader, queries: [wanted] },
        call,
        onEndless,
        confirmEnd: (empty = query.accounts) => confirmEmpty(empty, query.accounts),
        take: (rows) => takeAll(rows, (row) => toBankRow(row, take.pending)),
      })
    })
  }
  const inOrder = accounts.toSorted((left, right) => (left.id < right.id ? -1 : 1))
  await readEvery({
    source: {
      provider: adapter.provider,
      reader: retryAfterLimit(adapter.trades),
      queries: inOrder.map((account) => ({
        ...shared,
        accounts: [account],
        scoped: true,
        window: { from, to: null },
      })),
      keyOf: (page, index) => page.tradeKey(index),
    },
    call,
    onEndless,
    // Reading R20b: an account whose rows cannot be read yet has lost none, and the run writes nothing.
    confirmEnd: (empty = accounts) => confirmEmpty(empty, accounts),
    take: (rows) => takeAll(rows, toBrokerRow),
  })
  return []
}

/**
 * One query after another. An account that is refused for itself is left out, unless all of them are.
 * @returns the accounts that were left out.
 */
async function readEach(
  queries: readonly RowsQuery[],
  read: (query: RowsQuery) => Promise<void>,
): Promise<readonly AccountId[]> {
  const refused: { readonly query: RowsQuery; readonly error: unknown }[] = []
  for (const query of queries) {
    try {
      await read(query)
    } catch (error) {
      if (!isOfAccount(error)) throw error
      refused.push({ query, error })
    }
  }
  const [first] = refused
  if (first !== undefined && refused.length === queries.length) throw first.error
  return refused.flatMap(({ query }) => query.accounts.map(({ id }) => id))
}

/** A reader that waits where a limit of calls is reached, and asks again. */
const retryAfterLimit = <Page extends RowPage<unknown>>(
  reader: RowReader<Page>,
): RowReader<Page> => ({
  ...reader,
  read: (query, cursor, call) => waitForLimit(call, () => reader.read(query, cursor, call)),
})

/** For one page: how many times the run waits for a limit, and for how long at most. */
const maxWaits = 3
const maxWaitSeconds = 60

/** No client waits for a run: a short wait costs less than reading every page again later. */
async function waitForLimit<Page>(
  { signal }: CallContext,
  read: () => Promise<Page>,
): Promise<Page> {
  for (let waits = 0; ; waits += 1) {
    try {
      return await read()
    } catch (error) {
      const seconds = limitOf(error)
      if (seconds === null || seconds > maxWaitSeconds || waits === maxWaits) throw error
      await sleep(seconds * 1000, undefined, { signal }).catch(() => {
        throw signal.reason
      })
    }
  }
}

/** The wait that a provider, or our own budget for it, demands; null: the failure is not a limit. */
function limitOf(error: unknown): number | null {
  if (!(error instanceof UpstreamError) || error.failure.kind !== 'throttled') return null
  return error.failure.retryAfterSeconds
}

async function takeTurn({ signal }: CallContext): Promise<void> {
  await nextTurn()
  signal.throwIfAborted()
}

/**
 * Reads pending rows where they are wanted, before the posted ones: a row that is posted meanwhile is in both
 * rather than in none. Returns the query of these.
 */
async function readPending(
  adapter: BankingAdapter,
  asked: RowsQuery,
  call: CallContext,
  take: RowTakers['pending'],
): Promise<RowsQuery> {
  const read = take === undefined ? undefined : adapter.pending
  if (read === 'among') return { ...asked, pending: read }
  if (read !== undefined) {
    const { rows } = await waitForLimit(call, () => read(asked, call))
    for (const { key, row, details } of rows) {
      take?.({ accountId: row.accountId, key, row, details })
    }
  }
  return asked
}

/** Null: it is pending. */
function toBankRow(
  { page, index }: PageRow<TransactionPage>,
  takePending: RowTakers['pending'],
): ReadRow | null {
  const [row, details] = [page.map(index), page.details(index)]
  if (row.status === 'pending') {
    takePending?.({ accountId: row.accountId, key: row.id, row, details })
    return null
  }
  const object = toTransactionObject(row, details)
  return { accountId: row.accountId, id: row.id, formerId: details.formerId, object }
}

/** Reading R24a: the second and later ones of identical fills are numbered. */
function toBrokerRow({ page, index, copy }: PageRow<TradePage>): ReadRow {
  const trade = page.map(index)
  const numbered = copy === 1 ? trade : { ...trade, id: `${trade.id}-${copy}` }
  const object = toTradeObject(numbered)
  return { accountId: trade.accountId, id: numbered.id, formerId: null, object }
}
