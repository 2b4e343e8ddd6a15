/**
 * Which of the accounts that are kept each account of a session is. One hash identifies it; others by which
 * it may be known are compared where that one changed. Accounts of one person may share such a hash, e.g.
 * that of the name: a hash that two accounts of a list have tells nothing, and no account is taken twice.
 * Pure.
 */
import { type KeptAccount, nameAccount } from './secret.ts'

export interface HashedAccount {
  readonly identification_hash: string
  readonly identification_hashes?: readonly string[] | null | undefined
}

/** The hash that identifies it comes first. */
export const listHashes = (account: HashedAccount): readonly string[] =>
  [...new Set([account.identification_hash, ...(account.identification_hashes ?? [])])].map(
    nameAccount,
  )

export function pairAccounts<Listed extends HashedAccount>(
  listed: readonly Listed[],
  kept: readonly KeptAccount[],
): ReadonlyMap<Listed, KeptAccount> {
  const pairs = new Map<Listed, KeptAccount>()
  const taken = new Set<KeptAccount>()
  const pair = (account: Listed, known: KeptAccount | undefined) => {
    if (known === undefined || taken.has(known) || pairs.has(account)) return
    pairs.set(account, known)
    taken.add(known)
  }
  for (const account of listed) {
    const [own = ''] = listHashes(account)
    pair(account, kept.find(({ hashes }) => hashes[0] === own) ?? kept.find(({ id }) => id === own))
  }
  const ofListed = countAll(listed.map(listHashes))
  const ofKept = countAll(kept.map(({ hashes }) => hashes))
  const isTelling = (hash: string) => ofListed.get(hash) === 1 && ofKept.get(hash) === 1
  for (const account of listed) {
    const telling = new Set(listHashes(account).filter(isTelling))
    pair(
      account,
      kept.find(({ hashes }) => hashes.some((hash) => telling.has(hash))),
    )
  }
  return pairs
}

function countAll(lists: readonly (readonly string[])[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const hash of lists.flat()) counts.set(hash, (counts.get(hash) ?? 0) + 1)
  return counts
}
