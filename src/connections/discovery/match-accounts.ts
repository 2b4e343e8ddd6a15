/**
 * Finds which accounts of a renewed consent are the stored ones, where the provider gave them new ids. It
 * never guesses: a stored account and a listed one belong together only when neither has another candidate.
 * The order of both lists does not matter. Pure.
 */
import type { UpstreamId } from '#kernel/ids.ts'
import type { KnownAccount, ListedAccount } from '#store/ports/accounts.ts'

/** The fields that a provider may temporarily omit. */
export type AssumedField = Exclude<keyof ListedAccount, 'upstreamId'>

/** An account as its provider lists it now. */
export interface NewAccount extends ListedAccount {
  /** The former id, when the provider gave the account a new one; our id stays. */
  readonly previousUpstreamId: UpstreamId | null
  /** Fields omitted this time: a known account keeps its stored values, a new one uses those here. */
  readonly assumed?: readonly AssumedField[]
}

export interface AccountPair {
  readonly row: KnownAccount
  readonly account: NewAccount
}

/** What is left after the ids of the provider, and all that the provider lists. */
export interface Unmatched {
  readonly rows: readonly KnownAccount[]
  readonly accounts: readonly NewAccount[]
  readonly listed: readonly NewAccount[]
}

/**
 * By masked number first: hidden accounts return too, but one that was listed until now comes before a hidden
 * one. Then by elimination among what was listed until now: one candidate on either side, of the same type
 * and currency. Accounts whose numbers are known and differ never belong together.
 */
export function matchRenewed(lists: Unmatched): AccountPair[] {
  const { rows, accounts } = lists
  const byNumber = matchByNumber(lists)
  const taken = new Set<unknown>(byNumber.flatMap(({ row, account }) => [row, account]))
  const left = rows.filter((row) => !taken.has(row))
  const byElimination = pairUnique(
    accounts.filter((account) => !taken.has(account)),
    (account) => left.filter((row) => isAlike(row, account) && !contradicts(row, account)),
  )
  return [...byNumber, ...byElimination.filter(({ row }) => !row.hidden)]
}

/** By masked number, where type and currency are the same too. */
export function matchByNumber({ rows, accounts, listed }: Unmatched): AccountPair[] {
  return pairUnique(
    accounts.filter((account) => isSingle(account, listed)),
    (account) => prefersListed(rows.filter((row) => hasSameNumber(row, account))),
  )
}

/** By name and currency, where a provider may give an account another id at any time. */
export function matchByName({ rows, accounts, listed }: Unmatched): AccountPair[] {
  const isSame = (one: ListedAccount, other: ListedAccount) =>
    one.name === other.name && one.currency === other.currency
  return pairUnique(
    accounts.filter((account) => listed.filter((other) => isSame(other, account)).length === 1),
    (account) =>
      prefersListed(rows.filter((row) => isSame(row, account) && !contradicts(row, account))),
  )
}

/** Pairs an account with its only candidate, when that is the only candidate of the row too. */
function pairUnique(
  accounts: readonly NewAccount[],
  findCandidates: (account: NewAccount) => readonly KnownAccount[],
): AccountPair[] {
  const claims = new Map<KnownAccount, number>()
  const pairs: AccountPair[] = []
  for (const account of accounts) {
    const candidates = findCandidates(account)
    for (const row of candidates) claims.set(row, (claims.get(row) ?? 0) + 1)
    const [row] = candidates
    if (row !== undefined && candidates.length === 1) pairs.push({ row, account })
  }
  return pairs.filter(({ row }) => claims.get(row) === 1)
}

const prefersListed = (rows: readonly KnownAccount[]) => {
  const listed = rows.filter(({ hidden }) => !hidden)
  return listed.length > 0 ? listed : rows
}

/** No other account of the list has its number, type and currency. */
function isSingle(account: NewAccount, listed: readonly NewAccount[]): boolean {
  return !listed.some((other) => {
    if (other === account || other.accountNumber !== account.accountNumber) return false
    return isAlike(other, account)
  })
}

function hasSameNumber(row: KnownAccount, account: NewAccount): boolean {
  const { accountNumber } = account
  return accountNumber !== null && row.accountNumber === accountNumber && isAlike(row, account)
}

function contradicts(row: KnownAccount, account: NewAccount): boolean {
  const isKnown = row.accountNumber !== null && account.accountNumber !== null
  return isKnown && row.accountNumber !== account.accountNumber
}

type Kind = Pick<KnownAccount, 'type' | 'currency'>

/** What the provider left out this time is no difference. */
function isAlike(one: Kind, { assumed = [], ...account }: NewAccount): boolean {
  const isSame = (field: keyof Kind) => assumed.includes(field) || one[field] === account[field]
  return isSame('type') && isSame('currency')
}
