/**
 * Decides, without writing, how a connection's stored accounts become the provider's current list: which are new,
 * which changed under the same id, which are missing.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Selectable } from 'kysely'
import type { AccountId, UpstreamId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { Tables } from '../engine/tables.ts'
import type { ListedAccount, NewAccount } from '../ports/accounts.ts'
import {
  type AccountPair,
  type KnownAccount,
  matchByNumber,
  matchRenewed,
  type Unmatched,
} from './match-accounts.ts'

export interface AccountPlan {
  readonly added: readonly NewAccount[]
  readonly changed: readonly { readonly id: AccountId; readonly account: NewAccount }[]
  readonly hidden: readonly AccountId[]
}

/**
 * Matches by the provider's current id first, then by the former one where only one account names it; a row is matched once.
 * When two entries have the same id, the last one is used.
 * @param isRenewed the consent was renewed and this is its first list: ids may be new, so accounts are also matched by
 * their numbers and by elimination (`match-accounts.ts`).
 * @param isLate a later list of the same renewal: matched by numbers only. Otherwise a new id is a new account.
 */
export function planAccounts(
  known: readonly KnownAccount[],
  accounts: readonly NewAccount[],
  { isRenewed, isLate = false }: { readonly isRenewed: boolean; readonly isLate?: boolean },
): AccountPlan {
  const listed = [...new Map(accounts.map((account) => [account.upstreamId, account])).values()]
  const unmatched = new Map(known.map((row) => [row.upstreamId, row]))
  const pairs: AccountPair[] = []
  const take = (toId: (account: NewAccount) => UpstreamId | null, left: readonly NewAccount[]) => {
    const others: NewAccount[] = []
    for (const account of left) {
      const id = toId(account)
      const row = id === null ? undefined : unmatched.get(id)
      if (row === undefined) others.push(account)
      else {
        unmatched.delete(row.upstreamId)
        pairs.push({ row, account })
      }
    }
    return others
  }
  const strangers = take(({ upstreamId }) => upstreamId, listed)
  const isNamedOnce = toNamedOnce(strangers)
  const former = ({ previousUpstreamId: id }: NewAccount) => (isNamedOnce(id) ? id : null)
  const left = take(former, strangers)
  const rows = [...unmatched.values()]
  const unmatchedLists = { rows, accounts: left, listed }
  const renewed = matchLists(unmatchedLists, isRenewed ? 'first' : isLate ? 'later' : null)
  return toPlan({ rows, left, pairs, renewed })
}

function matchLists(lists: Unmatched, list: 'first' | 'later' | null): AccountPair[] {
  switch (list) {
    case 'first':
      return matchRenewed(lists)
    case 'later':
      return matchByNumber(lists)
    case null:
      return []
    default:
      return unreachable(list)
  }
}

/** Two accounts with one former id: neither of them is known to be the stored one. */
function toNamedOnce(accounts: readonly NewAccount[]) {
  const names = Map.groupBy(accounts, ({ previousUpstreamId }) => previousUpstreamId)
  return (id: UpstreamId | null) => names.get(id)?.length === 1
}

interface Matched {
  /** Not matched by an id. */
  readonly rows: readonly KnownAccount[]
  readonly left: readonly NewAccount[]
  readonly pairs: readonly AccountPair[]
  readonly renewed: readonly AccountPair[]
}

function toPlan({ rows, left, pairs, renewed }: Matched): AccountPlan {
  const found = new Set<unknown>(renewed.flatMap(({ row, account }) => [row, account]))
  return {
    added: left.filter((account) => !found.has(account)),
    changed: [...pairs, ...renewed]
      .map(({ row, account }) => ({ row, account: withKnown(row, account) }))
      .filter(({ row, account }) => differs(row, account))
      .map(({ row, account }) => ({ id: row.id, account })),
    hidden: rows.filter((row) => !row.hidden && !found.has(row)).map(({ id }) => id),
  }
}

/** Fields that the provider omitted keep their stored value. */
function withKnown(row: KnownAccount, account: NewAccount): NewAccount {
  const kept = (account.assumed ?? []).map((field) => [field, row[field]])
  return { ...account, ...Object.fromEntries(kept) }
}

/** What is compared is what would be written, so that no stored field can be left out of the comparison. */
function differs(row: KnownAccount, account: NewAccount): boolean {
  return row.hidden || !isDeepStrictEqual(toColumns(row), toColumns(account))
}

/** The columns of a listed account. Every column of the table must be here, or it does not compile. */
export function toColumns(account: ListedAccount) {
  return {
    upstream_id: account.upstreamId,
    name: account.name,
    type: account.type,
    account_number: account.accountNumber,
    currency: account.currency,
    hidden: false,
  } satisfies Omit<Selectable<Tables['accounts']>, 'id' | 'connection_id' | 'user_id'>
}
