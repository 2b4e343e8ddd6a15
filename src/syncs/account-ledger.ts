/**
 * The ledger of one account in memory during a run, which compares each row with it: unknown rows are new, rows with
 * another content are updated, rows that the provider no longer sends are gone (no event reports them; when they
 * return they are known). It writes nothing; `close` returns the months that changed.
 */
import type { AccountId } from '#kernel/ids.ts'
import type { LedgerMonth, MonthNumber } from '#store/ports/ledgers.ts'
import type { Fingerprints } from './fingerprints.ts'
import { decodeLedger, encodeLedger, type LedgerEntry, unknownContent } from './ledger-code.ts'
import { makePrintTable, type PrintTable } from './print-table.ts'

/** A row as it was read. Of it only fingerprints are remembered. */
export interface LedgerRow {
  readonly id: string
  /** The id that it had before its provider moved it; null: it was not moved. */
  readonly formerId: string | null
  /** Canonical (src/syncs/event-objects.ts). */
  readonly content: string
  /** The month of its local day. */
  readonly month: MonthNumber
}

export type Sighting = 'new' | 'updated' | 'known'

export interface LedgerChanges {
  /** The months to write, each encoded when it is asked for. */
  readonly months: Iterable<LedgerMonth>
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

export interface AccountLedgerOptions {
  readonly accountId: AccountId
  /** Of the account. */
  readonly prints: Fingerprints
  readonly months: readonly LedgerMonth[]
  /** Of the list of fields that the run's contents are made of. */
  readonly contentVersion: number
}

interface Known {
  id: string
  month: MonthNumber
  content: string
  isGone: boolean
  isMet: boolean
}

/**
 * Opens the ledger of an account. Most rows are found by the fingerprint of their content, which includes the id:
 * ids are looked up only for rows that are not found by it.
 * @throws LedgerFormatError
 */
export function openAccountLedger(options: AccountLedgerOptions): AccountLedger {
  const { accountId, prints, contentVersion } = options
  const known = readKnown(options)
  const byContent = makePrintTable(known.filter(isComparable), ({ content }) => content)
  let byId: PrintTable<Known> | null = null
  const changed = new Set<MonthNumber>()
  let returned = 0

  /** @param before the fingerprint of the row's content under the id that the entry had. */
  function renew(entry: Known, month: MonthNumber, content: string, before: string): Sighting {
    const isUpdated = entry.content !== before && entry.content !== unknownContent
    if (entry.content !== content || entry.month !== month || entry.isGone) {
      changed.add(entry.month).add(month)
    }
    if (entry.isGone) returned += 1
    entry.month = month
    entry.content = content
    entry.isGone = false
    entry.isMet = true
    byContent.add(entry)
    return isUpdated ? 'updated' : 'known'
  }

  function meetOther({ month, ...row }: LedgerRow, content: string): Sighting {
    byId ??= makePrintTable(known, ({ id }) => id)
    const id = prints.idOf(row.id)
    const entry = byId.find(id)
    if (entry !== undefined) return renew(entry, month, content, content)
    const former = row.formerId === null ? undefined : byId.find(prints.idOf(row.formerId))
    if (former !== undefined && row.formerId !== null && !former.isMet) {
      former.id = id
      byId.add(former)
      return renew(former, month, content, prints.contentOf(row.formerId, row.content))
    }
    const added = { id, month, content, isGone: false, isMet: true }
    known.push(added)
    byId.add(added)
    byContent.add(added)
    changed.add(month)
    return 'new'
  }

  return {
    meet(row) {
      const content = prints.contentOf(row.id, row.content)
      const same = byContent.find(content)
      if (same === undefined || same.isGone || same.month !== row.month) {
        return meetOther(row, content)
      }
      same.isMet = true
      return 'known'
    },
    close(readFrom) {
      let gone = 0
      for (const entry of known) {
        if (entry.isMet || entry.isGone || entry.month <= readFrom) continue
        entry.isGone = true
        gone += 1
        changed.add(entry.month)
      }
      return { months: encodeMonths(accountId, { known, changed, contentVersion }), gone, returned }
    },
  }
}

/** All others have the same content, by which none of them is to be found. */
const isComparable = ({ content }: Known) => content !== unknownContent

function readKnown({ months, contentVersion }: AccountLedgerOptions): Known[] {
  return months.flatMap(({ month, entries }) => {
    const blob = decodeLedger(entries)
    const isSame = blob.contentVersion === contentVersion
    return blob.entries.map(({ id, content, isGone }) => ({
      id,
      month,
      content: isSame ? content : unknownContent,
      isGone,
      isMet: false,
    }))
  })
}

interface Outcome {
  readonly known: readonly Known[]
  readonly changed: ReadonlySet<MonthNumber>
  readonly contentVersion: number
}

function* encodeMonths(
  accountId: AccountId,
  { known, changed, contentVersion }: Outcome,
): Generator<LedgerMonth, void> {
  const byMonth = new Map<MonthNumber, LedgerEntry[]>()
  for (const month of changed) byMonth.set(month, [])
  for (const entry of known) byMonth.get(entry.month)?.push(entry)
  for (const [month, entries] of byMonth) {
    yield { accountId, month, entries: encodeLedger({ contentVersion, entries }) }
  }
}
