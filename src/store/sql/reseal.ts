/**
 * Key rotation: rows under an older listed key are sealed again under the first, in small batches, while the house is
 * open. The old key may be taken off the list when the store says so; before that it refuses to open without it.
 */
import { SealError, type Sealer } from '../seal.ts'
import type { StoreLog } from './engine.ts'
import { stampCurrentKey } from './identity.ts'
import { type AgedRow, listAgedKeys, type SealedTable, sealedTables } from './sealed-tables.ts'
import type { Db } from './tables.ts'

const batchRows = 100

export interface ResealOptions {
  readonly sealer: Sealer
  readonly log: StoreLog
  /** Ends the work between two rows. */
  readonly signal: AbortSignal
}

/** Everything here runs outside any transaction: each row is one compare-and-set. */
export async function reseal(db: Db, options: ResealOptions): Promise<void> {
  const { sealer, log, signal } = options
  let count = 0
  for (const table of sealedTables) count += await resealTable(db, table, options)
  if (signal.aborted) return
  for (const table of sealedTables) {
    if ((await listAgedKeys(db, table, sealer)).length === 0) continue
    // Another process still seals under the older key, or a row is damaged; the next start goes on.
    log({ level: 'warn', message: 'some secrets are still sealed under an older key' })
    return
  }
  await stampCurrentKey(db, sealer)
  if (count > 0)
    log({ level: 'info', message: 'every secret is sealed under the first key', rows: count })
}

async function resealTable(db: Db, table: SealedTable, options: ResealOptions): Promise<number> {
  let count = 0
  for (const key of await listAgedKeys(db, table, options.sealer))
    for await (const row of walk(db, table, key, options)) {
      await tryReseal(row, table, options.log)
      count += 1
    }
  return count
}

/** Every row under `key`, until the work is told to end. */
async function* walk(
  db: Db,
  table: SealedTable,
  key: string,
  { sealer, signal }: ResealOptions,
): AsyncGenerator<AgedRow> {
  let after: unknown = null
  // Ids only grow from batch to batch, so the walk ends with the table.
  while (!signal.aborted) {
    const rows = await table.list(db, sealer, { key, after, limit: batchRows })
    for (const row of rows) {
      if (signal.aborted) return
      yield row
    }
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.id
  }
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
