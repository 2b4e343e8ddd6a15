/**
 * Bank and brokerage accounts in the store: what identifies an account, never its money. An account that the
 * provider no longer lists is hidden, and keeps its id if it returns.
 */

import type { AccountType, Provider } from '#contract/resources.ts'
import type { AccountId, ConnectionId, UpstreamId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

/**
 * The fields of an account that its provider lists. A new one is declared here, and written in `toColumns`.
 */
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

/** An account as stored, including hidden ones. */
export interface KnownAccount extends ListedAccount {
  readonly id: AccountId
  readonly hidden: boolean
}

/** How the stored accounts of a connection become the current list of its provider. */
export interface AccountPlan {
  readonly added: readonly ListedAccount[]
  readonly changed: readonly { readonly id: AccountId; readonly account: ListedAccount }[]
  readonly hidden: readonly AccountId[]
}

/**
 * Called within the transaction, possibly more than once. `isRenewed`: this is the first list since the
 * consent was renewed; `isLate`: a later one, before the end of that renewal.
 */
export type PlanAccounts = (
  known: readonly KnownAccount[],
  renewal: { readonly isRenewed: boolean; readonly isLate?: boolean },
) => AccountPlan

export interface AccountStore {
  /** Every account of the user, except those of `deleting` connections; in no order. */
  list(userId: UserId): Promise<readonly AccountRow[]>
  listByConnection(userId: UserId, connectionId: ConnectionId): Promise<readonly AccountRow[]>
  /**
   * Writes what `plan` makes of the connection's accounts, and returns those that are listed then. It also
   * ends the first list after a renewal of the consent (`ConnectionStore.repoint`, `noteRenewal`). When the
   * connection does not exist or is being deleted, nothing is written and the result is empty.
   * @param at the time of the list; absent: after the end of every renewal (`Renewal.until`).
   */
  replace(
    connectionId: ConnectionId,
    plan: PlanAccounts,
    options?: { readonly at: Millis },
  ): Promise<readonly AccountRow[]>
}
