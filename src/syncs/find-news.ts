/**
 * Finds what changed for a claimed sync: it refreshes the connection and its accounts, then reads every row
 * of the look-back and compares it with the ledger. It writes only what a refresh writes.
 */

import type { AccountId } from '#kernel/ids.ts'
import { type Millis, toMicros, toMillis } from '#kernel/time.ts'
import { factsOf } from '#providers/all-facts.ts'
import { consentGone } from '#providers/failure.ts'
import type { Guard } from '#providers/guard.ts'
import type { CallContext } from '#providers/port.ts'
import type { LedgerMonth, MonthNumber } from '#store/ports/ledgers.ts'
import type { ClaimedSync } from '#store/ports/syncs.ts'
import { contentVersionOf } from './event-objects.ts'
import { notConfigured, SyncError } from './failure.ts'
import { divideByReading, markRead } from './first-reading.ts'
import { firstDayOf, monthOf } from './months.ts'
import { collectNews, type RowChanges } from './news.ts'
import type { SyncOptions } from './options.ts'
import { collectPending, type PendingNews, wantsPending } from './pending-news.ts'
import { type RowTakers, readSyncRows } from './read-rows.ts'
import { firstLookBackFrom, isReadingRows, lookBackFrom } from './schedule.ts'
import { findSyncTarget, type SyncTarget } from './target.ts'

/** What a run found. */
export type SyncFinding =
  /** The person has no ledger (reading R34b): no row was read. */
  | { readonly kind: 'no_ledger' }
  /** The schedule may not read rows yet. */
  | { readonly kind: 'no_rows' }
  | RowsFinding

export interface RowsFinding {
  readonly kind: 'rows'
  readonly news: RowChanges
  /** Null: no endpoint asks for them. */
  readonly pending: PendingNews | null
  /** The user's key under which the fingerprints were made. */
  readonly key: Uint8Array
  /** When reading began. */
  readonly readAt: number
  /** The ledger has every row from this instant on. */
  readonly ledgerFrom: number
  /** Earlier months are no longer needed. */
  readonly keepFrom: MonthNumber
  /** Accounts whose ledger has earlier months. */
  readonly outdated: readonly AccountId[]
  /** Accounts that the provider refused, beside others that it gave. */
  readonly unread: readonly AccountId[]
}

/** @throws UpstreamError, ApiError, SyncError, LeaseLostError, LedgerFormatError, the signal's reason. */
export async function findNews(
  options: SyncOptions,
  sync: ClaimedSync,
  signal: AbortSignal,
): Promise<SyncFinding> {
  const { clock, store } = options
  const { scheduledReadHours, category, whenInvalidated = consentGone } = factsOf(sync.provider)
  if (!isFresh(sync)) {
    await options.refresh(sync.connectionId, { signal, priority: 'background' })
  }
  signal.throwIfAborted()
  const target = await findSyncTarget(options, sync)
  const key = await store.ledgers.readKey(sync.userId)
  const isReading = key !== null && isReadingRows(sync, { now: clock.now(), scheduledReadHours })
  // Where no rows are read, the refresh alone shows a bank's refusal, which is no success. A broker's login
  // that is disabled is a status that was read.
  const isRefused = category === 'banking' && target.connection.status === 'invalidated'
  if (!isReading && isRefused) throw new SyncError('consent_lost', whenInvalidated)
  if (key === null) return { kind: 'no_ledger' }
  if (!isReading) return { kind: 'no_rows' }
  return findRows(options, { sync, target, key }, signal)
}

/** Linking has just read the connection and its accounts. */
const isFresh = ({ reason, failures }: ClaimedSync) => reason === 'linked' && failures === 0

interface Search {
  readonly sync: ClaimedSync
  readonly target: SyncTarget
  readonly key: Uint8Array
}

async function findRows(
  options: SyncOptions,
  { sync, target, key }: Search,
  signal: AbortSignal,
): Promise<RowsFinding> {
  const adapter = options.adapters[sync.provider]
  if (adapter === undefined) {
    throw new SyncError('not_configured', notConfigured)
  }
  const { accounts, zone } = target
  const accountIds = accounts.map(({ id }) => id)
  const readAt = options.clock.now()
  const from = lookBackFrom(readAt, sync, factsOf(sync.provider).laterLookBackDays)
  const months = await options.store.ledgers.read(accountIds)
  const contentVersion = contentVersionOf(adapter.category)
  const collector = collectNews({ key, accountIds, months, contentVersion })
  const pending = adapter.category === 'banking' ? await openPending(options, target, readAt) : null
  const takers: RowTakers = {
    row: (row) => collector.take(row),
    ...(pending === null ? {} : { pending: (row) => pending.take(row) }),
  }
  const unread: AccountId[] = []
  await inBackground(options.guard, { sync, target, signal }, async (call) => {
    const since = { usual: from, first: firstLookBackFrom(readAt) }
    for (const one of divideByReading(accounts, months, since)) {
      const source = { adapter, ...target, accounts: one.accounts }
      unread.push(...(await readSyncRows(source, { from: one.from, now: readAt }, call, takers)))
    }
  })
  const readFrom = monthOf(zone.dayOf(toMicros(from)))
  const news = await collector.close(readFrom, unread)
  const keepFrom = Math.min(readFrom, newestOf([...months, ...news.months]) ?? readFrom) - 1
  const kept = toMillis(zone.startOfDay(firstDayOf(keepFrom)))
  const readIds = accountIds.filter((id) => !unread.includes(id))
  const marks = markRead(readIds, [...months, ...news.months], { keepFrom, contentVersion })
  return {
    kind: 'rows',
    news: { ...news, months: [...news.months, ...marks] },
    pending: pending?.close(unread) ?? null,
    key,
    readAt,
    ledgerFrom: Math.max(sync.ledgerFrom ?? from, kept),
    keepFrom,
    outdated: readIds.filter((id) =>
      months.some((one) => one.accountId === id && one.month < keepFrom),
    ),
    unread,
  }
}

/** Null: no endpoint asks for pending rows. */
async function openPending(
  { store, pendingSecret: secret }: SyncOptions,
  { userId, accounts, zone }: SyncTarget,
  now: Millis,
) {
  if (!(await wantsPending(store, userId))) return null
  const accountIds = accounts.map(({ id }) => id)
  const told = await store.ledgers.readPending(accountIds)
  return collectPending({ secret, userId, accountIds, told, today: zone.dayOf(toMicros(now)) })
}

/** Those of the newest rows are kept: a clock that is ahead by months would drop all of them. */
function newestOf(months: readonly LedgerMonth[]): MonthNumber | null {
  let newest: MonthNumber | null = null
  for (const { month } of months) newest = Math.max(newest ?? month, month)
  return newest
}

interface Work {
  readonly sync: ClaimedSync
  readonly target: SyncTarget
  readonly signal: AbortSignal
}

/** Users' requests go first. A consent lost meanwhile is stored. Only users' requests count (reading R21). */
function inBackground<T>(
  guard: Guard,
  { sync, target, signal }: Work,
  work: (call: CallContext) => Promise<T>,
): Promise<T> {
  const { login, connection } = target
  const guarded = {
    provider: sync.provider,
    userId: sync.userId,
    loginId: login.id,
    loginVersion: login.version,
    connectionId: connection.id,
    breaker: false,
  }
  return guard.run(guarded, signal, (call) => work({ ...call, priority: 'background' }))
}
