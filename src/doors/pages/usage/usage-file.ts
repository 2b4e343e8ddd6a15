/** The counted requests of the last days as files for a spreadsheet. */
import { usageResults } from '#contract/usage.ts'
import { makeCsv } from '#exports/csv.ts'
import type { UsageReport, UsageResults } from '#usage/report.ts'

const look = { hasBom: true, isForSpreadsheet: true } as const
const resultNames = usageResults.map((name) => name.toLowerCase())
const toCells = (results: UsageResults) => usageResults.map((name) => String(results[name]))

/** Each day with its requests by result. */
export function writeDays({ days }: UsageReport): string {
  const file = makeCsv<UsageReport['days'][number]>(look, {
    names: ['day', 'requests', ...resultNames],
    amounts: new Set(),
    toCells: ({ day, requests, results }) => [day, String(requests), ...toCells(results)],
  })
  return `${file.begin()}${file.add(days)}${file.end(null)}`
}

/** Each key and agent with what it asked for, by result. */
export function writeReaders({ readers }: UsageReport): string {
  const rows = readers.flatMap(({ operations, ...reader }) =>
    operations.map((asked) => ({ reader, asked })),
  )
  const file = makeCsv<(typeof rows)[number]>(look, {
    names: ['kind', 'id', 'name', 'operation', 'requests', ...resultNames],
    amounts: new Set(),
    toCells: ({ reader: { kind, id, name }, asked: { operation, requests, results } }) => [
      ...[kind, id ?? '', name ?? '', operation, String(requests)],
      ...toCells(results),
    ],
  })
  return `${file.begin()}${file.add(rows)}${file.end(null)}`
}
