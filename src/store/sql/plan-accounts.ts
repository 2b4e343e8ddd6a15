/**
 * Decides, without writing, how a connection's stored accounts become the provider's current list: which are new,
 * which changed under the same id, which are missing.
 */
import type { AccountType } from '#contract/resources.ts'
import type { AccountId, UpstreamId } from '#kernel/ids.ts'
import type { NewAccount } from '../ports/accounts.ts'

/** An account as stored, including hidden ones. */
export interface KnownAccount {
  readonly id: AccountId
  readonly upstreamId: UpstreamId
  readonly name: string
  readonly type: AccountType
  readonly accountNumber: string | null
  readonly currency: string
  readonly hidden: boolean
}

export interface AccountPlan {
  readonly added: readonly NewAccount[]
  readonly changed: readonly { readonly id: AccountId; readonly account: NewAccount }[]
  readonly hidden: readonly AccountId[]
}

/**
 * Matches by the provider's current id first, then by the former one; a row is matched once. When two entries have
 * the same id, the last one is used.
 */
export function planAccounts(
  known: readonly KnownAccount[],
  accounts: readonly NewAccount[],
): AccountPlan {
  const wanted = new Map(accounts.map((account) => [account.upstreamId, account]))
  const unmatched = new Map(known.map((row) => [row.upstreamId, row]))
  const pairs: { readonly row: KnownAccount; readonly account: NewAccount }[] = []
  const strangers: NewAccount[] = []
  for (const account of wanted.values()) {
    const row = unmatched.get(account.upstreamId)
    if (row === undefined) strangers.push(account)
    else {
      unmatched.delete(account.upstreamId)
      pairs.push({ row, account: withKnown(row, account) })
    }
  }
  const added: NewAccount[] = []
  for (const account of strangers) {
    const former = account.previousUpstreamId
    const row = former === null ? undefined : unmatched.get(former)
    if (former === null || row === undefined) added.push(account)
    else {
      unmatched.delete(former)
      pairs.push({ row, account: withKnown(row, account) })
    }
  }
  return {
    added,
    changed: pairs
      .filter(({ row, account }) => differs(row, account))
      .map(({ row, account }) => ({ id: row.id, account })),
    hidden: [...unmatched.values()].filter((row) => !row.hidden).map((row) => row.id),
  }
}

/** Fields that the provider omitted keep their stored value. */
function withKnown(row: KnownAccount, account: NewAccount): NewAccount {
  const kept = (account.assumed ?? []).map((field) => [field, row[field]])
  return { ...account, ...Object.fromEntries(kept) }
}

function differs(row: KnownAccount, account: NewAccount): boolean {
  return (
    row.hidden ||
    row.upstreamId !== account.upstreamId ||
    row.name !== account.name ||
    row.type !== account.type ||
    row.accountNumber !== account.accountNumber ||
    row.currency !== account.currency
  )
}
