/** The words and flags of `tributary store copy`. */
import type { LocalCommand } from './command.ts'

export interface StoreCopyStart {
  /** The URL is a line of standard input; else `DATABASE_URL` has it. */
  readonly fromInput: boolean
  readonly json: boolean
}

export const storeCopy: LocalCommand = {
  noun: 'store',
  verb: 'copy',
  summary: 'copy the embedded store into an empty PostgreSQL; the service must be stopped',
  places: [],
  flags: [
    {
      name: 'to',
      value: '-',
      isSecret: true,
      help: 'URL of the database; else DATABASE_URL. It is never an argument',
    },
  ],
}
