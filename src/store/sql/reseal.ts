/**
 * Key rotation: rows under an older listed key are sealed again under the first, in small batches, while the house is
 * open. The old key may be taken off the list when the store says so; before that it refuses to open without it.
 */
import type { LoginId } from '#kernel/ids.ts'
import { SealError, type Sealer } from '../seal.ts'
import type { StoreLog } from './engine.ts'
import { stampCurrentKey } from './identity.ts'
import { openSecret, sealedColumns } from './logins.ts'
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
  let after: LoginId | null = null
  let count = 0
  // Ids only grow from batch to batch, so the walk ends with the table.
  while (!signal.aborted) {
    const rows = await readBatch(db, sealer, after)
    for (const row of rows) {
      if (signal.aborted) return
      await resealRow(db, row, options)
    }
    count += rows.length
    const last = rows.at(-1)
    if (last === undefined) break
    after = last.id
  }
  if (signal.aborted) return
  const left = await readBatch(db, sealer, null)
  if (left.length > 0) {
    // Another process still seals under the older key, or a row is damaged; the next start goes on.
    log({ level: 'warn', message: 'some secrets are still sealed under an older key' })
    return
  }
  await stampCurrentKey(db, sealer)
  if (count > 0)
    log({ level: 'info', message: 'every secret is sealed under the first key', rows: count })
}

type Row = Awaited<ReturnType<typeof readBatch>>[number]

function readBatch(db: Db, sealer: Sealer, after: LoginId | null) {
  const query = db
    .selectFrom('logins')
    .select(['id', 'user_id as userId', 'provider', 'upstream_user_id as upstreamUserId', 'secret'])
    .where('secret_key', '<>', sealer.current)
    .orderBy('id')
    .limit(batchRows)
  return (after === null ? query : query.where('id', '>', after)).execute()
}

async function resealRow(db: Db, row: Row, { sealer, log }: ResealOptions): Promise<void> {
  const secret = row.secret === null ? null : tryOpen(sealer, row, row.secret, log)
  if (row.secret === null || secret === null) return
  await db
    .updateTable('logins')
    .set(sealedColumns(sealer, row, secret))
    .where('id', '=', row.id)
    // Whoever saved a newer secret meanwhile is right.
    .where('secret', '=', row.secret)
    .execute()
}

/** One damaged secret must not keep all others under the older key. */
function tryOpen(sealer: Sealer, row: Row, sealed: Uint8Array, log: StoreLog): string | null {
  try {
    return openSecret(sealer, row, sealed)
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    log({ level: 'error', message: 'the secret of a login does not open', loginId: row.id, error })
    return null
  }
}
