/** Chooses how an account's rows are written. */
import type { ConnectionCategory, Trade, Transaction } from '#contract/resources.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { makeTradeCsv, makeTransactionCsv } from './csv.ts'
import {
  type CsvOptions,
  type Exporter,
  type ExportFormat,
  type ExportSubject,
  exportFormats,
} from './exporter.ts'
import { makeJson } from './json.ts'
import { makeOfx } from './ofx.ts'

export type AccountExporter =
  | { readonly category: 'banking'; readonly exporter: Exporter<Transaction> }
  | { readonly category: 'brokerage'; readonly exporter: Exporter<Trade> }

/** The formats that have a form for such an account: OFX files hold the statements of banks and cards. */
export const formatsOf = (category: ConnectionCategory): readonly ExportFormat[] =>
  category === 'banking' ? exportFormats : exportFormats.filter((format) => format !== 'ofx')

/** Null: the format has no form for such an account. */
export function makeExporter(
  format: ExportFormat,
  category: ConnectionCategory,
  subject: ExportSubject,
  csv: CsvOptions,
): AccountExporter | null {
  if (!formatsOf(category).includes(format)) return null
  return category === 'banking'
    ? { category, exporter: makeBankExporter(format, subject, csv) }
    : { category, exporter: format === 'csv' ? makeTradeCsv(subject, csv) : makeJson(subject) }
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
