/**
 * The rows of one account as a file: what begins it, what each page of rows adds, and what ends it. A file
 * whose end is not written is not whole, so nothing here is written before it is known.
 */
import type { Account, Balance, Trade, Transaction } from '#contract/resources.ts'

export const exportFormats = ['csv', 'ofx', 'json'] as const
export type ExportFormat = (typeof exportFormats)[number]

/** What the file is about. */
export interface ExportSubject {
  readonly account: Account
  /** The currency of its balance, which may not be stored yet; absent: the account's. */
  readonly currency?: string
  /** The first and the last day or instant that were asked for; null: as the API decides. */
  readonly from: string | null
  readonly to: string | null
  /** The zone in which programs show the instants of the file. */
  readonly zone: string
  /** The dates of the rows may be those of another zone. */
  readonly isOtherZone?: true
  /** When the file is made, in milliseconds since the epoch. */
  readonly now: number
  /** When its balance was read, in milliseconds since the epoch; absent: now. */
  readonly balanceAt?: number
}

/** A row that a file of the format cannot hold. The message says which formats can. */
export class UnfitRowError extends Error {
  override readonly name = 'UnfitRowError'
}

/** Writes one file. Each method gives text to append. */
export interface Exporter<Row> {
  begin(): string
  /** @throws UnfitRowError. */
  add(rows: readonly Row[]): string
  /** @param balance The account's balance now; null: it is not known. */
  end(balance: Balance | null): string
}

export interface CsvOptions {
  /** A byte order mark, which Excel needs to read UTF-8. */
  readonly hasBom: boolean
  /** Texts that a spreadsheet would take for a formula get a leading `'`. */
  readonly isForSpreadsheet: boolean
}

export type ExportedRow = Transaction | Trade
