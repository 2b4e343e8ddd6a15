/**
 * What earlier syncs have seen: keyed fingerprints of rows, packed by account and month, and nothing else
 * (readings R34b, R35). The room that writes them (src/syncs) defines the format; the store keeps bytes.
 */
import type { AccountId, UserId } from '#kernel/ids.ts'

/** `year * 12 + month - 1` of the row's local day. */
export type MonthNumber = number

export interface LedgerMonth {
  readonly accountId: AccountId
  readonly month: MonthNumber
  readonly entries: Uint8Array
}

export interface LedgerStore {
  /**
   * Creates the user's random key, sealed, unless there is one; the user has a ledger from now on (reading
   * R34b).
   * @throws OwnerGoneError
   */
  begin(userId: UserId): Promise<void>
  /**
   * The 32 bytes that key the fingerprints; null: the user has no ledger, or is gone. In a transaction it
   * holds the user's row, so that the ledger does not end before the transaction does; there it comes before
   * `SyncStore.finish`.
   */
  readKey(userId: UserId): Promise<Uint8Array | null>
  /**
   * As `readKey` in a transaction, for callers who need not wait for the key: `check` gets it before the
   * transaction is committed, at the latest with the next result of the transaction. What it throws ends the
   * transaction.
   */
  checkKey(userId: UserId, check: (key: Uint8Array | null) => void): Promise<void>
  /**
   * Deletes the key and every month, and sets `ledgerFrom` of the user's syncs to null: the first sync after
   * a new `begin` reports the look-back again (reading R34a). The user's feed becomes another one.
   */
  end(userId: UserId): Promise<void>
  /** Every month of these accounts. */
  read(accountIds: readonly AccountId[]): Promise<readonly LedgerMonth[]>
  /** Creates or replaces these months. @throws OwnerGoneError when an account is deleted. */
  write(months: readonly LedgerMonth[]): Promise<void>
  /** Deletes the months of these accounts before `month`. */
  dropBefore(accountIds: readonly AccountId[], month: MonthNumber): Promise<void>
  /** The ids of pending rows that an event announced and none took back; accounts without any are absent. */
  readPending(accountIds: readonly AccountId[]): Promise<ReadonlyMap<AccountId, readonly string[]>>
  /** Replaces them. @throws OwnerGoneError when an account is deleted. */
  writePending(ids: ReadonlyMap<AccountId, readonly string[]>): Promise<void>
  /** Totals over all users, for metrics. */
  measure(): Promise<{ readonly months: number; readonly bytes: number }>
}
