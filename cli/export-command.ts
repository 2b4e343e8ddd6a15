/** The words and flags of `tributary export`. */
import { type ExportFormat, exportFormats } from '#exports/exporter.ts'
import type { LocalCommand } from './command.ts'

export interface ExportStart {
  /** Id of the account. */
  readonly account: string
  readonly from: string | null
  readonly to: string | null
  readonly format: ExportFormat
  /** Null: TRIBUTARY_API_KEY has it. `-`: a line of standard input. */
  readonly key: string | null
  /** Null: TRIBUTARY_BASE_URL has it, else it is the server on this machine. */
  readonly baseUrl: string | null
  readonly hasBom: boolean
  readonly isForSpreadsheet: boolean
}

export const exportCommand: LocalCommand = {
  noun: 'export',
  verb: '',
  summary: 'write the rows of an account to standard output, as CSV, OFX or JSON',
  places: [],
  flags: [
    { name: 'account', value: 'ID', isRequired: true, help: 'id of the account, see /v1/accounts' },
    { name: 'from', value: 'DAY', help: 'YYYY-MM-DD or an instant; 30 days back when absent' },
    { name: 'to', value: 'DAY', help: 'YYYY-MM-DD or an instant; now when absent' },
    { name: 'format', value: exportFormats.join('|'), isRequired: true, help: 'of the file' },
    {
      name: 'key',
      value: 'KEY',
      isSecret: true,
      help: 'an API key; else TRIBUTARY_API_KEY has it',
    },
    {
      name: 'base-url',
      value: 'URL',
      help: 'of the server; else TRIBUTARY_BASE_URL, or this machine',
    },
    { name: 'bom', value: null, help: 'begin a CSV file as Excel needs it to read UTF-8' },
    {
      name: 'spreadsheet',
      value: null,
      help: "put ' before texts of a CSV file that a spreadsheet would calculate",
    },
  ],
}
