/** Chooses how an account's rows are written. */
import type { ConnectionCategory, Trade, Transaction } from '#contract/resources.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { makeTradeCsv, makeTransactionCsv } from './csv.ts'
import type { CsvOptions, Exporter, ExportFormat, ExportSubject } from './exporter.ts'
import { makeJson } from './json.ts'
import { makeOfx } from './ofx.ts'

export type AccountExporter =
  | { readonly category: 'banking'; readonly exporter: Exporter<Transaction> }
  | { readonly category: 'brokerage'; readonly exporter: Exporter<Trade> }

/** Null: the format has no form for such an account. OFX files hold the statements of banks and cards. */
export function makeExporter(
  format: ExportFormat,
  category: ConnectionCategory,
  subject: ExportSubject,
  csv: CsvOptions,
): AccountExporter | null {
  if (category === 'banking') return { category, exporter: makeBankExporter(format, subject, csv) }
  switch (format) {
    case 'csv':
      return { category, exporter: makeTradeCsv(subject, csv) }
    case 'json':
      return { category, exporter: makeJson(subject) }
    case 'ofx':
      return null
    default:
      return unreachable(format)
  }
}

function makeBankExporter(
  format: ExportFormat,
  subject: ExportSubject,
  csv: CsvOptions,
): Exporter<Transaction> {
  switch (format) {
    case 'csv':
      return makeTransactionCsv(subject, csv)
    case 'json':
      return makeJson(subject)
    case 'ofx':
      return makeOfx(subject)
    default:
      return unreachable(format)
  }
}
