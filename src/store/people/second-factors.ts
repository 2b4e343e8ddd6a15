/**
 * Authenticator apps and recovery codes. A code is consumed by one conditional update, so that it is accepted
 * once; the writes that add or replace lock the user's row first, like all writes to a user's data.
 */

import { sql } from 'kysely'
import type { UserId } from '#kernel/ids.ts'
import type { SealingOptions } from '../engine/engine.ts'
import { hasChanged } from '../engine/rows.ts'
import { type Db, moment } from '../engine/tables.ts'
import type { SecondFactorStore } from '../ports/second-factors.ts'
import type { SealedSecret, Sealer } from '../seal.ts'
import { demandUser, lockUser } from './users.ts'

const purpose = 'second-factor'

/** The repository of second factors over `engine`. */
export function makeSecondFactorStore(options: SealingOptions): SecondFactorStore {
  return { ...makeFactors(options), ...makeCodes(options) }
}

type OfFactors = 'find' | 'has' | 'hasApp' | 'create' | 'useStep' | 'removeApp' | 'delete'

function makeFactors({
  engine,
  write,
  sealer,
}: SealingOptions): Pick<SecondFactorStore, OfFactors> {
  const { db } = engine
  return {
    async find(userId) {
      const row = await db
        .selectFrom('second_factors')
        .select(['secret', 'secret_key as secretKey'])
        .select(['created_at as createdAt', 'last_step as lastStep'])
        .where('user_id', '=', userId)
        .executeTakeFirst()
      if (row === undefined) return null
      const { createdAt, lastStep } = row
      const secret = new Uint8Array(openFactor(sealer, userId, row))
      return { userId, secret, createdAt, lastStep }
    },
    has: (userId) => hasFactor(db, userId),
    hasApp: (userId) => hasRow(db, 'second_factors', userId),
    create: ({ userId, secret, at, step, codeHashes }) =>
      write(async (tx) => {
        await demandUser(engine, tx, userId)
        const sealed = sealFactor(sealer, userId, secret)
        const { numInsertedOrUpdatedRows } = await tx
          .insertInto('second_factors')
          .values({ user_id: userId, ...sealed, created_at: moment(at), last_step: step })
          .onConflict((conflict) => conflict.column('user_id').doNothing())
          .executeTakeFirstOrThrow()
        if (numInsertedOrUpdatedRows !== 1n) return false
        await putCodes(tx, userId, codeHashes)
        return true
      }),
    async useStep(userId, { createdAt, step }) {
      return hasChanged(
        db
          .updateTable('second_factors')
          .set({ last_step: step })
          .where('user_id', '=', userId)
          .where('last_step', '<', step)
          // Another factor has another secret, for which this code says nothing.
          .where(sql<boolean>`created_at = ${moment(createdAt)}`),
      )
    },
    removeApp: (userId) =>
      write(async (tx) => {
        if ((await lockUser(engine, tx, userId)) === null) return false
        if (!(await deleteApp(tx, userId))) return false
        await endCodes(tx, userId)
        return true
      }),
    delete: (userId) =>
      write(async (tx) => {
        if ((await lockUser(engine, tx, userId)) === null) return false
        const hadApp = await deleteApp(tx, userId)
        const passkeys = tx.deleteFrom('passkeys').where('user_id', '=', userId)
        const hadPasskey = await hasChanged(passkeys)
        await endCodes(tx, userId)
        return hadApp || hadPasskey
      }),
  }
}

type OfCodes = 'replaceCodes' | 'hasCode' | 'useCode' | 'countCodes'

function makeCodes({ engine, write }: SealingOptions): Pick<SecondFactorStore, OfCodes> {
  const { db } = engine
  const unused = (userId: UserId) =>
    db.selectFrom('recovery_codes').where('user_id', '=', userId).where('used_at', 'is', null)
  return {
    replaceCodes: (userId, codeHashes) =>
      write(async (tx) => {
        await demandUser(engine, tx, userId)
        if (!(await hasFactor(tx, userId))) return false
        await putCodes(tx, userId, codeHashes)
        return true
      }),
    async hasCode(userId, codeHash) {
      const row = await unused(userId)
        .select('user_id')
        .where('hash', '=', codeHash)
        .executeTakeFirst()
      return row !== undefined
    },
    async useCode(userId, codeHash, at) {
      return hasChanged(
        db
          .updateTable('recovery_codes')
          .set({ used_at: moment(at) })
          .where('user_id', '=', userId)
          .where('hash', '=', codeHash)
          .where('used_at', 'is', null),
      )
    },
    async countCodes(userId) {
      const { count } = await unused(userId)
        .select(({ fn }) => fn.countAll().as('count'))
        .executeTakeFirstOrThrow()
      return Number(count)
    },
  }
}

/** An app or a passkey. */
export async function hasFactor(db: Db, userId: UserId): Promise<boolean> {
  return (await hasRow(db, 'second_factors', userId)) || hasRow(db, 'passkeys', userId)
}

async function hasRow(
  db: Db,
  table: 'second_factors' | 'passkeys',
  userId: UserId,
): Promise<boolean> {
  const row = await db
    .selectFrom(table)
    .select('user_id')
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row !== undefined
}

function deleteApp(tx: Db, userId: UserId): Promise<boolean> {
  return hasChanged(tx.deleteFrom('second_factors').where('user_id', '=', userId))
}

/** Recovery codes stand in for a second factor: without one they end. */
export async function endCodes(tx: Db, userId: UserId): Promise<void> {
  if (await hasFactor(tx, userId)) return
  await tx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
}

/** Replaces all codes of the user. */
export async function putCodes(
  tx: Db,
  userId: UserId,
  hashes: readonly Uint8Array[],
): Promise<void> {
  await tx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  if (hashes.length === 0) return
  await tx
    .insertInto('recovery_codes')
    .values(hashes.map((hash) => ({ user_id: userId, hash, used_at: null })))
    .execute()
}

/** The columns of a secret under the current key of the store. */
export function sealFactor(sealer: Sealer, userId: UserId, secret: Uint8Array) {
  return { secret: sealer.seal(purpose, rowName(userId), secret), secret_key: sealer.current }
}

/** The secret in plain text. @throws SealError when it cannot be decrypted. */
export function openFactor(sealer: Sealer, userId: UserId, row: SealedSecret): Uint8Array {
  return sealer.open(purpose, rowName(userId), row.secret, row.secretKey)
}

const rowName = (userId: UserId): string => JSON.stringify(['second_factors', userId])
