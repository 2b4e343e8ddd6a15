/**
 * Decides, without writing, how a connection's stored accounts become the provider's current list: which are
 * new, which changed under the same id, which are missing.
 */
import { isDeepStrictEqual } from 'node:util'
import type { UpstreamId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type {
  AccountPlan,
  KnownAccount,
  ListedAccount,
  PlanAccounts,
} from '#store/ports/accounts.ts'
import {
  type AccountPair,
  matchByName,
  matchByNumber,
  matchRenewed,
  type NewAccount,
  type Unmatched,
} from './match-accounts.ts'

/**
 * Makes the stored accounts equal to `accounts`, the provider's list. Known ones keep our id: matched by the
 * provider's current id first, then by the former one where only one account names it; a row is matched once.
 * When two entries have the same id, the last one is used. Missing ones are hidden and keep their id if they
 * return. In the first list after a renewal of the consent ids may be new, so accounts are also matched by
 * their masked numbers and by elimination (`match-accounts.ts`); in later lists of the same renewal by
 * numbers only. Otherwise a new id is a new account, except where ids change at any time (`hasUnstableIds`):
 * there the accounts that are left are matched by their names.
 */
export function planAccounts(
  accounts: readonly NewAccount[],
  { hasUnstableIds = false }: { readonly hasUnstableIds?: boolean } = {},
): PlanAccounts {
  const listed = [...new Map(accounts.map((account) => [account.upstreamId, account])).values()]
  return (known, { isRenewed, isLate = false }) =>
    planListed(known, listed, {
      list: isRenewed ? 'first' : isLate ? 'later' : null,
      hasUnstableIds,
    })
}

interface MatchRules {
  /** Which list a renewal has read: its first one or a later one; null: there was no renewal. */
  readonly list: 'first' | 'later' | null
  readonly hasUnstableIds: boolean
}

function planListed(
  known: readonly KnownAccount[],
  listed: readonly NewAccount[],
  { list, hasUnstableIds }: MatchRules,
): AccountPlan {
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
  const unknown: Unmatched = { rows, accounts: left, listed }
  const renewed = matchLists(unknown, list)
  const named = hasUnstableIds ? matchByName(without(unknown, renewed)) : []
  return toPlan({ rows, left, pairs, renewed: [...renewed, ...named] })
}

function without({ rows, accounts, listed }: Unmatched, pairs: readonly AccountPair[]): Unmatched {
  const taken = new Set<unknown>(pairs.flatMap(({ row, account }) => [row, account]))
  return {
    rows: rows.filter((row) => !taken.has(row)),
    accounts: accounts.filter((account) => !taken.has(account)),
    listed,
  }
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
  /** Those that no id matches. */
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

function differs(row: KnownAccount, account: NewAccount): boolean {
  return row.hidden || !isDeepStrictEqual(toListed(row), toListed(account))
}

/** What is compared: without one of the fields it does not compile. */
function toListed(account: ListedAccount): ListedAccount {
  const { upstreamId, name, type, accountNumber, currency } = account
  return { upstreamId, name, type, accountNumber, currency }
}
