/**
 * Records what live reads prove about a consent: that it is active although its connection has another status
 * (reading R20b), that it is lost although nothing failed (balances), and that the connection was refreshed
 * just now where the provider reports no times. It wraps the adapters and changes no answer; a note that
 * cannot be written is reported.
 */
import { LRUCache } from 'lru-cache'
import type { ConnectionStatus } from '#contract/resources.ts'
import type { WindowStore } from '#fast/port.ts'
import { atMost } from '#kernel/at-most.ts'
import type { ConnectionId, UpstreamId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import { minuteMs } from '#kernel/time.ts'
import { isPart } from '#providers/empty-answer.ts'
import { UpstreamError } from '#providers/failure.ts'
import type {
  Adapter,
  Adapters,
  BalanceQuery,
  BalanceReading,
  BankingAdapter,
  BrokerageAdapter,
  CallContext,
  ConnectionRef,
  Login,
  RowPage,
  RowReader,
} from '#providers/port.ts'
import type { Store } from '#store/ports/store.ts'
import { readProviderTime } from './discovery/refreshed-at.ts'
import { markLost } from './mark-lost.ts'

export interface ConsentMonitorOptions {
  readonly store: Pick<Store, 'connections'>
  readonly clock: Clock
  readonly windows: Pick<WindowStore, 'take'>
  /** A note could not be written, or the provider not called: logged and counted; the read continues. */
  readonly onFailure: (error: unknown) => void
}

export interface ConsentMonitor {
  /** Wraps the adapters. */
  watch(adapters: Adapters): Adapters
  /** Resolves when pending notes are written. */
  close(): Promise<void>
}

/** Where a provider itself lists active consents, it is called at most once in this time per login. */
const askEveryMs = minuteMs
/** The time of the last read is stored at most once in this time per connection. */
const noteEveryMs = minuteMs
const maxRemembered = 10_000

/** Statuses that a proof of an active consent ends. A `revoked` one becomes active only by linking. */
const doubtful: readonly ConnectionStatus[] = ['invalidated', 'pending_mfa']

interface Seen {
  readonly login: Login
  readonly connection: ConnectionRef
}

/** What the wrapped adapters need. */
interface WatchOptions extends ConsentMonitorOptions {
  readonly notes: ReturnType<typeof makeRefreshNotes>
  /** Connections of requests whose proof was stored already, once for all pages of a request. */
  readonly revived: WeakSet<ConnectionRef>
}

/** Makes the process's consent monitor. */
export function makeConsentMonitor(options: ConsentMonitorOptions): ConsentMonitor {
  const watch: WatchOptions = {
    ...options,
    notes: makeRefreshNotes(options),
    revived: new WeakSet(),
  }
  return {
    watch(adapters) {
      const watched = Object.entries(adapters).map(([provider, adapter]) => [
        provider,
        adapter.category === 'banking' ? watchBank(watch, adapter) : watchBroker(watch, adapter),
      ])
      return Object.fromEntries(watched)
    },
    close: () => watch.notes.close(),
  }
}

function watchBank(options: WatchOptions, bank: BankingAdapter): BankingAdapter {
  const { balances } = bank
  return {
    ...bank,
    confirmEmpty: watchEmpty(options, bank),
    transactions: watchRows(options, bank, bank.transactions),
    ...(balances === undefined
      ? {}
      : {
          async balances(query, call) {
            const reading = await balances(query, call)
            await balancesCame(options, { adapter: bank, query, reading }, call)
            return reading
          },
        }),
  }
}

function watchBroker(options: WatchOptions, broker: BrokerageAdapter): BrokerageAdapter {
  return {
    ...broker,
    confirmEmpty: watchEmpty(options, broker),
    trades: watchRows(options, broker, broker.trades),
    async holdings(query, call) {
      const holdings = await broker.holdings(query, call)
      if (holdings.length > 0) await rowsCame(options, broker, query, call)
      return holdings
    },
  }
}

function watchRows<Page extends RowPage<unknown>>(
  options: WatchOptions,
  adapter: Adapter,
  reader: RowReader<Page>,
): RowReader<Page> {
  return {
    ...reader,
    async read(query, cursor, call) {
      const page = await reader.read(query, cursor, call)
      if (page.ownRows > 0) await rowsCame(options, adapter, query, call)
      return page
    },
  }
}

function watchEmpty(options: WatchOptions, adapter: Adapter): Adapter['confirmEmpty'] {
  return async (login, connection, call, asked) => {
    await adapter.confirmEmpty(login, connection, call, asked)
    // That a part of a broker's data is ready and shared does not prove that the consent is active.
    if (adapter.category === 'brokerage' && asked !== undefined && isPart(asked)) return
    if (adapter.freshness === 'reads') {
      options.notes.refreshed(connection.id, options.clock.now(), false)
    }
    await proven(options, { login, connection }, call)
  }
}

/** Handles a read with rows. Where rows prove nothing the provider is called, with background priority. */
async function rowsCame(
  options: WatchOptions,
  adapter: Adapter,
  seen: Seen,
  call: CallContext,
): Promise<void> {
  const { login, connection } = seen
  if (adapter.freshness === 'reads')
    options.notes.refreshed(connection.id, options.clock.now(), false)
  if (!doubtful.includes(connection.status)) return
  const { listAlive } = adapter
  if (listAlive === undefined) return proven(options, seen, call)
  await attempt(options, call, async () => {
    const { allowed } = await options.windows.take(`alive:${login.id}`, 1, askEveryMs)
    if (!allowed) return
    const ask = () => listAlive(login, { ...call, priority: 'background' })
    const alive = await lostIsNone(options, login, ask)
    for (const row of await options.store.connections.listByLogin(login.id)) {
      const isDoubtful = doubtful.some((status) => status === row.status)
      if (isDoubtful && alive.includes(row.upstreamId)) await setAlive(options, login, row.id)
    }
  })
}

/** Refused credentials prove something too: no consent of the login is active. */
async function lostIsNone(
  { store }: WatchOptions,
  login: Login,
  ask: () => Promise<readonly UpstreamId[]>,
): Promise<readonly UpstreamId[]> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.failure.kind !== 'consent_lost') throw error
    const { becomes } = error.failure
    await markLost(store, { login, connectionId: null, becomes })
    return []
  }
}

