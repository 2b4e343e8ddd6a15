/**
 * Pending rows for events (reading R39), where an endpoint asks for them: those that no event announced yet,
 * and the ids of announced ones that are not pending any more. What is stored of them are their keyed ids.
 */
import type { AccountId, UserId } from '#kernel/ids.ts'
import { makePendingId } from '#providers/row-identity.ts'
import type { Store } from '#store/ports/store.ts'
import { writePending } from './event-objects.ts'
import { SyncError } from './failure.ts'
import type { PendingDraft } from './options.ts'
import type { ReadPending } from './read-rows.ts'

export interface PendingNews extends PendingDraft {
  /** What is announced after this run, by account. */
  readonly told: ReadonlyMap<AccountId, readonly string[]>
}

/** A person has some dozens at a time. */
const maxRows = 5_000

/** Whether an endpoint of the user takes them. */
export async function wantsPending(store: Pick<Store, 'endpoints'>, userId: UserId) {
  const endpoints = await store.endpoints.list(userId)
  return endpoints.some(
    ({ pending, events, health }) =>
      pending && events.includes('transactions.synced') && health !== 'disabled',
  )
}

/** Collects what a run sees of pending rows, and tells what is new and what is gone since the run before. */
export function collectPending(options: {
  readonly secret: Uint8Array
  readonly userId: UserId
  readonly accountIds: readonly AccountId[]
  /** What was announced before this run. */
  readonly told: ReadonlyMap<AccountId, readonly string[]>
  /** The day of rows that tell none. */
  readonly today: string
}) {
  const { secret, userId, accountIds, told, today } = options
  const now = new Map(accountIds.map((id) => [id, new Map<string, string>()]))
  let count = 0
  return {
    /** @throws SyncError `too_large` beyond the bound. */
    take({ accountId, key, row, details }: ReadPending): void {
      count += 1
      if (count > maxRows) throw new SyncError('too_large', 'There are too many pending rows')
      const id = makePendingId(secret, { userId, accountId }, key)
      const dated = row.date === '' ? { ...row, date: today } : row
      now.get(accountId)?.set(id, writePending(id, dated, details))
    },
    /** Nothing is news of accounts that were not read, and nothing is taken back. */
    close(unread: readonly AccountId[]): PendingNews {
      for (const id of unread) now.delete(id)
      const rows: string[] = []
      const removed: string[] = []
      for (const [accountId, listed] of now) {
        const before = new Set(told.get(accountId))
        for (const [id, text] of listed) if (!before.has(id)) rows.push(text)
        for (const id of before) if (!listed.has(id)) removed.push(id)
      }
      const after = [...now].map(([id, listed]) => [id, [...listed.keys()]] as const)
      return { rows, removed, told: new Map(after) }
    },
  }
}
