/**
 * The store's identity: its mode, and the encryption keys that its rows need. It is checked whenever the
 * store is opened, so that a wrong setting is one clear message at the start instead of an unreadable row
 * later.
 */

import type { Db } from '../engine/tables.ts'
import { StoreOpenError } from '../failure.ts'
import { SealError, type Sealer } from '../seal.ts'
import { findLacked, type SealedStore } from './sealed-tables.ts'

export type StoreMode = 'live' | 'sandbox'

export interface Keys {
  readonly sealer: Sealer
  /** Where the keys come from, for messages: `ENCRYPTION_KEY`, or the path of the file. */
  readonly keysIn: string
}

const purpose = 'key-check'
const aad = 'meta'
const proof = 'this store opens'

/**
 * Records the identity of a new store, or compares that of an existing one with the options.
 * @throws StoreOpenError `wrong_mode` or `wrong_key`.
 */
export async function checkIdentity(
  places: SealedStore,
  mode: StoreMode,
  { sealer, keysIn }: Keys,
): Promise<void> {
  const tx = places.db
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
  try {
    checkProof(sealer, check)
    const lacked = await findLacked(places, sealer)
    // The proof covers the oldest key only; rows sealed later may need another.
    if (lacked !== null) throw new SealError(`rows need the key ${lacked}`)
  } catch (cause) {
    if (cause instanceof SealError) throw wrongKey(keysIn, mode, cause)
    throw cause
  }
}

/** Records that the first key alone opens this store. Call it only when no row needs another key. */
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

/** @throws SealError */
function checkProof(sealer: Sealer, check: string): void {
  sealer.open(purpose, aad, Buffer.from(check, 'base64'), null)
}

function wrongKey(keysIn: string, mode: StoreMode, cause: SealError): StoreOpenError {
  const otherwise =
    mode === 'sandbox'
      ? ', or remove this store (the embedded one is DATA_DIR/sandbox), which holds only made-up data'
      : '. A new key opens nothing'
  return new StoreOpenError(
    'wrong_key',
    `${keysIn} does not hold every key that this store was sealed with: put the missing one back into it from your copy${otherwise}`,
    { cause },
  )
}
