/**
 * Key rotation while the service runs: rows under an older listed key are sealed again under the first key,
 * in small batches. When that is complete the store records it, and the old key may be removed; until then
 * the store refuses to open without it.
 */

import type { StoreLog } from '../log.ts'
import { SealError, type Sealer } from '../seal.ts'
import { stampCurrentKey } from './identity.ts'
import {
  type AgedRow,
  isLacked,
  listAgedKeys,
  type SealedStore,
  type SealedTable,
  sealedTables,
} from './sealed-tables.ts'

const batchRows = 100

export interface ResealOptions {
  readonly sealer: Sealer
  readonly log: StoreLog
  /** Stops the work between two rows. */
  readonly signal: AbortSignal
}

/** Runs outside any transaction: each row is one compare-and-set. */
export async function reseal(places: SealedStore, options: ResealOptions): Promise<void> {
  const { sealer, log, signal } = options
  let count = 0
  for (const table of sealedTables) count += await resealTable(places, table, options)
  if (signal.aborted) return
  for (const table of sealedTables) {
    if ((await listAgedKeys(places, table, sealer)).length === 0) continue
    // Another process still seals under the older key, or a row is damaged; the next start tries again.
    log({ level: 'warn', message: 'some secrets are still sealed under an older key' })
    return
  }
  await stampCurrentKey(places.db, sealer)
  if (count > 0)
    log({ level: 'info', message: 'every secret is sealed under the first key', rows: count })
}

async function resealTable(
  places: SealedStore,
  table: SealedTable,
  options: ResealOptions,
): Promise<number> {
  let count = 0
  for (const key of await listAgedKeys(places, table, options.sealer)) {
    // Another process seals with it. Only that one can seal these rows again.
    if (await isLacked(places, table, key, options.sealer)) continue
    for await (const row of walk(places, table, key, options)) {
      await tryReseal(row, table, options.log)
      count += 1
    }
  }
  return count
}

/** Every row under `key`, until `signal` is aborted. */
async function* walk(
  places: SealedStore,
  table: SealedTable,
  key: string,
  { sealer, signal }: ResealOptions,
): AsyncGenerator<AgedRow> {
  let after: unknown = null
  // Ids grow from batch to batch, so the loop ends at the end of the table.
  while (!signal.aborted) {
    const rows = await table.list(places, sealer, { key, after, limit: batchRows })
    for (const row of rows) {
      if (signal.aborted) return
      yield row
    }
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

/** A damaged secret is logged and skipped, so that the others are still sealed again. */
async function tryReseal(row: AgedRow, table: SealedTable, log: StoreLog): Promise<void> {
  try {
    await row.reseal()
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    log({ level: 'error', message: table.damage, table: table.name, row: row.name, error })
  }
}
