/**
 * Which accounts a successful sync has read before, as the ledger tells it: of each there is a month, an
 * empty one where no row is kept. The first reading of an account is as long as a first sync, also where its
 * connection was read before (reading R34a). Pure.
 */
import type { AccountId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { AccountRef } from '#providers/port.ts'
import type { LedgerMonth, MonthNumber } from '#store/ports/ledgers.ts'
import { encodeLedger, makeEntries } from './ledger-code.ts'

/** Accounts that are read from the same instant on. */
export interface AccountsFrom {
  readonly accounts: readonly AccountRef[]
  readonly from: Millis
}

/**
 * At least one. The ledger may have let go of what other accounts had before `usual`, so they are not read
 * from `first` on: old rows would count as new.
 */
export function divideByReading(
  accounts: readonly AccountRef[],
  months: readonly LedgerMonth[],
  { usual, first }: { readonly usual: Millis; readonly first: Millis },
): readonly AccountsFrom[] {
  const known = new Set(months.map(({ accountId }) => accountId))
  const fresh = accounts.filter(({ id }) => !known.has(id))
  if (fresh.length === 0 || first >= usual) return [{ accounts, from: usual }]
  const others = accounts.filter(({ id }) => known.has(id))
  const readings = [
    { accounts: others, from: usual },
    { accounts: fresh, from: first },
  ]
  return readings.filter((one) => one.accounts.length > 0)
}

/** An empty month for each account of which no other one is kept. */
export function markRead(
  accountIds: readonly AccountId[],
  months: readonly LedgerMonth[],
  { keepFrom, contentVersion }: { readonly keepFrom: MonthNumber; readonly contentVersion: number },
): readonly LedgerMonth[] {
  const kept = new Set(
    months.filter(({ month }) => month >= keepFrom).map(({ accountId }) => accountId),
  )
  return accountIds
    .filter((accountId) => !kept.has(accountId))
    .map((accountId) => {
      return {
        accountId,
        month: keepFrom,
        entries: encodeLedger(makeEntries(), [], contentVersion),
      }
    })
}
