/**
 * Passkeys and answered challenges. A challenge is used up by one insert that a second one conflicts with;
 * writes that add or remove lock the user's row first, like all writes to a user's data.
 */
import { newId, type PasskeyId, type UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { RepositoryOptions } from '../engine/engine.ts'
import { countChanged, countRows, hasChanged } from '../engine/rows.ts'
import { type Db, isBefore, moment } from '../engine/tables.ts'
import {
  type AnsweredChallenge,
  maxPasskeys,
  type NewPasskey,
  type PasskeyRow,
  type PasskeyStore,
  type PasskeyUse,
  type StoredPasskey,
} from '../ports/passkeys.ts'
import { endCodes, hasFactor, putCodes } from './second-factors.ts'
import { demandUser, lockUser } from './users.ts'

const columns = [
  'id',
  'user_id as userId',
  'credential_id as credentialId',
  'public_key as publicKey',
  'name',
  'sign_count as signCount',
  'transports',
  'created_at as createdAt',
  'last_used_at as lastUsedAt',
] as const

type ReadPasskey = Omit<PasskeyRow, 'signCount' | 'transports'> & {
  /** PostgreSQL has no number for 32 bits without a sign; `pg` returns the larger one as text. */
  readonly signCount: number | string
  readonly transports: string
}

const toRow = ({ signCount, transports, ...row }: ReadPasskey): PasskeyRow => ({
  ...row,
  // PostgreSQL's client returns its own kind of bytes.
  credentialId: new Uint8Array(row.credentialId),
  publicKey: new Uint8Array(row.publicKey),
  signCount: Number(signCount),
  transports: transports === '' ? [] : transports.split(','),
})

/** Rows per sweep statement, so that a sweep locks the store only briefly. */
const sweepBatch = 500

/** Passkeys on either engine. */
export function makePasskeyStore({ engine, write }: RepositoryOptions): PasskeyStore {
  const { db } = engine
  const select = () => db.selectFrom('passkeys').select(columns)
  return {
    async list(userId) {
      const rows = select().where('user_id', '=', userId)
      return (await rows.orderBy('created_at').orderBy('id').execute()).map(toRow)
    },
    async find(credentialId) {
      const row = await select().where('credential_id', '=', credentialId).executeTakeFirst()
      return row === undefined ? null : toRow(row)
    },
    create: (passkey) =>
      write(async (tx) => {
        await demandUser(engine, tx, passkey.userId)
        return add(tx, passkey)
      }),
    use: (userId, use, at) => write((tx) => spend(tx, userId, { ...use, at })),
    remove: (userId, id) =>
      write(async (tx) => {
        if ((await lockUser(engine, tx, userId)) === null) return false
        const mine = tx.deleteFrom('passkeys').where('user_id', '=', userId)
        if (!(await hasChanged(mine.where('id', '=', id)))) return false
        await endCodes(tx, userId)
        return true
      }),
    async sweepChallenges(now) {
      const ended = db
        .selectFrom('used_challenges')
        .select('hash')
        .where(isBefore('expires_at', now))
        .limit(sweepBatch)
      return countChanged(db.deleteFrom('used_challenges').where('hash', 'in', ended))
    },
  }
}

async function add(tx: Db, passkey: NewPasskey): Promise<StoredPasskey> {
  const { userId, challenge, codeHashes } = passkey
  if (!(await useUp(tx, userId, challenge))) return { kind: 'used' }
  const ofUser = tx.selectFrom('passkeys').where('user_id', '=', userId)
  if ((await countRows(ofUser)) >= maxPasskeys) return { kind: 'full' }
  const areCodesNew = !(await hasFactor(tx, userId))
  const row = await insert(tx, passkey)
  if (row === undefined) return { kind: 'taken' }
  if (areCodesNew) await putCodes(tx, userId, codeHashes)
  return { kind: 'made', row: toRow(row), areCodesNew }
}

function insert(tx: Db, passkey: NewPasskey): Promise<ReadPasskey | undefined> {
  return tx
    .insertInto('passkeys')
    .values({
      id: newId<PasskeyId>(),
      user_id: passkey.userId,
      credential_id: passkey.credentialId,
      public_key: passkey.publicKey,
      name: passkey.name,
      sign_count: passkey.signCount,
      transports: passkey.transports.join(','),
      created_at: moment(passkey.createdAt),
      last_used_at: null,
    })
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .returning(columns)
    .executeTakeFirst()
}

async function spend(
  tx: Db,
  userId: UserId,
  { passkeyId, signCount, challenge, at }: PasskeyUse & { readonly at: Millis },
): Promise<boolean> {
  // First the passkey: without it nothing is changed, and its row makes others wait.
  const isGrown = await hasChanged(
    tx
      .updateTable('passkeys')
      .set({ sign_count: signCount, last_used_at: moment(at) })
      .where('id', '=', passkeyId)
      .where('user_id', '=', userId)
      .where(({ or, and, eb }) =>
        or([
          eb('sign_count', '<', signCount),
          // It counts nothing (WebAuthn §6.1.1).
          and([eb('sign_count', '=', 0), eb.val(signCount === 0)]),
        ]),
      ),
  )
  if (!isGrown) return false
  return useUp(tx, userId, challenge)
}

/** False: it was answered before. */
async function useUp(
  tx: Db,
  userId: UserId,
  { hash, expiresAt }: AnsweredChallenge,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('used_challenges')
    .values({ hash, user_id: userId, expires_at: moment(expiresAt) })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}
