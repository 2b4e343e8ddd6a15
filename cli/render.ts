/** Formats answers for people: aligned tables and records. Text from providers is made safe for terminals. */
import type { Derive, Show, Table } from './command.ts'
import { renderDiagnosis } from './diagnosis.ts'
import { toPrintable } from './printable.ts'

/** The text for standard output, its last newline included. */
export function render(show: Show, answer: unknown): string {
  switch (show.kind) {
    case 'done':
      return `${(isLeaving(answer) ? show.leaving : undefined) ?? show.text}\n`
    case 'record': {
      const note = show.note === undefined ? '' : `\n${show.note}\n`
      return `${renderRecord(derive(toRecord(answer), show.derive))}${note}`
    }
    case 'diagnosis':
      return renderDiagnosis(answer)
    case 'tables':
      return show.tables.map((table) => renderRows(table, answer)).join('\n')
    default:
      return renderRows(show, answer)
  }
}

function renderRows(table: Table, answer: unknown): string {
  const rows = toRecord(answer)[table.rows]
  if (!Array.isArray(rows) || rows.length === 0) return `${table.empty}\n`
  const records = rows.map((row) => derive(toRecord(row), table.derive))
  return renderTable(records, table.columns)
}

type Fields = Readonly<Record<string, unknown>>

function toRecord(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function derive(fields: Fields, cells: Readonly<Record<string, Derive>> = {}): Fields {
  const derived = Object.entries(cells).map(([name, make]) => [name, make(fields)])
  return { ...fields, ...Object.fromEntries(derived) }
}

function renderRecord(fields: Fields): string {
  const names = Object.keys(fields)
  const width = Math.max(0, ...names.map((name) => name.length))
  return names.map((name) => `${name.padEnd(width)}  ${toCell(fields[name])}\n`).join('')
}

function renderTable(rows: readonly Fields[], columns: readonly string[]): string {
  const lines = [columns, ...rows.map((row) => columns.map((column) => toCell(row[column])))]
  const widths = columns.map((_column, index) =>
    Math.max(...lines.map((line) => lengthOf(line[index] ?? ''))),
  )
  return lines
    .map((line) => {
      const cells = line.map((cell, index) => cell + blanks((widths[index] ?? 0) - lengthOf(cell)))
      return `${cells.join('  ').trimEnd()}\n`
    })
    .join('')
}

const lengthOf = (text: string) => [...text].length
const blanks = (count: number) => ' '.repeat(Math.max(0, count))

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return toPrintable(value)
  // As a flag takes them: `--events a,b`.
  const isList = Array.isArray(value) && value.every((one) => typeof one !== 'object')
  return toPrintable(isList ? value.join(',') : JSON.stringify(value))
}

function isLeaving(answer: unknown): boolean {
  return answer !== null && toRecord(answer).status === 'deleting'
}
