/** The counted requests of the last days as a file for a spreadsheet. */
import { makeCsv } from '#exports/csv.ts'
import type { UsageReport } from '#usage/report.ts'

type Day = UsageReport['days'][number]

export function writeUsage({ days }: UsageReport): string {
  const results = ['HIT', 'MISS', 'BYPASS', 'limited', 'refused', 'failed', 'disconnected'] as const
  const file = makeCsv<Day>(
    { hasBom: true, isForSpreadsheet: true },
    {
      names: ['day', 'requests', ...results.map((name) => name.toLowerCase())],
      amounts: new Set(),
      toCells: (day) => [
        day.day,
        String(day.requests),
        ...results.map((name) => String(day.results[name])),
      ],
    },
  )
  return `${file.begin()}${file.add(days)}${file.end(null)}`
}
