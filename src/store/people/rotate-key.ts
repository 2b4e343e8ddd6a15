/** A new secret for a key. The one before it, and earlier ones, stay good for as long as the owner says. */

import type { KeyId, UserId } from '#kernel/ids.ts'
import type { Engine } from '../engine/engine.ts'
import { type Db, isAfter, isDue, moment, momentOrNull } from '../engine/tables.ts'
import { type KeyRotation, type KeyRow, maxFormerSecrets } from '../ports/keys.ts'
import { keyColumns, toKeyRow, toLimitsOrNull, toNarrowHash } from './key-limits.ts'
import { lockUser } from './users.ts'

export interface RotationWrite {
  readonly rotation: KeyRotation
  readonly touched: (userId: UserId) => void
}

/** Null: there is no such key, or it has ended. */
export async function rotateKey(
  engine: Engine,
  tx: Db,
  { rotation, touched }: RotationWrite,
): Promise<KeyRow | null> {
  const { id, at, formerUntil } = rotation
  const owner = await tx
    .selectFrom('api_keys')
    .select('user_id as userId')
    .where('id', '=', id)
    .executeTakeFirst()
  // The user's row is locked, so that of two rotations at once the second one finds the first.
  if (owner === undefined || (await lockUser(engine, tx, owner.userId)) !== 'living') return null
  const key = await tx
    .selectFrom('api_keys')
    .select([...keyColumns, 'api_keys.hash'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (key === undefined || key.revokedAt !== null) return null
  if (key.expiresAt !== null && key.expiresAt <= at) return null
  touched(owner.userId)
  const keepsFormer = formerUntil > at
  await shortenFormer(tx, rotation)
  if (keepsFormer) {
    await tx
      .insertInto('former_key_hashes')
      .values({
        hash: key.hash,
        key_id: id,
        replaced_at: moment(at),
        valid_until: moment(formerUntil),
      })
      .execute()
    await deleteSurplus(tx, id)
  }
  const row = await tx
    .updateTable('api_keys')
    .set({
      prefix: rotation.prefix,
      hash: toLimitsOrNull(key) === null ? rotation.hash : toNarrowHash(rotation.hash),
      former_until: momentOrNull(keepsFormer ? formerUntil : null),
    })
    .where('id', '=', id)
    .returning(keyColumns)
    .executeTakeFirstOrThrow()
  return toKeyRow(row)
}

/** No earlier secret is good for longer than the one that is replaced now. */
async function shortenFormer(tx: Db, { id, at, formerUntil }: KeyRotation): Promise<void> {
  const former = tx.deleteFrom('former_key_hashes').where('key_id', '=', id)
  if (formerUntil <= at) {
    await former.execute()
    return
  }
  await former.where(isDue('valid_until', at)).execute()
  await tx
    .updateTable('former_key_hashes')
    .set({ valid_until: moment(formerUntil) })
    .where('key_id', '=', id)
    .where(isAfter('valid_until', formerUntil))
    .execute()
}

async function deleteSurplus(tx: Db, id: KeyId): Promise<void> {
  const surplus = tx
    .selectFrom('former_key_hashes')
    .select('hash')
    .where('key_id', '=', id)
    .orderBy('replaced_at', 'desc')
    .orderBy('hash')
    .limit(1)
    .offset(maxFormerSecrets)
  await tx.deleteFrom('former_key_hashes').where('hash', 'in', surplus).execute()
}
