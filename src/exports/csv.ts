/**
 * Comma-separated values (RFC 4180), UTF-8, lines end with CR LF. Amounts are as the API sends them.
 */
import type { Trade, Transaction } from '#contract/resources.ts'
import type { CsvOptions, Exporter, ExportSubject } from './exporter.ts'

/** The columns of a file, and those that have amounts: everything else may be taken for a formula. */
export interface Columns<Row> {
  readonly names: readonly string[]
  readonly amounts: ReadonlySet<string>
  toCells(row: Row): readonly (string | null)[]
}

export const makeTransactionCsv = ({ account }: ExportSubject, options: CsvOptions) =>
  makeCsv<Transaction>(options, {
    names:
      'date datetime amount currency description merchant category mcc id account_id account_name'.split(
        ' ',
      ),
    amounts: new Set(['amount']),
    toCells: (row) => [
      row.date,
      row.datetime,
      row.amount,
      row.currency ?? account.currency,
      row.description,
      row.merchantName,
      row.category,
      row.merchantCategoryCode,
      row.id,
      row.accountId,
      row.accountName,
    ],
  })

export const makeTradeCsv = (_subject: ExportSubject, options: CsvOptions) =>
  makeCsv<Trade>(options, {
    names:
      'trade_date settlement_date type symbol name quantity price total_amount fees currency description id account_id account_name'.split(
        ' ',
      ),
    amounts: new Set(['quantity', 'price', 'total_amount', 'fees']),
    toCells: (row) => [
      row.tradeDate,
      row.settlementDate,
      row.type,
      row.symbol,
      row.name,
      row.quantity,
      row.price,
      row.totalAmount,
      row.fees,
      row.currency,
      row.description,
      row.id,
      row.accountId,
      row.accountName,
    ],
  })

/** Lines of any rows. */
export function makeCsv<Row>(
  { hasBom, isForSpreadsheet }: CsvOptions,
  columns: Columns<Row>,
): Exporter<Row> {
  const { names, amounts, toCells } = columns
  const isText = names.map((name) => !amounts.has(name))
  const toLine = (row: Row) => {
    const cells = toCells(row).map((cell, column) =>
      quote(isForSpreadsheet && isText[column] ? disarm(cell ?? '') : (cell ?? '')),
    )
    return `${cells.join(',')}\r\n`
  }
  return {
    begin: () => `${hasBom ? '\ufeff' : ''}${names.join(',')}\r\n`,
    add: (rows) => rows.map(toLine).join(''),
    end: () => '',
  }
}

const quote = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Spreadsheets calculate what begins with one of these. */
const disarm = (text: string) => (/^\s*[=+\-@\t\r＝＋－＠]/.test(text) ? `'${text}` : text)
