/**
 * The ledger of one account in memory during a run, which compares each row with it: unknown rows are new,
 * rows with another content are updated, rows that the provider no longer sends are gone (no event reports
 * them; when they return they are known). It writes nothing; `close` returns the months that changed.
 */
import type { AccountId } from '#kernel/ids.ts'
import type { LedgerMonth, MonthNumber } from '#store/ports/ledgers.ts'
import type { Fingerprints } from './fingerprints.ts'
import {
  decodeLedger,
  encodeLedger,
  type LedgerEntries,
  makeEntries,
  type RowFingerprint,
  unknownContent,
} from './ledger-code.ts'

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
  /** The fingerprints of the account's rows. */
  readonly prints: Fingerprints
  readonly months: readonly LedgerMonth[]
  /** The version of the list of fields that the run's contents are made of. */
  readonly contentVersion: number
}

/** The rows of the account, by their numbers. */
interface Known extends LedgerEntries {
  readonly months: MonthNumber[]
  readonly met: boolean[]
}

/**
 * Opens the ledger of an account. Most rows are found by the fingerprint of their content, which includes the
 * id: ids are looked up only for rows that are not found by it.
 * @throws LedgerFormatError
 */
export function openAccountLedger(options: AccountLedgerOptions): AccountLedger {
  const { accountId, prints, contentVersion } = options
  const known = readKnown(options)
  const { ids, contents, months, gone, met } = known
  const byContent = indexContents(contents)
  let byId: Map<RowFingerprint, number> | null = null
  const changed = new Set<MonthNumber>()
  let returned = 0

  /** @param before the fingerprint of the row's content under the id that the known row had. */
  function renew(number: number, { month, content }: Seen, before: RowFingerprint): Sighting {
    const former = months[number] ?? month
    const stored = contents[number]
    const isUpdated = stored !== before && stored !== unknownContent
    if (stored !== content || former !== month || gone[number] === true) {
      changed.add(former).add(month)
    }
    if (gone[number] === true) returned += 1
    remember(number, { month, content })
    return isUpdated ? 'updated' : 'known'
  }

  /** The row is at the provider, with this month and content. */
  function remember(row: number, { month, content }: Seen): void {
    replace(byContent, contents[row], { row, print: content })
    contents[row] = content
    months[row] = month
    gone[row] = false
    met[row] = true
  }

  function meetOther(row: LedgerRow, content: RowFingerprint): Sighting {
    byId ??= new Map(ids.map((id, number) => [id, number]))
    const seen = { month: row.month, content }
    const id = prints.idOf(row.id)
    const same = byId.get(id)
    if (same !== undefined) return renew(same, seen, content)
    const former = row.formerId === null ? undefined : byId.get(prints.idOf(row.formerId))
    const isMoved = former !== undefined && row.formerId !== null && met[former] !== true
    const number = isMoved ? former : gone.length
    replace(byId, ids[number], { row: number, print: id })
    ids[number] = id
    if (isMoved) return renew(former, seen, prints.contentOf(row.formerId, row.content))
    remember(number, seen)
    changed.add(row.month)
    return 'new'
  }

  return {
    meet(row) {
      const content = prints.contentOf(row.id, row.content)
      const same = byContent.get(content)
      if (same === undefined || gone[same] === true || months[same] !== row.month)
        return meetOther(row, content)
      met[same] = true
      return 'known'
    },
    close(readFrom) {
      let lost = 0
      for (const [row, month] of months.entries()) {
        if (met[row] === true || gone[row] === true || month <= readFrom) continue
        gone[row] = true
        lost += 1
        changed.add(month)
      }
      const encoded = encodeMonths(accountId, { known, changed, contentVersion })
      return { months: encoded, gone: lost, returned }
    },
  }
}

interface Seen {
  readonly month: MonthNumber
  readonly content: RowFingerprint
}

function readKnown({ months, contentVersion }: AccountLedgerOptions): Known {
  const known: Known = { ...makeEntries(), months: [], met: [] }
  for (const { month, entries } of months) {
    const first = known.gone.length
    const isComparable = decodeLedger(entries, known) === contentVersion
    for (let row = first; row < known.gone.length; row += 1) {
      if (!isComparable) known.contents[row] = unknownContent
      known.months.push(month)
      known.met.push(false)
    }
  }
  return known
}

function indexContents(contents: readonly RowFingerprint[]): Map<RowFingerprint, number> {
  const rows = new Map<RowFingerprint, number>()
  for (const [row, content] of contents.entries()) {
    // All of the unknown ones are equal, and none of them is to be found by it.
    if (content !== unknownContent) rows.set(content, row)
  }
  return rows
}

/** The row is found by this fingerprint, and by its former one no more. */
function replace(
  rows: Map<RowFingerprint, number>,
  former: RowFingerprint | undefined,
  { row, print }: { readonly row: number; readonly print: RowFingerprint },
): void {
  if (former !== undefined && rows.get(former) === row) rows.delete(former)
  rows.set(print, row)
}

interface Outcome {
  readonly known: Known
  readonly changed: ReadonlySet<MonthNumber>
  readonly contentVersion: number
}

function* encodeMonths(
  accountId: AccountId,
  { known, changed, contentVersion }: Outcome,
): Generator<LedgerMonth, void> {
  const byMonth = new Map<MonthNumber, number[]>()
  for (const month of changed) byMonth.set(month, [])
  for (const [row, month] of known.months.entries()) byMonth.get(month)?.push(row)
  for (const [month, rows] of byMonth) {
    yield { accountId, month, entries: encodeLedger(known, rows, contentVersion) }
  }
}
