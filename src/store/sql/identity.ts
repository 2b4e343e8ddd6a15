/**
 * What a store knows about itself: the mode it was made in, and which encryption keys its rows need. Checked at every
 * opening, so that a wrong setting is one clear line at the start and not an unreadable row later.
 */
import { StoreOpenError } from '../failure.ts'
import { SealError, type Sealer } from '../seal.ts'
import { listKeys, sealedTables } from './sealed-tables.ts'
import type { Db } from './tables.ts'

export type StoreMode = 'live' | 'sandbox'

const purpose = 'key-check'
const aad = 'meta'
const proof = 'this store opens'

/**
 * Stamps a new store, or compares an old one with what is asked of it.
 * @throws StoreOpenError `wrong_mode` or `wrong_key`.
 */
export async function checkIdentity(tx: Db, mode: StoreMode, sealer: Sealer): Promise<void> {
  const rows = await tx.selectFrom('meta').selectAll().execute()
  const meta = new Map(rows.map((row) => [row.name, row.value]))
  const made = meta.get('mode')
  const check = meta.get('key_check')
  if (made === undefined || check === undefined) {
    await tx
      .insertInto('meta')
      .values([
        { name: 'mode', value: mode },
        { name: 'key_check', value: sealProof(sealer) },
      ])
      .execute()
    return
  }
  if (made !== mode)
    throw new StoreOpenError(
      'wrong_mode',
      `the store was made in ${made} mode and does not open in ${mode} mode: choose another store, or set SANDBOX`,
    )
  checkProof(sealer, check)
  await checkKeysInUse(tx, sealer)
}

/** From now on the first key alone opens this store. To be called when no row needs another. */
export async function stampCurrentKey(db: Db, sealer: Sealer): Promise<void> {
  const row = await db
    .selectFrom('meta')
    .select('value')
    .where('name', '=', 'key_check')
    .executeTakeFirst()
  if (row !== undefined && sealer.keyOf(Buffer.from(row.value, 'base64')) === sealer.current) return
  await db
    .updateTable('meta')
    .set({ value: sealProof(sealer) })
    .where('name', '=', 'key_check')
    .execute()
}

function sealProof(sealer: Sealer): string {
  return Buffer.from(sealer.seal(purpose, aad, Buffer.from(proof))).toString('base64')
}

function checkProof(sealer: Sealer, check: string): void {
  try {
    sealer.open(purpose, aad, Buffer.from(check, 'base64'))
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause
    throw wrongKey(cause)
  }
}

/** The proof stands for the oldest key; rows that were sealed since may need another. */
async function checkKeysInUse(tx: Db, sealer: Sealer): Promise<void> {
  for (const table of sealedTables)
    for (const fingerprint of await listKeys(tx, table))
      if (!sealer.knows(fingerprint)) throw wrongKey(undefined)
}

function wrongKey(cause: unknown): StoreOpenError {
  return new StoreOpenError(
    'wrong_key',
    'ENCRYPTION_KEY does not hold every key that this store was sealed with: add the missing one to the list',
    { cause },
  )
}
