/**
 * API keys: hashes, never keys. `findCaller` is the most frequent query of the service: one statement over
 * two unique indexes. Callers decide with their clock whether a key has expired.
 */

import { type KeyId, newId } from '#kernel/ids.ts'
import type { RepositoryOptions } from '../engine/engine.ts'
import { countRows } from '../engine/rows.ts'
import { type Db, isAfter, isDue, isUnsetOrBefore, moment, momentOrNull } from '../engine/tables.ts'
import { type KeyRow, type KeyStore, maxEndedKeys, type NewKey } from '../ports/keys.ts'
import { accessColumns, demandUser, lockUser } from './users.ts'

const columns = [
  'id',
  'user_id as userId',
  'name',
  'prefix',
  'created_at as createdAt',
  'expires_at as expiresAt',
  'revoked_at as revokedAt',
  'last_used_at as lastUsedAt',
] as const

export function makeKeyStore({ engine, write }: RepositoryOptions): KeyStore {
  const { db } = engine
  return {
    create: (key) =>
      write(async (tx, touched) => {
        await demandUser(engine, tx, key.userId)
        touched(key.userId)
        return insertKey(tx, key)
      }),
    createWithin: (key, maxActive) =>
      write(async (tx, touched) => {
        // The user's row is locked, so that two concurrent calls cannot both take the last place.
        if ((await lockUser(engine, tx, key.userId)) !== 'living') return null
        if ((await countActive(tx, key)) >= maxActive) return 'full'
        touched(key.userId)
        const made = await insertKey(tx, key)
        await deleteSurplus(tx, made)
        return made
      }),
    list: (userId) =>
      db
        .selectFrom('api_keys')
        .select(columns)
        .where('user_id', '=', userId)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .execute(),
    revoke: (id, at) =>
      write(async (tx, touched) => {
        const row = await tx
          .updateTable('api_keys')
          .set({ revoked_at: moment(at) })
          .where('id', '=', id)
          .where('revoked_at', 'is', null)
          .returning(columns)
          .executeTakeFirst()
        if (row !== undefined) {
          touched(row.userId)
          return { ...row, wasRevoked: false }
        }
        const found = tx.selectFrom('api_keys').select(columns).where('id', '=', id)
        const former = await found.executeTakeFirst()
        return former === undefined ? null : { ...former, wasRevoked: true }
      }),
    async findCaller(hash) {
      return (await engine.findRow(engine.queries.compile(selectCaller, db, { hash }))) ?? null
    },
    async touch(id, at) {
      await db
        .updateTable('api_keys')
        .set({ last_used_at: moment(at) })
        .where('id', '=', id)
        .where(isUnsetOrBefore('last_used_at', at))
        .execute()
    },
  }
}

function insertKey(tx: Db, key: NewKey): Promise<KeyRow> {
  return tx
    .insertInto('api_keys')
    .values({
      id: newId<KeyId>(),
      user_id: key.userId,
      name: key.name,
      prefix: key.prefix,
      hash: key.hash,
      created_at: moment(key.createdAt),
      expires_at: momentOrNull(key.expiresAt),
      revoked_at: null,
      last_used_at: null,
    })
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/**
 * How many keys of the user are active, as `toKeyStatus` in `auth/keys.ts` has it, when this one is created.
 */
async function countActive(tx: Db, { userId, createdAt }: NewKey): Promise<number> {
  return countRows(
    tx
      .selectFrom('api_keys')
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .where(({ or, eb }) => or([eb('expires_at', 'is', null), isAfter('expires_at', createdAt)])),
  )
}

/** Deletes the oldest ended keys of the user beyond the bound. */
async function deleteSurplus(tx: Db, { userId, createdAt }: KeyRow): Promise<void> {
  const surplus = tx
    .selectFrom('api_keys')
    .select('id')
    .where('user_id', '=', userId)
    .where(({ or, eb }) => or([eb('revoked_at', 'is not', null), isDue('expires_at', createdAt)]))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(surplusAtOnce)
    .offset(maxEndedKeys)
  await tx.deleteFrom('api_keys').where('id', 'in', surplus).execute()
}

/** More than one only where an earlier version kept them all. */
const surplusAtOnce = 500

const selectCaller = (db: Db, { hash }: { readonly hash: Uint8Array }) =>
  db
    .selectFrom('api_keys')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .select([
      'api_keys.id as keyId',
      'api_keys.user_id as userId',
      'api_keys.expires_at as expiresAt',
      ...accessColumns,
    ])
    .where('api_keys.hash', '=', hash)
    .where('api_keys.revoked_at', 'is', null)
    .where('users.deleting_at', 'is', null)
