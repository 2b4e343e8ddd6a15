/**
 * Reads every row of a connection from an instant on, in full (reading R23), through a separate walk: one window after
 * another until the provider has no more rows. When pages shift, a consent ends meanwhile or an empty answer is not
 * confirmed (reading R20b), it throws the adapters' UpstreamError. Money data is dropped when the read ends.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Trade, Transaction } from '#contract/resources.ts'
import type { AccountId } from '#kernel/ids.ts'
import { microsPerMs, type Zone } from '#kernel/time.ts'
import { makePageMemory } from '#paging/page-memory.ts'
import { makeWalk, type Walk, type WalkOptions } from '#paging/walk.ts'
import { doubtEmpty } from '#providers/doubt-empty.ts'
import { UpstreamError } from '#providers/failure.ts'
import type {
  AccountRef,
  Adapter,
  BankingAdapter,
  BrokerageAdapter,
  CallContext,
  ConnectionRef,
  Login,
  RowPage,
  RowReader,
  TransactionDetails,
  TransactionPage,
} from '#providers/port.ts'
import { type EventObject, toTradeObject, toTransactionObject } from './event-objects.ts'
import { SyncError } from './failure.ts'

export interface RowsSource {
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

export interface RowsRange {
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly now: number
}

/** Bytes of page bodies that one run holds; an evicted body is fetched again when its rows are needed. */
const maxPageBytes = 24 * 1024 * 1024
/** Rows mapped at a time: the provider's largest page. */
const windowRows = 1000
/** After this many rows the run yields to other work of the event loop. */
const rowsPerTurn = 100

/** Passes every row to `take`, in the provider's order. `take` may throw to end the read. */
export async function readRows(
  source: RowsSource,
  range: RowsRange,
  call: CallContext,
  take: (row: ReadRow) => void,
): Promise<void> {
  const { adapter } = source
  if (adapter.category === 'banking') {
    const walk = walkBank(adapter, source, range)
    await readAll({ walk, source, call }, ({ row }) => take(toBankRow(row)))
  } else {
    const walk = walkBroker(adapter, source, range)
    await readAll({ walk, source, call }, ({ row, copy }) => take(toBrokerRow(row, copy)))
  }
}

interface FullRow {
  readonly row: Transaction
  readonly details: TransactionDetails
}

/** The reader of a bank, whose rows include the fields that only events show. */
function readDetails(reader: RowReader<TransactionPage>): RowReader<RowPage<FullRow>> {
  const open = (page: TransactionPage): RowPage<FullRow> => ({
    ...page,
    map: (index) => ({ row: page.map(index), details: page.details(index) }),
  })
  return {
    pageSize: reader.pageSize,
    read: async (query, cursor, call) =>
      open(await waitForLimit(call, () => reader.read(query, cursor, call))),
    open: (query, cursor, body) => open(reader.open(query, cursor, body)),
  }
}

function walkBank(
  adapter: BankingAdapter,
  { login, connection, accounts, zone }: RowsSource,
  { from, now }: RowsRange,
): Walk<FullRow> {
  const window = { from: from * microsPerMs, to: now * microsPerMs, isOpen: true }
  return makeWalk(
    {
      reader: readDetails(adapter.transactions),
      queries: [{ login, connection, accounts, scoped: false, window, zone, isInFull: true }],
    },
    makePlace(adapter),
  )
}

/** The provider lists activities per account; the accounts are merged, newest first, as for REST. */
function walkBroker(
  adapter: BrokerageAdapter,
  { login, connection, accounts, zone }: RowsSource,
  { from }: RowsRange,
): Walk<Trade> {
  const window = { from: from * microsPerMs, to: null }
  // Reading R20b: an account whose rows cannot be read yet has none that are gone, and the run writes nothing.
  const trades =
    accounts.length === 1
      ? adapter.trades
      : doubtEmpty(adapter.trades, (empty, call) => {
          const asked = { what: 'transactions', accounts: empty, among: accounts } as const
          return adapter.confirmEmpty(login, connection, call, asked)
        })
  const inOrder = accounts.toSorted((left, right) => (left.id < right.id ? -1 : 1))
  return makeWalk(
    {
      reader: {
        ...trades,
        read: (query, cursor, call) => waitForLimit(call, () => trades.read(query, cursor, call)),
      },
      queries: inOrder.map((account) => ({
        login,
        connection,
        accounts: [account],
        scoped: true,
        window,
        zone,
        isInFull: true,
      })),
      keyOf: (page, index) => page.tradeKey(index),
    },
    makePlace(adapter),
  )
}

/** The walk of a run is not shared, and lives as long as the run. */
function makePlace({ provider }: Adapter): WalkOptions {
  const memory = makePageMemory(maxPageBytes)
  return { provider, memory, shared: null, expiresAt: Number.MAX_SAFE_INTEGER }
}

/** For one page: how often the run waits for a limit, and for how long at most. */
const maxWaits = 3
const maxWaitSeconds = 60

/** No client waits for a run: a short wait for a limit costs less than reading every page again in the next run. */
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

interface Reading<Row> {
  readonly walk: Walk<Row>
  readonly source: RowsSource
  readonly call: CallContext
}

async function readAll<Row>(
  { walk, source, call }: Reading<Row>,
  take: (shown: { readonly row: Row; readonly copy: number }) => void,
): Promise<void> {
  const { adapter, login, connection, accounts } = source
  const asked = { what: 'transactions', accounts } as const
  // As for REST: for a bank only the consent is checked.
  const confirmEnd = () =>
    adapter.category === 'banking'
      ? adapter.confirmEmpty(login, connection, call)
      : adapter.confirmEmpty(login, connection, call, asked)
  try {
    for (let offset = 0; ; ) {
      const request = { offset, limit: windowRows, pageCap: null, confirmEnd }
      const { rows, places, seen, complete } = await walk.window(request, call)
      for (const [index, row] of rows.entries()) {
        if (index % rowsPerTurn === 0) await takeTurn(call)
        take(row)
      }
      offset += places
      if (complete && offset >= seen) return
      if (places === 0) throw new SyncError('too_large', 'The provider’s pages do not end')
    }
  } finally {
    walk.close()
  }
}

async function takeTurn({ signal }: CallContext): Promise<void> {
  await nextTurn()
  signal.throwIfAborted()
}

function toBankRow({ row, details }: FullRow): ReadRow {
  const object = toTransactionObject(row, details)
  return { accountId: row.accountId, id: row.id, formerId: details.formerId, object }
}

/** Reading R24a: the second and later ones of identical fills are numbered. */
function toBrokerRow(trade: Trade, copy: number): ReadRow {
  const numbered = copy === 1 ? trade : { ...trade, id: `${trade.id}-${copy}` }
  const object = toTradeObject(numbered)
  return { accountId: trade.accountId, id: numbered.id, formerId: null, object }
}
