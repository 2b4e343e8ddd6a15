/**
 * Key rotation: rows under an older listed key are sealed again under the first, in small batches, while the house is
 * open. The old key may be taken off the list when the store says so; before that it refuses to open without it.
 */
import { SealError, type Sealer } from '../seal.ts'
import type { StoreLog } from './engine.ts'
import { stampCurrentKey } from './identity.ts'
import { sealedTables } from './sealed-tables.ts'
import type { Db } from './tables.ts'

const batchRows = 100

export interface ResealOptions {
  readonly sealer: Sealer
  readonly log: StoreLog
  /** Ends the work between two rows. */
  readonly signal: AbortSignal
}

/** A row under an older key. */
export interface AgedRow {
  /** Orders the walk; of the type of the table's primary key. */
  readonly id: unknown
  /** As the log may show it. */
  readonly name: string
  /** Seals it again, unless it changed meanwhile. @throws SealError when it does not open. */
  reseal(): Promise<void>
}

/** A table with a sealed column, as the walk sees it. */
export interface SealedTable {
  readonly name: string
  /** The message for a row that does not open. */
  readonly damage: string
  /** Rows under another key than the current one behind `after`, in the order of their ids. */
  list(db: Db, sealer: Sealer, after: unknown, limit: number): Promise<readonly AgedRow[]>
  /** Fingerprints of all keys in use. */
  listKeys(db: Db): Promise<readonly string[]>
}

/** Everything here runs outside any transaction: each row is one compare-and-set. */
export async function reseal(db: Db, options: ResealOptions): Promise<void> {
  const { sealer, log, signal } = options
  let count = 0
  for (const table of sealedTables) count += await resealTable(db, table, options)
  if (signal.aborted) return
  for (const table of sealedTables) {
    if ((await table.list(db, sealer, null, 1)).length === 0) continue
    // Another process still seals under the older key, or a row is damaged; the next start goes on.
    log({ level: 'warn', message: 'some secrets are still sealed under an older key' })
    return
  }
  await stampCurrentKey(db, sealer)
  if (count > 0)
    log({ level: 'info', message: 'every secret is sealed under the first key', rows: count })
}

async function resealTable(
  db: Db,
  table: SealedTable,
  { sealer, log, signal }: ResealOptions,
): Promise<number> {
  let after: unknown = null
  let count = 0
  // Ids only grow from batch to batch, so the walk ends with the table.
  while (!signal.aborted) {
    const rows = await table.list(db, sealer, after, batchRows)
    for (const row of rows) {
      if (signal.aborted) return count
      await tryReseal(row, table, log)
    }
    count += rows.length
    const last = rows.at(-1)
    if (last === undefined) break
    after = last.id
  }
  return count
}

/** One damaged secret must not keep all others under the older key. */
async function tryReseal(row: AgedRow, table: SealedTable, log: StoreLog): Promise<void> {
  try {
    await row.reseal()
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    log({ level: 'error', message: table.damage, table: table.name, row: row.name, error })
  }
}
