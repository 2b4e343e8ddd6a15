/**
 * Bank and brokerage accounts in the store: what identifies an account, never its money. An account that the provider
 * no longer lists is hidden, and keeps its id if it returns.
 */
import type { AccountType, Provider } from '#contract/resources.ts'
import type { AccountId, ConnectionId, UpstreamId, UserId } from '#kernel/ids.ts'

/** The fields of an account that its provider lists. A new one is declared here, and written in `toColumns`. */
export interface ListedAccount {
  readonly upstreamId: UpstreamId
  readonly name: string
  readonly type: AccountType
  /** Masked (`xxxx1234`) before it reaches the store. */
  readonly accountNumber: string | null
  readonly currency: string
}

export interface AccountRow extends ListedAccount {
  readonly id: AccountId
  readonly connectionId: ConnectionId
  readonly userId: UserId
  readonly provider: Provider
  readonly institutionName: string
}

/** The fields that a provider may temporarily omit. */
export type AssumedField = Exclude<keyof ListedAccount, 'upstreamId'>

export interface NewAccount extends ListedAccount {
  /** The former id, when the provider gave the account a new one; our id stays. */
  readonly previousUpstreamId: UpstreamId | null
  /**
   * Fields that the provider omitted this time: a known account keeps its stored values, a new one uses the values
   * here.
   */
  readonly assumed?: readonly AssumedField[]
}

export interface AccountStore {
  /** Every account of the user, except those of `deleting` connections; in no order. */
  list(userId: UserId): Promise<readonly AccountRow[]>
  listByConnection(userId: UserId, connectionId: ConnectionId): Promise<readonly AccountRow[]>
  /**
   * Makes the connection's accounts equal to `accounts`. Known ones (by upstream id or former one) keep our id; the first
   * list after a renewal of the consent (`ConnectionStore.repoint`, `noteRenewal`) is also matched by masked numbers, and by
   * elimination where one candidate is left on either side; lists until the end of the renewal (`Renewal.until`) by masked
   * numbers only. Missing ones are hidden and keep their id if they return. When the connection does not exist or is being
   * deleted, nothing is written and the result is empty.
   * @param at the time of the list; absent: after the end of every renewal.
   */
  replace(
    connectionId: ConnectionId,
    accounts: readonly NewAccount[],
    options?: { readonly at: number },
  ): Promise<readonly AccountRow[]>
  /**
   * Stores the new upstream id that the provider gave an account; our id stays. Nothing changes when the connection has
   * no account with the former id, or one with the new id already.
   */
  repoint(
    connectionId: ConnectionId,
    ids: { readonly from: UpstreamId; readonly to: UpstreamId },
  ): Promise<void>
}
