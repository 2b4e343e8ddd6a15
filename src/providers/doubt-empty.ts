/** Doubts one account without any row among several whose rows are read in turn (reading R20b). */
import type { AccountRef, CallContext, RowPage, RowReader } from './port.ts'

/** The reader of one account at a time. `confirm` resolves where its empty page can be trusted. */
export function doubtEmpty<Page extends RowPage<unknown>>(
  reader: RowReader<Page>,
  confirm: (accounts: readonly AccountRef[], call: CallContext) => Promise<void>,
): RowReader<Page> {
  return {
    ...reader,
    async read(query, cursor, call) {
      const page = await reader.read(query, cursor, call)
      if (cursor === null && page.length === 0) await confirm(query.accounts, call)
      return page
    },
  }
}
