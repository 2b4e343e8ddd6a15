/**
 * The positions of a broker's accounts, for doors that show each account by itself. One request asks for all
 * of them. Where it fails because of one account (reading R20b), each is asked for alone, so that one that is
 * not ready or not shared keeps no other from being shown. The read may find that an account has left, or has
 * another id: it has no positions in the answer, and is not one without any.
 */
import { ApiError, apiError } from '#contract/errors.ts'
import type { Holding } from '#contract/resources.ts'
import { isOfAccount } from '#providers/failure.ts'

/** The positions of one account, or why they cannot be read. */
export type AccountHoldings =
  | { readonly kind: 'read'; readonly holdings: readonly Holding[] }
  | { readonly kind: 'failed'; readonly error: unknown }

export interface HoldingsSource {
  /** For one account, or for the whole connection (null). */
  readonly ask: (accountId: string | null) => Promise<readonly Holding[]>
  /** The ids of the connection's accounts, as they are stored now. */
  readonly listKnown: () => Promise<readonly string[]>
}

/** @throws what is not about one account. */
export async function readHoldingsByAccount(
  accountIds: readonly string[],
  { ask, listKnown }: HoldingsSource,
): Promise<ReadonlyMap<string, AccountHoldings>> {
  try {
    const byAccount = Map.groupBy(await ask(null), ({ accountId }) => accountId as string)
    const isWhole = accountIds.every((id) => byAccount.has(id))
    // After the read, which may have refreshed the accounts.
    const known = new Set(isWhole ? accountIds : await listKnown())
    return new Map(
      accountIds.map((id) => {
        const holdings = byAccount.get(id) ?? (known.has(id) ? [] : null)
        return [
          id,
          holdings === null
            ? { kind: 'failed', error: apiError('account_not_found') }
            : { kind: 'read', holdings },
        ]
      }),
    )
  } catch (error) {
    if (!isOfAccount(error)) throw error
  }
  const found = new Map<string, AccountHoldings>()
  for (const id of accountIds) {
    try {
      found.set(id, { kind: 'read', holdings: await ask(id) })
    } catch (error) {
      if (!isOfAccount(error) && !hasLeft(error)) throw error
      found.set(id, { kind: 'failed', error })
    }
  }
  return found
}

/** There is no such account any more, or it has another id. */
export function hasLeft(error: unknown): boolean {
  if (error instanceof ApiError) return error.entry === 'account_not_found'
  return error instanceof Error && hasLeft(error.cause)
}
