/**
 * One JSON document: the account, what was asked for, and the rows as the API sends them. Decimals are text.
 */
import type { ExportedRow, Exporter, ExportSubject } from './exporter.ts'

export function makeJson({ account, from, to, now }: ExportSubject): Exporter<ExportedRow> {
  let hasRows = false
  const head = { account, from, to, exportedAt: new Date(now).toISOString() }
  return {
    begin: () => `${JSON.stringify(head).slice(0, -1)},"rows":[`,
    add(rows) {
      const text = rows.map((row) => `\n${JSON.stringify(row)}`).join(',')
      const separator = hasRows && text !== '' ? ',' : ''
      hasRows ||= text !== ''
      return `${separator}${text}`
    },
    end: (balance) => `\n],"balance":${JSON.stringify(balance)}}\n`,
  }
}
