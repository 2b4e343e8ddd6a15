/**
 * The ledger of one account in memory during a run, which compares each row with it: unknown rows are new, rows with
 * another content are updated, rows that the provider no longer sends are gone (no event reports them; when they
 * return they are known). It writes nothing; `close` returns the months that changed.
 */
import type { AccountId } from '#kernel/ids.ts'
import type { LedgerMonth, MonthNumber } from '#store/ports/ledgers.ts'
import { decodeLedger, encodeLedger, type LedgerEntry, unknownContent } from './ledger-code.ts'

/** A row as the ledger sees it; the fingerprints are those of src/syncs/fingerprints.ts. */
export interface LedgerRow {
  readonly id: string
  /** Fingerprint of the id that it had before its provider moved it; null: it was not moved. */
  readonly formerId: string | null
  readonly content: string
  /** The month of its local day. */
  readonly month: MonthNumber
}

export type Sighting = 'new' | 'updated' | 'known'

export interface LedgerChanges {
  /** The months to write. */
  readonly months: readonly LedgerMonth[]
  /** Rows that are gone since the last sync. */
  readonly gone: number
  /** Rows that were gone and returned. */
  readonly returned: number
}

export interface AccountLedger {
  /** Compares one row that the provider sent with the known rows, and remembers it. */
  meet(row: LedgerRow): Sighting
  /**
   * Call it once, after the last row.
   * @param readFrom every row of later months was read; of this month and earlier ones only some.
   */
  close(readFrom: MonthNumber): LedgerChanges
}

interface Known {
  month: MonthNumber
  content: string
  isGone: boolean
  isMet: boolean
}

/**
 * Opens the ledger of an account.
 * @param contentVersion version of the list of fields that the run's content fingerprints cover.
 * @throws LedgerFormatError
 */
export function openAccountLedger(
  accountId: AccountId,
  months: readonly LedgerMonth[],
  contentVersion: number,
): AccountLedger {
  const known = new Map<string, Known>()
  for (const { month, entries } of months) {
    const blob = decodeLedger(entries)
    const isComparable = blob.contentVersion === contentVersion
    for (const { id, content, isGone } of blob.entries) {
      const kept = isComparable ? content : unknownContent
      known.set(id, { month, content: kept, isGone, isMet: false })
    }
  }
  const changed = new Set<MonthNumber>()
  let returned = 0

  function meetKnown(entry: Known, { month, content }: LedgerRow): Sighting {
    const isUpdated = entry.content !== content && entry.content !== unknownContent
    if (entry.content !== content || entry.month !== month || entry.isGone) {
      changed.add(entry.month).add(month)
    }
    if (entry.isGone) returned += 1
    entry.month = month
    entry.content = content
    entry.isGone = false
    entry.isMet = true
    return isUpdated ? 'updated' : 'known'
  }

  return {
    meet(row) {
      const entry = known.get(row.id)
      if (entry !== undefined) return meetKnown(entry, row)
      const former = row.formerId === null ? undefined : known.get(row.formerId)
      if (former !== undefined && row.formerId !== null && !former.isMet) {
        known.delete(row.formerId)
        known.set(row.id, former)
        changed.add(former.month)
        return meetKnown(former, row)
      }
      const { month, content } = row
      known.set(row.id, { month, content, isGone: false, isMet: true })
      changed.add(month)
      return 'new'
    },
    close(readFrom) {
      let gone = 0
      for (const entry of known.values()) {
        if (entry.isMet || entry.isGone || entry.month <= readFrom) continue
        entry.isGone = true
        gone += 1
        changed.add(entry.month)
      }
      return { months: encodeMonths(accountId, { known, changed, contentVersion }), gone, returned }
    },
  }
}

interface Outcome {
  readonly known: ReadonlyMap<string, Known>
  readonly changed: ReadonlySet<MonthNumber>
  readonly contentVersion: number
}

function encodeMonths(
  accountId: AccountId,
  { known, changed, contentVersion }: Outcome,
): readonly LedgerMonth[] {
  const byMonth = new Map<MonthNumber, LedgerEntry[]>()
  for (const month of changed) byMonth.set(month, [])
  for (const [id, { month, content, isGone }] of known) {
    byMonth.get(month)?.push({ id, content, isGone })
  }
  return [...byMonth].map(([month, entries]) => ({
    accountId,
    month,
    entries: encodeLedger({ contentVersion, entries }),
  }))
}
