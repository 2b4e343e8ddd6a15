/**
 * What a narrow key or agent may see (reading R43): kinds of data, connections and accounts. Each limit
 * narrows further, and what is outside does not exist for it. A limit names ids and is never widened: where
 * what it names is gone, nothing is left to see.
 */
import { createHash } from 'node:crypto'
import type { AccountId, ConnectionId } from '#kernel/ids.ts'
import type { KeyScope } from './key-scopes.ts'

export interface Reach {
  /**
   * Equal for equal reaches and different for others: a part of the names of cached answers and snapshots.
   */
  readonly name: string
  /** Null: every kind of data. */
  readonly scopes: ReadonlySet<KeyScope> | null
  /** Null: every connection, later ones too. */
  readonly connections: ReadonlySet<ConnectionId> | null
  /** Null: every account of these connections, later ones too. */
  readonly accounts: ReadonlySet<AccountId> | null
}

/** What limits a key or a grant, as it is stored; null: no limit of this kind. */
export interface ReachLimits {
  readonly scopes: readonly KeyScope[] | null
  readonly connectionIds: readonly ConnectionId[] | null
  readonly accountIds: readonly AccountId[] | null
}

/** Null where nothing is limited. */
export function toReach({ scopes, connectionIds, accountIds }: ReachLimits): Reach | null {
  if (scopes === null && connectionIds === null && accountIds === null) return null
  const limits = [scopes, connectionIds, accountIds].map((limit: readonly string[] | null) =>
    limit === null ? null : [...new Set(limit)].toSorted(),
  )
  return {
    name: createHash('sha256').update(JSON.stringify(limits)).digest('base64url'),
    scopes: scopes === null ? null : new Set(scopes),
    connections: connectionIds === null ? null : new Set(connectionIds),
    accounts: accountIds === null ? null : new Set(accountIds),
  }
}

/** `reach` absent: everything. */
export function hasKeyScope(reach: Reach | undefined, scope: KeyScope): boolean {
  return reach?.scopes?.has(scope) ?? true
}

/** The accounts that it may see, in the given order. */
export function withinReach<
  Row extends { readonly id: AccountId; readonly connectionId: ConnectionId },
>(reach: Reach | undefined, accounts: readonly Row[]): readonly Row[] {
  if (reach === undefined) return accounts
  return accounts.filter(
    ({ id, connectionId }) =>
      (reach.connections?.has(connectionId) ?? true) && (reach.accounts?.has(id) ?? true),
  )
}

/**
 * Which connections it may see: with chosen accounts, those that have one of them. Null: all.
 * @param accounts of the user; read only where accounts are chosen.
 */
export async function findReachable(
  reach: Reach | undefined,
  accounts: () => Promise<
    readonly { readonly id: AccountId; readonly connectionId: ConnectionId }[]
  >,
): Promise<ReadonlySet<ConnectionId> | null> {
  if (reach === undefined) return null
  if (reach.accounts === null) return reach.connections
  return new Set(withinReach(reach, await accounts()).map(({ connectionId }) => connectionId))
}