interface BalancesSeen {
  readonly adapter: Adapter
  readonly query: BalanceQuery
  readonly reading: BalanceReading
}

async function balancesCame(
  options: WatchOptions,
  { adapter, query, reading }: BalancesSeen,
  call: CallContext,
): Promise<void> {
  const { login } = query
  const known = reading.balances.filter((one) => one.currentBalance !== null)
  const answered = new Set(known.map(accountIdOf))
  for (const { connectionId, status, lastRefreshedAt } of reading.consents) {
    const asked = query.accounts.filter(({ connection }) => connection.id === connectionId)
    const connection = asked[0]?.connection
    if (connection === undefined) continue
    if (lastRefreshedAt !== null) {
      options.notes.refreshed(connectionId, readProviderTime(lastRefreshedAt), true)
    } else if (
      adapter.freshness === 'reads' &&
      asked.some(({ account }) => answered.has(account.id))
    ) {
      options.notes.refreshed(connectionId, options.clock.now(), false)
    }
    if (status === 'active') await proven(options, { login, connection }, call)
    else if (status !== connection.status) {
      const loss = { login, connectionId, becomes: status }
      await attempt(options, call, () => markLost(options.store, loss))
    }
  }
}

/** Stores that the consent is active, as the provider itself reported. */
async function proven(
  options: WatchOptions,
  { login, connection }: Seen,
  call: CallContext,
): Promise<void> {
  if (!doubtful.includes(connection.status) || options.revived.has(connection)) return
  options.revived.add(connection)
  await attempt(options, call, () => setAlive(options, login, connection.id))
}

function setAlive(
  { store }: WatchOptions,
  login: Login,
  connectionId: ConnectionId,
): Promise<void> {
  return store.connections.saveLearntStatus({ login, connectionId, from: doubtful, to: 'active' })
}

/** A failure here must not cost the caller the rows; an abort by the caller ends it. */
async function attempt(
  options: WatchOptions,
  call: CallContext,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    call.signal.throwIfAborted()
    options.onFailure(error)
  }
}

const accountIdOf = ({ accountId }: { readonly accountId: string }) => accountId

/** Stores refresh times in the background, so that no read waits for them. */
function makeRefreshNotes({ store, clock, onFailure }: ConsentMonitorOptions) {
  const notedAt = new LRUCache<ConnectionId, number>(atMost(maxRemembered))
  const running = new Set<Promise<void>>()
  return {
    refreshed(id: ConnectionId, at: number, isReported: boolean): void {
      const now = clock.now()
      const age = now - (notedAt.get(id) ?? Number.NEGATIVE_INFINITY)
      // A negative age means that the clock was set back; the time is then written too.
      if (age >= 0 && age < noteEveryMs) return
      notedAt.set(id, now)
      const writing = store.connections
        .setRefreshed(id, at, { isReported: isReported })
        .catch(onFailure)
      running.add(writing)
      void writing.finally(() => running.delete(writing))
    },
    async close() {
      await Promise.all(running)
    },
  }
}
