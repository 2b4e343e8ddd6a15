/**
 * API keys: hashes, never keys. `findCaller` is the most frequent query of the service: one statement over
 * two unique indexes, and a second one where no key has the hash now: one may have had it before a rotation.
 * Callers decide with their clock whether a key has expired.
 */

import { type KeyId, newId } from '#kernel/ids.ts'
import type { RepositoryOptions } from '../engine/engine.ts'
import { countRows } from '../engine/rows.ts'
import { type Db, isAfter, isDue, isUnsetOrBefore, moment, momentOrNull } from '../engine/tables.ts'
import {
  type CallerRow,
  type KeyRow,
  type KeyStore,
  maxEndedKeys,
  type NewKey,
} from '../ports/keys.ts'
import {
  keyColumns,
  limitColumns,
  type StoredLimits,
  toKeyRow,
  toLimitsOrNull,
  toLimitValues,
  toNarrowHash,
} from './key-limits.ts'
import { rotateKey } from './rotate-key.ts'
import { accessColumns, demandUser, lockUser } from './users.ts'

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
    async list(userId) {
      const rows = db.selectFrom('api_keys').select(keyColumns).where('user_id', '=', userId)
      const sorted = rows.orderBy('created_at', 'desc').orderBy('id', 'desc')
      return (await sorted.execute()).map(toKeyRow)
    },
    revoke: (id, at) =>
      write(async (tx, touched) => {
        const row = await tx
          .updateTable('api_keys')
          .set({ revoked_at: moment(at) })
          .where('id', '=', id)
          .where('revoked_at', 'is', null)
          .returning(keyColumns)
          .executeTakeFirst()
        if (row !== undefined) {
          touched(row.userId)
          return { ...toKeyRow(row), wasRevoked: false }
        }
        const found = tx.selectFrom('api_keys').select(keyColumns).where('id', '=', id)
        const former = await found.executeTakeFirst()
        return former === undefined ? null : { ...toKeyRow(former), wasRevoked: true }
      }),
    rotate: (rotation) => write((tx, touched) => rotateKey(engine, tx, { rotation, touched })),
    async findCaller(hash) {
      const hashes = { hash, narrow: toNarrowHash(hash) }
      const { queries } = engine
      const row = await engine.findRow(queries.compile(selectCaller, db, hashes))
      if (row !== undefined) return toCallerRow(row)
      const former = await engine.findRow(queries.compile(selectFormer, db, hashes))
      if (former === undefined) return null
      const { validUntil, ...caller } = former
      const expiresAt = Math.min(validUntil, caller.expiresAt ?? validUntil)
      return toCallerRow({ ...caller, expiresAt })
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

async function insertKey(tx: Db, key: NewKey): Promise<KeyRow> {
  const limits = toLimitValues(key)
  const isNarrow = Object.values(limits).some((limit) => limit !== null)
  const row = await tx
    .insertInto('api_keys')
    .values({
      id: newId<KeyId>(),
      user_id: key.userId,
      name: key.name,
      prefix: key.prefix,
      hash: isNarrow ? toNarrowHash(key.hash) : key.hash,
      created_at: moment(key.createdAt),
      expires_at: momentOrNull(key.expiresAt),
      revoked_at: null,
      last_used_at: null,
      ...limits,
      former_until: null,
    })
    .returning(keyColumns)
    .executeTakeFirstOrThrow()
  return toKeyRow(row)
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

const callerColumns = [
  'api_keys.id as keyId',
  'api_keys.user_id as userId',
  'api_keys.expires_at as expiresAt',
  ...limitColumns,
  ...accessColumns,
] as const

interface Hashes {
  readonly [name: string]: Uint8Array
  readonly hash: Uint8Array
  /** As it is stored for a narrow key. */
  readonly narrow: Uint8Array
}

const selectCaller = (db: Db, { hash, narrow }: Hashes) =>
  db
    .selectFrom('api_keys')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .select(callerColumns)
    .where('api_keys.hash', 'in', [hash, narrow])
    .where('api_keys.revoked_at', 'is', null)
    .where('users.deleting_at', 'is', null)

const selectFormer = (db: Db, { hash, narrow }: Hashes) =>
  db
    .selectFrom('former_key_hashes')
    .innerJoin('api_keys', 'api_keys.id', 'former_key_hashes.key_id')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .select([...callerColumns, 'former_key_hashes.valid_until as validUntil'])
    .where('former_key_hashes.hash', 'in', [hash, narrow])
    .where('api_keys.revoked_at', 'is', null)
    .where('users.deleting_at', 'is', null)

function toCallerRow(row: Omit<CallerRow, 'limits'> & StoredLimits): CallerRow {
  const { scopes, connectionIds, accountIds, addresses, ...caller } = row
  return { ...caller, limits: toLimitsOrNull({ scopes, connectionIds, accountIds, addresses }) }
}
