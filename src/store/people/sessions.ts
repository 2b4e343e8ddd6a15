/**
 * Browser sessions of signed-in users, and password hashes. Callers decide with their clock which session is
 * valid; this file only sweeps old ones.
 */
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import type { Engine, RepositoryOptions } from '../engine/engine.ts'
import { countChanged, findFirst, hasChanged } from '../engine/rows.ts'
import { type Db, isBefore, moment } from '../engine/tables.ts'
import type { SessionStore } from '../ports/sessions.ts'
import { maxSessions } from '../ports/sessions.ts'

const columns = [
  'id',
  'user_id as userId',
  'created_at as createdAt',
  'signed_in_at as signedInAt',
  'last_seen_at as lastSeenAt',
  'address',
  'agent',
] as const

/** Rows per sweep statement, so that a sweep locks the store only briefly. */
const sweepBatch = 500

/** The session repository over `engine`. */
export function makeSessionStore({ engine, write }: RepositoryOptions): SessionStore {
  const { db } = engine
  return {
    create: (session) => write((tx) => begin(engine, tx, session)),
    async find(hash) {
      return findFirst(db.selectFrom('sessions').select(columns).where('hash', '=', hash))
    },
    list: (userId) =>
      db
        .selectFrom('sessions')
        .select(columns)
        .where('user_id', '=', userId)
        .orderBy('last_seen_at', 'desc')
        .orderBy('id')
        .limit(maxSessions)
        .execute(),
    async touch(id, at) {
      await db
        .updateTable('sessions')
        .set({ last_seen_at: moment(at) })
        .where('id', '=', id)
        .where(isBefore('last_seen_at', at))
        .execute()
    },
    async delete(userId, id) {
      return hasChanged(
        db.deleteFrom('sessions').where('user_id', '=', userId).where('id', '=', id),
      )
    },
    async deleteOthers(userId, kept) {
      return countChanged(
        db.deleteFrom('sessions').where('user_id', '=', userId).where('id', '!=', kept),
      )
    },
    async sweep({ seenBefore, createdBefore }) {
      // One statement per bound: each uses its index, whereas both in one would scan the table.
      const idle = await deleteBefore(db, 'last_seen_at', seenBefore)
      return idle + (await deleteBefore(db, 'created_at', createdBefore))
    },
    setPassword: (userId, hash, checked) =>
      write((tx) => replacePassword(tx, userId, hash, checked)),
    async findPassword(userId) {
      const row = await db
        .selectFrom('users')
        .select('password_hash')
        .where('id', '=', userId)
        .executeTakeFirst()
      return row?.password_hash ?? null
    },
  }
}

/** Null when the checked password is no longer the user's. */
async function begin(
  engine: Engine,
  tx: Db,
  {
    userId,
    hash,
    at,
    passwordHash,
    address = null,
    agent = null,
  }: Parameters<SessionStore['create']>[0],
): ReturnType<SessionStore['create']> {
  if (!(await holdPassword(engine, tx, userId, passwordHash))) return null
  const session = await tx
    .insertInto('sessions')
    .values({
      id: newId<SessionId>(),
      user_id: userId,
      hash,
      created_at: moment(at),
      signed_in_at: moment(at),
      last_seen_at: moment(at),
      address,
      agent,
    })
    .returning(columns)
    .executeTakeFirstOrThrow()
  await endSurplus(tx, userId)
  return session
}

/**
 * Ends every session of the user. The user's row is updated first: a concurrent sign-in then either finds the
 * new password, or its session is deleted here.
 */
async function replacePassword(
  tx: Db,
  userId: UserId,
  hash: string | null,
  checked: string | undefined,
): Promise<boolean> {
  const change = tx
    .updateTable('users')
    .set({ password_hash: hash })
    .where('id', '=', userId)
    .where('deleting_at', 'is', null)
  const { numUpdatedRows } = await (checked === undefined
    ? change
    : change.where('password_hash', '=', checked)
  ).executeTakeFirstOrThrow()
  if (checked !== undefined && numUpdatedRows === 0n) return false
  await tx.deleteFrom('sessions').where('user_id', '=', userId).execute()
  return numUpdatedRows > 0n
}

/** Bounds the sessions per user: the least recently used are deleted. */
async function endSurplus(tx: Db, userId: UserId): Promise<void> {
  const ofUser = tx.selectFrom('sessions').select('id').where('user_id', '=', userId)
  const kept = ofUser
    .orderBy('last_seen_at', 'desc')
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(maxSessions)
  await tx
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('id', 'not in', kept)
    .execute()
}

/** True when this is the user's password; the row is locked, so it stays so until the transaction ends. */
async function holdPassword(
  { kind }: Engine,
  tx: Db,
  userId: UserId,
  passwordHash: string,
): Promise<boolean> {
  const query = tx
    .selectFrom('users')
    .select('id')
    .where('id', '=', userId)
    .where('password_hash', '=', passwordHash)
  // SQLite needs no lock: it has a single writer.
  const row = await (kind === 'postgres' ? query.forShare() : query).executeTakeFirst()
  return row !== undefined
}

async function deleteBefore(
  db: Db,
  column: 'last_seen_at' | 'created_at',
  ms: number,
): Promise<number> {
  const old = db.selectFrom('sessions').select('id').where(isBefore(column, ms)).limit(sweepBatch)
  return countChanged(db.deleteFrom('sessions').where('id', 'in', old))
}
