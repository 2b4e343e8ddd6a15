/**
 * The positions of a broker's accounts, for doors that show each account by itself. One request asks for all
 * of them. Where it fails because of one account (reading R20b), each is asked for alone, so that one that is
 * not ready or not shared keeps no other from being shown.
 */
import type { Holding } from '#contract/resources.ts'
import { isOfAccount } from '#providers/failure.ts'

/** The positions of one account, or why they cannot be read. */
export type AccountHoldings =
  | { readonly kind: 'read'; readonly holdings: readonly Holding[] }
  | { readonly kind: 'failed'; readonly error: unknown }

/**
 * @param ask for one account, or for the whole connection (null).
 * @throws what is not about one account.
 */
export async function readHoldingsByAccount(
  accountIds: readonly string[],
  ask: (accountId: string | null) => Promise<readonly Holding[]>,
): Promise<ReadonlyMap<string, AccountHoldings>> {
  try {
    const byAccount = Map.groupBy(await ask(null), ({ accountId }) => accountId as string)
    return new Map(
      accountIds.map((id) => [id, { kind: 'read', holdings: byAccount.get(id) ?? [] }]),
    )
  } catch (error) {
    if (!isOfAccount(error)) throw error
  }
  const found = new Map<string, AccountHoldings>()
  for (const id of accountIds) {
    try {
      found.set(id, { kind: 'read', holdings: await ask(id) })
    } catch (error) {
      if (!isOfAccount(error)) throw error
      found.set(id, { kind: 'failed', error })
    }
  }
  return found
}
