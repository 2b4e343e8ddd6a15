/** The activity as a file for a spreadsheet, in the words of the page. */
import { makeCsv } from '#exports/csv.ts'
import { toIso } from '#kernel/time.ts'
import type { AuditRow } from '#store/ports/audit.ts'
import { addressOfEntry, describeActor, describeEntry, type Names } from './sentences.ts'

/** What looks like a formula is disarmed. */
const options = { hasBom: true, isForSpreadsheet: true }

export function writeActivity(rows: readonly AuditRow[], names: Names): string {
  const file = makeCsv<AuditRow>(options, {
    names: ['when', 'what', 'who', 'from', 'action', 'about'],
    amounts: new Set(),
    toCells: (row) => [
      toIso(row.at),
      describeEntry(row, names),
      describeActor(row),
      addressOfEntry(row),
      row.action,
      row.subject,
    ],
  })
  return `${file.begin()}${file.add(rows)}${file.end(null)}`
}
